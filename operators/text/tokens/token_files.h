// SPDX-License-Identifier: Apache-2.0
// The files that hold the tokens of a byte pair encoding. They come from outside and are not
// trusted: errors in them are kDataLoss, or kResourceLimit if they are too large, with the file
// and, where it has lines of tokens, the line and its first byte.
#ifndef MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_FILES_H_
#define MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_FILES_H_

#include <string>
#include <string_view>

#include "operators/text/tokens/token_table.h"

namespace millhopper {

// Makes tokens of a file's text, which has one of two forms, as the first non-empty line tells:
//
//   tiktoken's   one token a line: its bytes in base64, a space, its rank, which is its id. Ranks
//                may be in any order and leave gaps. Every byte must be a token.
//   GPT-2's      a line that begins with "#version", then one merge a line: two tokens with a space
//                between, in GPT-2's alphabet (a printable character for each byte). Their bytes
//                together are the next token. The first 256 tokens are the bytes.
//
// `vocabulary`, for the second form only, is the path of the JSON object that gives each token its
// id (encoder.json, vocab.json); tokens in it that no merge makes, such as <|endoftext|>, are
// ignored. Without it ("") the id of a token is its number: bytes in the order of GPT-2's alphabet,
// then merges. A line ends at LF, CR LF or CR; empty lines are ignored.
//
// Throws kInvalidArgument for a vocabulary beside a file of the first form, and what reading the
// vocabulary throws.
TokenTable ParseTokens(std::string_view text, const std::string& path,
                       const std::string& vocabulary);

// The same of one form; `path` is what errors name.
TokenTable ParseTiktoken(std::string_view text, const std::string& path);
TokenTable ParseMerges(std::string_view text, const std::string& path);
// Gives the tokens of ParseMerges the ids of a JSON object.
TokenTable WithIds(const TokenTable& tokens, std::string_view json, const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TEXT_TOKENS_TOKEN_FILES_H_
