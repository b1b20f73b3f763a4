// SPDX-License-Identifier: Apache-2.0
// The files that come with the quickstart command: programs, and handwritten digits.
#ifndef MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_DIGITS_H_
#define MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_DIGITS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millhopper {

// The path of a file that comes with this program: beside it, or in the folder of its runfiles that
// Bazel makes. Throws kIo if it is in neither.
std::filesystem::path ShippedFile(const std::string& name);

// An image, row by row, and what it shows.
struct Digit {
  std::vector<uint8_t> pixels;
  int64_t label;
};

constexpr size_t kDigitSide = 8;     // pixels
constexpr uint8_t kDigitWhite = 16;  // the brightest value

// The digits that are shipped. Throws kIo or kDataLoss.
std::vector<Digit> ReadDigits();

// Every fifth image is for the test.
inline bool IsForTest(size_t index) { return index % 5 == 4; }

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_DIGITS_H_
