// SPDX-License-Identifier: Apache-2.0
// Numbers as text that tells them apart. Streams, such as StrCat uses, round to six digits.
#ifndef MILLHOPPER_FRAMEWORK_BASE_EXACT_TEXT_H_
#define MILLHOPPER_FRAMEWORK_BASE_EXACT_TEXT_H_

#include <string>

namespace millhopper {

// The shortest text that reads back as the same number: "0.1", "1e-07", "nan".
std::string ExactText(double value);
std::string ExactText(float value);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_EXACT_TEXT_H_
