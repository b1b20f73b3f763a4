// SPDX-License-Identifier: Apache-2.0
// Fuzzes text that becomes tokens of a small vocabulary.
#include <string>

#include "operators/text/tokens/byte_pairs.h"
#include "operators/text/tokens/token_files.h"
#include "tests/fuzz/operators/tokenize_target.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

void Fuzz(const std::string& input) {
  // Tokens of spaces, letters, digits and the bytes of two-byte characters.
  static const auto* const encoder =
      new BytePairEncoder(ParseMerges("#version\na a\naa a\nt h\nth e\n\u0120 the\n\u0120 "
                                      "\u0120\n\u010a \u010a\n1 2\n\u00c3 \u00a9\n"
                                      "\u0120 a\n- -\n",
                                      "merges"));
  CheckTokens(*encoder, input);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
