// SPDX-License-Identifier: Apache-2.0
// The version of Millrace: what plugins are bound to.
#ifndef MILLRACE_FRAMEWORK_VERSION_H_
#define MILLRACE_FRAMEWORK_VERSION_H_

namespace millrace {

constexpr char kVersion[] = "0.1.0";

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_VERSION_H_
