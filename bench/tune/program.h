// SPDX-License-Identifier: Apache-2.0
// The program whose calls are recorded, in a process group of its own. Signals to this process go
// on to that group, and a terminal of this process is lent to it: so each signal reaches the
// program once, whoever sends it to whom.
#pragma once

#include <string>

namespace bwgemm::bench {

struct Ended {
  int status = 0;  // of a program that ended by itself
  int signal = 0;  // that ended it; 0: none

  // What a shell would return.
  int shell_status() const { return signal != 0 ? 128 + signal : status; }
  // "ended with status 3"; "" of status 0.
  std::string sentence() const;
};

// Runs a program to its end. `arguments` begin with its name and end with null. Meanwhile SIGHUP,
// SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGTSTP are the program's, unless they were
// ignored before. Where there is a terminal, a program that stops stops this process too. The
// program gets SIGTERM if this process is killed. Throws std::runtime_error if there can be no
// process.
Ended run_program(char* const* arguments);

}  // namespace bwgemm::bench
