// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of tokens share.
#ifndef MILLHOPPER_TESTS_FUZZ_OPERATORS_TOKENIZE_TARGET_H_
#define MILLHOPPER_TESTS_FUZZ_OPERATORS_TOKENIZE_TARGET_H_

#include <string>

#include "operators/text/tokens/byte_pairs.h"

namespace millhopper {

// Encodes the text by every pattern, twice, and checks that both give the same tokens and that
// their bytes together are the text.
void CheckTokens(const BytePairEncoder& encoder, const std::string& text);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_OPERATORS_TOKENIZE_TARGET_H_
