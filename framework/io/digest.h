// SPDX-License-Identifier: Apache-2.0
#ifndef MILLHOPPER_FRAMEWORK_IO_DIGEST_H_
#define MILLHOPPER_FRAMEWORK_IO_DIGEST_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace millhopper {

constexpr size_t kSha256Bytes = 32;

// The SHA-256 of texts and of where each of them ends.
std::string DigestOf(std::initializer_list<std::string_view> texts);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_DIGEST_H_
