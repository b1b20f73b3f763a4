// SPDX-License-Identifier: Apache-2.0
// The file tokenizer.json of Hugging Face's tokenizers. It comes from outside and is not trusted.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKENIZER_JSON_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKENIZER_JSON_H_

#include <memory>

#include "operators/text/tokens/json_part.h"
#include "operators/text/tokens/tokenizer.h"

namespace millhopper {

// Makes the tokenizer of a file. Models: BPE without dropout, WordPiece, WordLevel, Unigram. Of
// normalizers, pre-tokenizers and post-processors those that `executor --list_ops tokenize` names.
// Its decoder is ignored, since no tokens are decoded here.
//
// Throws kDataLoss with the part of it for a part, or a field of one, that is not known here;
// kResourceLimit for too many or too long tokens.
std::unique_ptr<const Tokenizer> ReadTokenizer(const JsonPart& root);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKENIZER_JSON_H_
