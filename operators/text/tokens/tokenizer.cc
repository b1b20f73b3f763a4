// SPDX-License-Identifier: Apache-2.0
// Source: tokenizers 0.23 (https://github.com/huggingface/tokenizers), whose result this is.
#include "operators/text/tokens/tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

struct View {
  const uint8_t* data;
  size_t size;
};

View Normalized(const std::vector<Normalizer>& normalizers, View text,
                std::array<TextBytes, 2>* made) {
  size_t turn = 0;
  for (const Normalizer& normalizer : normalizers) {
    if (normalizer.Keeps(text.data, text.size)) continue;
    TextBytes& out = (*made)[turn];
    out.clear();
    normalizer.Append(text.data, text.size, &out);
    text = {out.data(), out.size()};
    turn ^= 1;
  }
  return text;
}

AddedTokens TokensToFind(const TokenizerParts& parts, bool normalized) {
  std::vector<std::pair<std::string, AddedToken>> found;
  std::array<TextBytes, 2> made;
  for (const AddedToken& token : parts.added) {
    if (token.normalized != normalized) continue;
    std::string content = token.content;
    if (normalized) {
      const View text =
          Normalized(parts.normalizers,
                     {reinterpret_cast<const uint8_t*>(content.data()), content.size()}, &made);
      content = std::string(text.data, text.data + text.size);
    }
    found.emplace_back(std::move(content), token);
  }
  return AddedTokens(std::move(found));
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::move(parts)),
      raw_(TokensToFind(parts_, false)),
      normalized_(TokensToFind(parts_, true)) {}

int32_t Tokenizer::IdOf(std::string_view name) const {
  for (const AddedToken& token : parts_.added) {
    if (token.content == name) return token.id;
  }
  const TokenTable& tokens = parts_.model->tokens();
  const uint32_t token =
      name.empty() ? TokenTable::kNone
                   : tokens.Find(reinterpret_cast<const uint8_t*>(name.data()), name.size());
  return token == TokenTable::kNone ? -1 : tokens.id(token);
}

void Tokenizer::Encode(const uint8_t* text, size_t size, Specials specials, bool with_template,
                       Work* work, Ids* ids) const {
  const uint8_t* const valid = EndOfUtf8(text, text + size);
  if (valid != text + size) {
    throw Error(ErrorCode::kDataLoss, StrCat("the text is not UTF-8 at byte ", valid - text,
                                             ", and this tokenizer is one of characters"));
  }
  const size_t around = with_template ? parts_.before.size() + parts_.after.size() : 0;
  if (with_template) ids->insert(ids->end(), parts_.before.begin(), parts_.before.end());
  const size_t begin = ids->size();
  work->parts_.clear();
  raw_.Split(text, size, specials, &work->parts_);
  for (const TextPart& part : work->parts_) {
    if (part.token != nullptr) {
      ids->push_back(part.token->id);
    } else {
      EncodePart(text + part.begin, part.end - part.begin, part.begin == 0, specials, work, ids);
    }
  }
  const size_t most = parts_.most_tokens - std::min(around, parts_.most_tokens);
  if (ids->size() - begin > most) {
    const auto first = ids->begin() + static_cast<ptrdiff_t>(begin);
    if (parts_.keeps_last) {
      ids->erase(first, ids->end() - static_cast<ptrdiff_t>(most));
    } else {
      ids->erase(first + static_cast<ptrdiff_t>(most), ids->end());
    }
  }
  if (with_template) ids->insert(ids->end(), parts_.after.begin(), parts_.after.end());
}

void Tokenizer::EncodePart(const uint8_t* text, size_t size, bool is_first, Specials specials,
                           Work* work, Ids* ids) const {
  const View all = Normalized(parts_.normalizers, {text, size}, &work->texts_);
  work->inner_parts_.clear();
  normalized_.Split(all.data, all.size, specials, &work->inner_parts_);
  for (const TextPart& part : work->inner_parts_) {
    if (part.token != nullptr) {
      ids->push_back(part.token->id);
      continue;
    }
    DividedText& divided = work->divided_;
    divided.Begin(all.data + part.begin, part.end - part.begin, is_first && part.begin == 0);
    for (const PreTokenizer& step : parts_.pre_tokenizers) step.Divide(&divided);
    parts_.model->Encode(divided.text(), divided.pieces(), ids);
  }
}

}  // namespace millhopper
