// SPDX-License-Identifier: Apache-2.0
// Source: Encoding of tiktoken 0.14 (https://github.com/openai/tiktoken).
#include "operators/text/tokens/text_encoder.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>

#include "framework/base/error.h"
#include "operators/text/tokens/json_part.h"
#include "operators/text/tokens/pieces.h"
#include "operators/text/tokens/sentence_piece.h"
#include "operators/text/tokens/token_files.h"
#include "operators/text/tokens/tokenizer_json.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

// Expressions that are known by heart: of tiktoken's gpt2, r50k_base and p50k_base; cl100k_base;
// o200k_base.
constexpr std::pair<std::string_view, PiecePattern> kKnown[] = {
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)",
     PiecePattern::kGpt2},
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
     PiecePattern::kCl100k},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PiecePattern::kO200k}};

}  // namespace

std::shared_ptr<const TextEncoder> TextEncoder::ParseEncoding(const JsonPart& part,
                                                              const std::string& path) {
  part.OnlyFields({"type", "pattern", "special_tokens", "ranks"});
  auto made = std::make_shared<TextEncoder>(ParseTiktoken(part.String("ranks"), path));
  const std::string_view expression = part.String("pattern");
  made->has_pattern_ = true;
  made->pattern_ = PiecePattern::kExpression;
  for (const auto& [known, pattern] : kKnown) {
    if (known == expression) made->pattern_ = pattern;
  }
  if (made->pattern_ == PiecePattern::kExpression) {
    made->expression_.emplace(expression, Pattern::Notation::kRust);
  }
  std::vector<std::pair<std::string, AddedToken>> specials;
  part.Field("special_tokens").ForEachField([&](std::string_view name, const auto& value) {
    AddedToken token;
    token.content = name;
    token.id = static_cast<int32_t>(
        JsonPart(value, "special_tokens").AsInt(std::numeric_limits<int32_t>::max()));
    token.special = true;
    made->special_.push_back(token);
    specials.emplace_back(name, token);
  });
  made->specials_ = AddedTokens(std::move(specials));
  return made;
}

std::shared_ptr<const TextEncoder> TextEncoder::ParseJson(std::string_view json,
                                                          const std::string& path) {
  try {
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    const simdjson::error_code error = parser.parse(json.data(), json.size()).get(element);
    if (error != simdjson::SUCCESS) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("it is no JSON of a tokenizer: ", simdjson::error_message(error)));
    }
    const JsonPart root(element, "");
    if (root.String("type", "") == "tiktoken") return ParseEncoding(root, path);
    return std::make_shared<const TextEncoder>(ReadTokenizer(root));
  } catch (const Error& error) {
    if (error.interrupts() || !error.file().empty()) throw;
    throw error.InFile(path, 0);
  }
}

std::shared_ptr<const TextEncoder> TextEncoder::Read(const std::string& path,
                                                     const std::string& vocabulary) {
  const Text text = ReadTextFile(path, "file of tokens");
  const size_t first = std::string_view(text).find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && std::string_view(text)[first] == '{') {
    Require(vocabulary.empty(), "the file '", path,
            "' is a whole tokenizer; 'vocab' is for a file of merges");
    return ParseJson(text, path);
  }
  if (IsSentencePiece(text)) {
    Require(vocabulary.empty(), "the file '", path,
            "' is a whole tokenizer; 'vocab' is for a file of merges");
    try {
      return std::make_shared<const TextEncoder>(ReadSentencePiece(text));
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      throw error.InFile(path, 0);
    }
  }
  return std::make_shared<const TextEncoder>(ParseTokens(text, path, vocabulary));
}

void TextEncoder::Check(const EncodeOptions& options) const {
  Require(!options.pattern.has_value() || (tokenizer_ == nullptr && !has_pattern_),
          "attribute 'pattern' is for files of ranks or merges; this one has its own");
  const bool has_special = tokenizer_ != nullptr ? tokenizer_->has_added() : !special_.empty();
  Require(has_special || options.specials.value_or(Specials::kText) == Specials::kText,
          "attribute 'special' is for files that have special tokens; this one has none that is "
          "looked for in text");
}

const BytePairEncoder* TextEncoder::Plain(const EncodeOptions& options,
                                          PiecePattern* pattern) const {
  const bool has_specials =
      !specials_.empty() && options.specials.value_or(Specials::kText) != Specials::kText;
  *pattern = options.pattern.value_or(pattern_);
  const bool plain =
      tokenizer_ == nullptr && !has_specials && *pattern != PiecePattern::kExpression;
  return plain ? &*pairs_ : nullptr;
}

void TextEncoder::Encode(const uint8_t* text, size_t size, const EncodeOptions& options, Work* work,
                         Ids* ids) const {
  if (tokenizer_ != nullptr) {
    return tokenizer_->Encode(text, size, options.specials.value_or(Specials::kAllow),
                              options.with_template, &work->tokenizer_, ids);
  }
  work->parts_.clear();
  const Specials specials = options.specials.value_or(Specials::kText);
  if (specials == Specials::kText) {
    work->parts_.push_back({0, size, nullptr});
  } else {
    specials_.Split(text, size, specials, &work->parts_);
  }
  for (const TextPart& part : work->parts_) {
    if (part.token != nullptr) {
      ids->push_back(part.token->id);
      continue;
    }
    const size_t before = ids->size();
    ids->resize(before + part.end - part.begin);
    const size_t count =
        pairs_->Encode(options.pattern.value_or(pattern_), text + part.begin, part.end - part.begin,
                       ids->data() + before, expression_.has_value() ? &*expression_ : nullptr);
    ids->resize(before + count);
  }
}

int32_t TextEncoder::IdOf(std::string_view name) const {
  int32_t id = -1;
  if (tokenizer_ != nullptr) {
    id = tokenizer_->IdOf(name);
  } else {
    for (const AddedToken& token : special_) {
      if (token.content == name) id = token.id;
    }
    const uint32_t token =
        pairs_->tokens().Find(reinterpret_cast<const uint8_t*>(name.data()), name.size());
    if (id < 0 && token != TokenTable::kNone) id = pairs_->tokens().id(token);
  }
  Require(id >= 0, "there is no token '", Shown(name), "'");
  return id;
}

}  // namespace millhopper
