// SPDX-License-Identifier: Apache-2.0
// Fuzzes models of SentencePiece. What can be read encodes some texts, twice.
#include <glog/logging.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operators/text/tokens/sentence_piece.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

std::vector<int32_t> Encode(const Tokenizer& tokenizer, const std::string& text) {
  // Memory of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<uint8_t> exact(text.begin(), text.end());
  Tokenizer::Work work;
  Ids ids;
  tokenizer.Encode(exact.data(), exact.size(), Specials::kText, true, &work, &ids);
  return {ids.begin(), ids.end()};
}

void Fuzz(const std::string& input) {
  Outcome([&] {
    const std::unique_ptr<const Tokenizer> tokenizer = ReadSentencePiece(input);
    for (const std::string text :
         {" The 12 dogs' caf\u00e9,\r\n\n  \uff21e\u0301\U0001f600 <s>", "  a  "}) {
      Outcome([&] { CHECK(Encode(*tokenizer, text) == Encode(*tokenizer, text)); });
    }
  });
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
