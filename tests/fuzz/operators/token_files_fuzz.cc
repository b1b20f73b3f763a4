// SPDX-License-Identifier: Apache-2.0
// Fuzzes the files of tokens: an input that begins with # is one of merges, one that begins with {
// the JSON of a vocabulary, any other one of ranks. What can be read encodes the input itself.
#include <string>

#include "operators/text/tokens/token_files.h"
#include "tests/fuzz/operators/tokenize_target.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

void Fuzz(const std::string& input) {
  Outcome([&] {
    const char first = input.empty() ? '\0' : input[0];
    if (first == '{') {
      static const auto* const merges = new TokenTable(ParseMerges("#version\nt h\nth e", "f"));
      CheckTokens(BytePairEncoder(WithIds(*merges, input, "f")), input);
    } else {
      const TokenTable tokens = first == '#' ? ParseMerges(input, "f") : ParseTiktoken(input, "f");
      CheckTokens(BytePairEncoder(tokens), input);
    }
  });
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
