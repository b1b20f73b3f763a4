// SPDX-License-Identifier: Apache-2.0
// Bytes as text in base64 with padding (RFC 4648), of which files of tokens make use.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_BASE64_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_BASE64_H_

#include <string_view>

#include "framework/memory/buffer.h"

namespace millhopper {

// Appends what the digits stand for; false if they are no base64 or stand for nothing, or if bits
// that stand for nothing are set.
bool AppendBase64(std::string_view digits, PooledVector<char>* out);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_BASE64_H_
