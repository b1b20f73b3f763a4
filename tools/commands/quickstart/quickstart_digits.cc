// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/quickstart/quickstart_digits.h"

#include <cstdlib>
#include <sstream>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

Digit ParseDigit(const std::string& line, const std::string& place) {
  constexpr size_t kPixels = kDigitSide * kDigitSide;
  std::istringstream numbers(line);
  std::vector<int> values;
  for (std::string text; std::getline(numbers, text, ',');) values.push_back(atoi(text.c_str()));
  if (values.size() != kPixels + 1) {
    Throw(ErrorCode::kDataLoss, place, ": ", values.size(), " numbers instead of ", kPixels + 1);
  }
  return {std::vector<uint8_t>(values.begin(), values.end() - 1), values.back()};
}

// The content of a file that may be compressed.
std::string ReadText(const std::string& path) {
  ByteStream stream(path);
  std::string text;
  char block[1 << 16];
  while (const size_t got = stream.Read(block, sizeof(block))) text.append(block, got);
  return text;
}

}  // namespace

fs::path ShippedFile(const std::string& name) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  std::vector<fs::path> folders = {program.parent_path(),
                                   program.string() + ".runfiles/millhopper/tools"};
  for (const char* variable : {"TEST_SRCDIR", "RUNFILES_DIR"}) {
    const char* value = getenv(variable);
    if (value != nullptr) folders.push_back(fs::path(value) / "millhopper" / "tools");
  }
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name)) return folder / name;
  }
  Throw(ErrorCode::kIo, "'", name, "' is not where this program is, in ", folders.front().string(),
        " (build //tools:quickstart with Bazel, which puts it there)");
}

std::vector<Digit> ReadDigits() {
  const std::string path = ShippedFile("digits/digits.csv.gz").string();
  std::istringstream lines(ReadText(path));
  std::vector<Digit> digits;
  for (std::string line; std::getline(lines, line);) {
    digits.push_back(ParseDigit(line, StrCat(path, ":", digits.size() + 1)));
  }
  return digits;
}

}  // namespace millhopper
