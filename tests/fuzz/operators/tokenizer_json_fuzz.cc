// SPDX-License-Identifier: Apache-2.0
// Fuzzes tokenizer.json, and what an Encoding of tiktoken is written as. What can be read encodes
// the input itself and some texts, twice.
#include <glog/logging.h>

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "operators/text/tokens/text_encoder.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

std::vector<int32_t> Encode(const TextEncoder& encoder, const std::string& text) {
  // Memory of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<uint8_t> exact(text.begin(), text.end());
  TextEncoder::Work work;
  Ids ids;
  encoder.Encode(exact.data(), exact.size(), {}, &work, &ids);
  return {ids.begin(), ids.end()};
}

void Fuzz(const std::string& input) {
  Outcome([&] {
    const auto encoder = TextEncoder::ParseJson(input, "tokenizer.json");
    for (const std::string& text :
         {std::string(" The 12 dogs' caf\u00e9,\r\n\n  e\u0301\U0001f600 <s>"), input}) {
      Outcome([&] { CHECK(Encode(*encoder, text) == Encode(*encoder, text)); });
    }
  });
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
