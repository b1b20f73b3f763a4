// SPDX-License-Identifier: Apache-2.0
// What this process has read from files.
#ifndef MILLHOPPER_TESTS_BYTES_READ_H_
#define MILLHOPPER_TESTS_BYTES_READ_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace millhopper {

// In bytes, since it began. Linux counts them (proc(5), /proc/pid/io).
inline uint64_t BytesRead() {
  std::ifstream file("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  file >> name >> bytes;
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BYTES_READ_H_
