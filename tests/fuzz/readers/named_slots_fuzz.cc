// SPDX-License-Identifier: Apache-2.0
// Fuzzes the text of slots: what is taken is told again in the same words.
#include <string>

#include "framework/base/limits.h"
#include "readers/fields/named_slots.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

void Fuzz(const std::string& input) {
  try {
    const NamedSlots slots = ParseSlots(input);
    CHECK_LE(slots.slots.size(), kMaxSlots);
    const std::string text = ToText(slots);
    const NamedSlots again = ParseSlots(text);
    CHECK(again.slots == slots.slots) << text;
    CHECK_EQ(ToText(again), text);
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
