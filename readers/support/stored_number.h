// SPDX-License-Identifier: Apache-2.0
// Numbers as they lie in files.
#ifndef MILLHOPPER_READERS_SUPPORT_STORED_NUMBER_H_
#define MILLHOPPER_READERS_SUPPORT_STORED_NUMBER_H_

#include <cstring>

namespace millhopper {

// The number that begins with this byte, which need not be aligned, in the byte order of the
// machine, little-endian.
template <typename T>
T StoredNumber(const void* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_STORED_NUMBER_H_
