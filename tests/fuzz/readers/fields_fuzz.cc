// SPDX-License-Identifier: Apache-2.0
// Fuzzes the notation for fields, and the values that text becomes: the first line of an input is
// an entry, the rest is a text.
#include <string>

#include "readers/fields/fields.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

void Fuzz(const std::string& input) {
  const size_t line = input.find('\n');
  const std::string entry = input.substr(0, line);
  const std::string text = line == std::string::npos ? "" : input.substr(line + 1);
  if (entry.find("vocab") != std::string::npos) return;  // it would open files
  try {
    const std::vector<Field> fields = ParseFields({entry});
    CHECK_EQ(SlotsOf(fields).size(), 1u);
    if (fields[0].bytes) return;
    char place[8];
    Outcome([&] { fields[0].ReadAll(text, place); });
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kResourceLimit)
        << error.what();
  }
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
