// SPDX-License-Identifier: Apache-2.0
// Whether bytes are text in UTF-8.
#ifndef MILLHOPPER_READERS_SUPPORT_UTF8_H_
#define MILLHOPPER_READERS_SUPPORT_UTF8_H_

#include <cstddef>
#include <string_view>

namespace millhopper {

// How many bytes the character has that begins here, of which the first is above 0x7f; 0 if it is
// no UTF-8 (RFC 3629: no surrogates, nothing longer than it must be, nothing above U+10FFFF).
size_t BytesOfUtf8(const char* here, const char* end);

// The first byte of a text at which no character begins; its size if all of it is UTF-8.
size_t FirstNoUtf8(std::string_view text);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_UTF8_H_
