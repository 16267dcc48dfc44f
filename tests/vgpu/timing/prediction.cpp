// SPDX-License-Identifier: Apache-2.0
// A prediction in words, and as a line of a table.
#include "vgpu/timing/prediction.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace bwgemm::vgpu {
namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  char line[256];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  text.append(line);
}

double percent(double part) {
  return 100 * part;
}

}  // namespace

Prediction::ResourceKind Prediction::busiest() const {
  return static_cast<ResourceKind>(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

std::string Prediction::text() const {
  std::string text;
  append(text, "predicted %s: %.2f us, %.0f cycles at %.3f GHz\n", kernel.c_str(), us, cycles,
         clock_ghz);
  append(text, "predicted   busy:");
  for (int i = 0; i < resources; ++i)
    append(text, " %s %.1f %%", resource_names[i], percent(busy[i]));
  append(text, "\npredicted   SMs without CTA: %.1f %%; simulated %.0f of %.0f CTAs\n",
         percent(tail), sampled_ctas, ctas);
  append(text, "predicted   tensor cores, from first to last product: idle %.1f %%",
         percent(tensor_idle));
  for (int i = 0; i < causes; ++i)
    if (idle_by_cause[i] > 0)
      append(text, ", for %s %.1f %%", cause_names[i], percent(idle_by_cause[i]));
  append(text, ", while their warps compute %.1f %%\n", percent(idle_computing));
  for (int role = 0; role < roles; ++role) {
    const RoleCycles& of = by_role[role];
    if (of.warps == 0) continue;
    append(text, "predicted   warp that %s (%.1f of a CTA): %.0f cycles", role_names[role],
           of.warps, of.cycles);
    for (int i = 0; i < causes; ++i)
      if (of.waits[i] > 0) append(text, ", waits for %s %.0f", cause_names[i], of.waits[i]);
    append(text, "\n");
  }
  return text;
}

std::string Prediction::csv_header() {
  std::string text =
      "kind,kernel,us,cycles,clock_ghz,tensor_share,tensor_idle,idle_computing,tail,busiest,"
      "busiest_share,simulated_ctas,ctas,warp_instructions";
  for (const char* name : resource_names) append(text, ",busy_%s", name);
  for (const char* cause : cause_names) append(text, ",idle_for_%s", cause);
  for (const char* role : role_names) {
    append(text, ",%s_cycles", role);
    for (const char* cause : cause_names) append(text, ",%s_wait_%s", role, cause);
  }
  return text;
}

std::string Prediction::csv() const {
  std::string text;
  append(text, "predicted,%s,%.4f,%.0f,%.4f,%.4f,%.4f,%.4f,%.4f,%s,%.4f,%.0f,%.0f,%llu",
         kernel.c_str(), us, cycles, clock_ghz, tensor_share, tensor_idle, idle_computing, tail,
         resource_names[busiest()], busy[busiest()], sampled_ctas, ctas,
         static_cast<unsigned long long>(warp_instructions));
  for (const double part : busy) append(text, ",%.4f", part);
  for (const double idle : idle_by_cause) append(text, ",%.4f", idle);
  for (const RoleCycles& of : by_role) {
    append(text, ",%.0f", of.cycles);
    for (const double wait : of.waits) append(text, ",%.0f", wait);
  }
  return text;
}

}  // namespace bwgemm::vgpu
