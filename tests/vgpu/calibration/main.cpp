// SPDX-License-Identifier: Apache-2.0
// bwgemm_vgpu_calibration: questions 1 to 10, which need nothing but a driver.
#include "vgpu/calibration/calibration.h"

namespace bwgemm::calibration {

std::vector<int> all_questions() {
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
}

std::vector<Case> cases_of(int question) {
  switch (question) {
    case 1: return wait_cases();
    case 2: return address_cases();
    case 3: return sum_cases();
    case 4: return operand_cases();
    case 5: return box_cases();
    case 6: return transaction_cases();
    case 7: return election_cases();
    case 8: return fragment_cases();
    case 9: return multicast_cases();
    case 10: return fault_cases();
    default: return {};
  }
}

}  // namespace bwgemm::calibration

int main(int count, char** arguments) {
  return bwgemm::calibration::calibrate(count, arguments);
}
