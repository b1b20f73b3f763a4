// SPDX-License-Identifier: Apache-2.0
// The version of Millhopper: what plugins are bound to.
#ifndef MILLHOPPER_FRAMEWORK_BASE_VERSION_H_
#define MILLHOPPER_FRAMEWORK_BASE_VERSION_H_

namespace millhopper {

constexpr char kVersion[] = "0.2.0";

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_VERSION_H_
