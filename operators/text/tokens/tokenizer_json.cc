// SPDX-License-Identifier: Apache-2.0
// Source: tokenizers 0.23 (https://github.com/huggingface/tokenizers), which writes such files.
#include "operators/text/tokens/tokenizer_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/text/tokens/base64.h"
#include "operators/text/tokens/byte_alphabet.h"
#include "operators/text/tokens/chars_map.h"
#include "operators/text/tokens/json_part.h"
#include "operators/text/tokens/pieces.h"
#include "operators/text/unicode/utf8.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr int64_t kMostId = std::numeric_limits<int32_t>::max();

std::string_view TypeOf(const JsonPart& part) { return part.String("type"); }

// ---- patterns ----

struct KnownPattern {
  std::string_view expression;
  Needle::EndOfPiece end_of_piece;
};
// Those of GPT-2, Llama 3, Qwen 2 and o200k, which are known by heart.
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr KnownPattern kKnownPatterns[] = {
    {kGpt2, EndOfGpt2Piece},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     EndOfLlama3Piece},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     EndOfQwen2Piece},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     EndOfO200kPiece},
};

std::shared_ptr<const Needle> NeedleOf(const JsonPart& pattern) {
  if (pattern.Has("String")) {
    pattern.OnlyFields({"String"});
    return std::make_shared<const Needle>(std::string(pattern.String("String")));
  }
  pattern.OnlyFields({"Regex"});
  const std::string_view expression = pattern.String("Regex");
  for (const KnownPattern& known : kKnownPatterns) {
    if (known.expression == expression) return std::make_shared<const Needle>(known.end_of_piece);
  }
  try {
    return std::make_shared<const Needle>(Pattern(expression, Pattern::Notation::kOniguruma));
  } catch (const Error& error) {
    pattern.Refuse(error.message());
  }
}

// ---- normalizers ----

std::shared_ptr<const CharsMap> CharsMapOf(const JsonPart& base64) {
  PooledVector<char> bytes;
  if (!AppendBase64(base64.AsString(), &bytes)) base64.Refuse("it is no base64");
  try {
    return std::make_shared<const CharsMap>(std::string_view(bytes.data(), bytes.size()));
  } catch (const Error& error) {
    base64.Refuse(error.message());
  }
}

void AddNormalizers(const JsonPart& part, std::vector<Normalizer>* normalizers) {
  using Kind = Normalizer::Kind;
  const auto add = [normalizers](Kind kind) -> Normalizer& {
    normalizers->emplace_back();
    normalizers->back().kind = kind;
    return normalizers->back();
  };
  const std::string_view type = TypeOf(part);
  const std::pair<std::string_view, Kind> plain[] = {{"NFC", Kind::kNfc},
                                                     {"NFD", Kind::kNfd},
                                                     {"NFKC", Kind::kNfkc},
                                                     {"NFKD", Kind::kNfkd},
                                                     {"Lowercase", Kind::kLowercase},
                                                     {"StripAccents", Kind::kStripAccents},
                                                     {"Nmt", Kind::kNmt},
                                                     {"ByteLevel", Kind::kByteLevel}};
  for (const auto& [name, kind] : plain) {
    if (type != name) continue;
    part.OnlyFields({"type"});
    add(kind);
    return;
  }
  if (type == "Sequence") {
    part.OnlyFields({"type", "normalizers"});
    part.Field("normalizers").ForEach([normalizers](const JsonPart& one) {
      AddNormalizers(one, normalizers);
    });
  } else if (type == "Strip") {
    part.OnlyFields({"type", "strip_left", "strip_right"});
    Normalizer& strip = add(Kind::kStrip);
    strip.left = part.Bool("strip_left");
    strip.right = part.Bool("strip_right");
  } else if (type == "Replace") {
    part.OnlyFields({"type", "pattern", "content"});
    Normalizer& replace = add(Kind::kReplace);
    replace.needle = NeedleOf(part.Field("pattern"));
    replace.content = part.String("content");
  } else if (type == "Prepend") {
    part.OnlyFields({"type", "prepend"});
    add(Kind::kPrepend).content = part.String("prepend");
  } else if (type == "Precompiled") {
    part.OnlyFields({"type", "precompiled_charsmap"});
    add(Kind::kPrecompiled).map = CharsMapOf(part.Field("precompiled_charsmap"));
  } else if (type == "BertNormalizer") {
    part.OnlyFields({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    const bool lowercase = part.Bool("lowercase");
    if (part.Bool("clean_text")) add(Kind::kClean);
    if (part.Bool("handle_chinese_chars")) add(Kind::kChinese);
    if (part.Bool("strip_accents", lowercase)) add(Kind::kNoMarks);
    if (lowercase) add(Kind::kLowercase);
  } else {
    part.Refuse("the normalizer '", Shown(type), "' is not supported");
  }
}

// ---- pre-tokenizers ----

PreTokenizer::Behavior BehaviorOf(const JsonPart& part) {
  using Behavior = PreTokenizer::Behavior;
  const std::pair<std::string_view, Behavior> known[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous}};
  const std::string_view name = part.AsString();
  for (const auto& [known_name, behavior] : known) {
    if (known_name == name) return behavior;
  }
  part.Refuse("the behavior '", Shown(name), "' is not supported");
}

class PreTokenizerReader {
 public:
  using Kind = PreTokenizer::Kind;
  using Behavior = PreTokenizer::Behavior;

  explicit PreTokenizerReader(std::vector<PreTokenizer>* steps) : steps_(*steps) {}

  void Read(const JsonPart& part) {
    const std::string_view type = TypeOf(part);
    if (type == "Sequence") {
      part.OnlyFields({"type", "pretokenizers"});
      part.Field("pretokenizers").ForEach([this](const JsonPart& one) { Read(one); });
    } else if (type == "ByteLevel") {
      ReadByteLevel(part);
    } else if (type == "Metaspace") {
      ReadMetaspace(part);
    } else if (type == "Split") {
      part.OnlyFields({"type", "pattern", "behavior", "invert"});
      PreTokenizer& split = Add(Kind::kNeedle, BehaviorOf(part.Field("behavior")));
      split.needle = NeedleOf(part.Field("pattern"));
      split.invert = part.Bool("invert", false);
    } else if (type == "Whitespace") {
      part.OnlyFields({"type"});
      Add(Kind::kWords, Behavior::kRemoved).invert = true;
    } else if (type == "UnicodeScripts") {
      part.OnlyFields({"type"});
      // What has no script, and none before it, is left out.
      Add(Kind::kScripts, Behavior::kRemoved).invert = true;
    } else if (type == "FixedLength") {
      part.OnlyFields({"type", "length"});
      const int64_t length = part.Field("length").AsInt(kMostId);
      if (length == 0) part.Refuse("pieces of 0 characters");
      Add(Kind::kLength).length = static_cast<uint32_t>(length);
    } else if (type == "WhitespaceSplit") {
      part.OnlyFields({"type"});
      Add(Kind::kSpaces, Behavior::kRemoved);
    } else if (type == "BertPreTokenizer") {
      part.OnlyFields({"type"});
      Add(Kind::kSpaces, Behavior::kRemoved);
      Add(Kind::kPunctuation, Behavior::kIsolated);
    } else if (type == "Punctuation") {
      part.OnlyFields({"type", "behavior"});
      Add(Kind::kPunctuation,
          part.Has("behavior") ? BehaviorOf(part.Field("behavior")) : Behavior::kIsolated);
    } else if (type == "Digits") {
      part.OnlyFields({"type", "individual_digits"});
      Add(Kind::kDigits,
          part.Bool("individual_digits") ? Behavior::kIsolated : Behavior::kContiguous);
    } else if (type == "CharDelimiterSplit") {
      part.OnlyFields({"type", "delimiter"});
      AddLiteral(std::string(part.String("delimiter")), Behavior::kRemoved);
    } else {
      part.Refuse("the pre-tokenizer '", Shown(type), "' is not supported");
    }
  }

 private:
  PreTokenizer& Add(Kind kind, Behavior behavior = Behavior::kIsolated) {
    steps_.emplace_back();
    steps_.back().kind = kind;
    steps_.back().behavior = behavior;
    return steps_.back();
  }
  void AddLiteral(std::string literal, Behavior behavior) {
    Add(Kind::kNeedle, behavior).needle = std::make_shared<const Needle>(std::move(literal));
  }

  void ReadByteLevel(const JsonPart& part) {
    part.OnlyFields({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (part.Bool("add_prefix_space")) Add(Kind::kPrefix).content = " ";
    if (part.Bool("use_regex", true)) {
      Add(Kind::kNeedle).needle = std::make_shared<const Needle>(EndOfGpt2Piece);
    }
    Add(Kind::kBytesToChars);
  }

  void ReadMetaspace(const JsonPart& part) {
    part.OnlyFields(
        {"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    const std::string replacement(part.String("replacement"));
    std::string_view scheme = part.String("prepend_scheme", "always");
    if (!part.Bool("add_prefix_space", true)) scheme = "never";
    Add(Kind::kReplace).content = replacement;
    if (scheme == "always") {
      Add(Kind::kPrefix).content = replacement;
    } else if (scheme == "first") {
      Add(Kind::kFirstPrefix).content = replacement;
    } else if (scheme != "never") {
      part.Refuse("the prepend_scheme '", Shown(scheme), "' is not supported");
    }
    if (part.Bool("split", true)) AddLiteral(replacement, Behavior::kMergedWithNext);
  }

  std::vector<PreTokenizer>& steps_;
};

// Whether a normalizer keeps the first character, or makes characters of it alone.
bool KeepsFirst(const Normalizer& normalizer) {
  using Kind = Normalizer::Kind;
  switch (normalizer.kind) {
    case Kind::kNfc:
    case Kind::kNfd:
    case Kind::kNfkc:
    case Kind::kNfkd:
    case Kind::kLowercase:
    case Kind::kByteLevel:
      return true;
    default:
      return false;
  }
}

// The original puts a prefix before each piece that came of the first character: which a normalizer
// may have left out, or made several characters of, which a division may have put apart.
void CheckFirst(const JsonPart& part, const TokenizerParts& parts) {
  const auto& normalizers = parts.normalizers;
  const bool keeps = std::all_of(normalizers.begin(), normalizers.end(), KeepsFirst);
  bool divides = false;
  for (const PreTokenizer& step : parts.pre_tokenizers) {
    const bool is_apart = !keeps || (divides && !normalizers.empty());
    if (step.kind == PreTokenizer::Kind::kFirstPrefix && is_apart) {
      part.Refuse(
          "the prepend_scheme 'first' is not supported after other pre-tokenizers and normalizers, "
          "nor after normalizers that leave out or replace characters");
    }
    divides |= step.divides();
  }
}

// ---- models ----

// Tokens by their names, as the file has them.
using NamedIds = std::unordered_map<std::string_view, int32_t>;

void CheckToken(const JsonPart& part, std::string_view token, size_t count) {
  if (count > kMaxTokens) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat(part.place(), ": there are more than ", kMaxTokens, " tokens"));
  }
  if (token.size() > kMaxTokenBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat(part.place(), ": a token of ", token.size(),
                                                  " bytes; the limit is ", kMaxTokenBytes));
  }
}

// A vocabulary as an object of names and ids. The ids in `table` are those, in the order of the
// file; with `bytes`, names are written in GPT-2's alphabet, and those that are not are left out,
// since no text becomes them.
NamedIds ReadVocabulary(const JsonPart& part, bool bytes, TokenTable* table) {
  NamedIds ids;
  std::unordered_map<int32_t, std::string_view> names;
  std::string decoded;
  part.ForEachField([&](std::string_view name, const simdjson::dom::element& value) {
    const auto id = static_cast<int32_t>(
        JsonPart(value, StrCat(part.place(), "['", Shown(name), "']")).AsInt(kMostId));
    if (!ids.emplace(name, id).second)
      part.Refuse("the token '", Shown(name), "' stands in it twice");
    if (!names.emplace(id, name).second) part.Refuse("two tokens have the id ", id);
    CheckToken(part, name, ids.size());
    if (bytes && !Gpt2Alphabet().Decode(name, &decoded)) return;
    const std::string_view token = bytes ? std::string_view(decoded) : name;
    if (!token.empty()) table->Add(token, id);
  });
  return ids;
}

uint32_t Find(const TokenTable& tokens, std::string_view bytes) {
  return bytes.empty() ? TokenTable::kNone
                       : tokens.Find(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// The halves of a merge: "a b", or ["a", "b"].
std::pair<std::string_view, std::string_view> HalvesOf(const JsonPart& merge) {
  simdjson::dom::array array;
  if (merge.element().get(array) == simdjson::SUCCESS) {
    if (array.size() != 2) merge.Refuse("a merge is two tokens");
    return {JsonPart(array.at(0), merge.place()).AsString(),
            JsonPart(array.at(1), merge.place()).AsString()};
  }
  const std::string_view line = merge.AsString();
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    merge.Refuse("'", Shown(line), "' is no merge: two tokens with a space between");
  }
  return {line.substr(0, space), line.substr(space + 1)};
}

void ReadMerges(const JsonPart& part, bool bytes, const TokenTable& tokens, MergeRules* rules) {
  const auto token_of = [&](const JsonPart& merge, std::string_view name) {
    std::string decoded;
    const bool is_written = !bytes || Gpt2Alphabet().Decode(name, &decoded);
    const uint32_t token =
        is_written ? Find(tokens, bytes ? std::string_view(decoded) : name) : TokenTable::kNone;
    if (token == TokenTable::kNone)
      merge.Refuse("'", Shown(name), "' is no token of the vocabulary");
    return token;
  };
  std::string made;
  part.ForEach([&](const JsonPart& merge) {
    if (rules->pairs.size() >= kMaxMerges) {
      throw Error(ErrorCode::kResourceLimit,
                  StrCat(part.place(), ": there are more than ", kMaxMerges, " merges"));
    }
    const auto [left, right] = HalvesOf(merge);
    const uint32_t left_token = token_of(merge, left);
    const uint32_t right_token = token_of(merge, right);
    made = left;
    const std::string& prefix = rules->prefix;
    made += prefix.size() <= right.size() ? right.substr(prefix.size()) : right;
    rules->pairs.Add(left_token, right_token, token_of(merge, made));
  });
}

// Whether bytes need no characters to stand for them: they do so only for byte pairs.
bool TakeBytesToChars(std::vector<PreTokenizer>* steps) {
  if (steps->empty() || steps->back().kind != PreTokenizer::Kind::kBytesToChars) return false;
  const auto is_other = [](const PreTokenizer& step) {
    return step.kind != PreTokenizer::Kind::kBytesToChars;
  };
  if (!std::all_of(steps->begin(), steps->end() - 1, is_other)) return false;
  steps->pop_back();
  return true;
}

std::unique_ptr<const TokenModel> ReadBytePairs(const JsonPart& part,
                                                std::vector<PreTokenizer>* steps, NamedIds* ids) {
  part.OnlyFields({"type", "dropout", "unk_token", "continuing_subword_prefix",
                   "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                   "merges"});
  if (part.Has("dropout") && part.Field("dropout").AsNumber() != 0) {
    part.Refuse("'dropout' is not supported: tokens would be others each time");
  }
  MergeRules rules;
  rules.prefix = part.String("continuing_subword_prefix", "");
  rules.suffix = part.String("end_of_word_suffix", "");
  rules.fuse_unknown = part.Bool("fuse_unk", false);
  rules.byte_fallback = part.Bool("byte_fallback", false);
  rules.whole_pieces = part.Bool("ignore_merges", false);
  // What is not ASCII, or a space, has another byte than its character in GPT-2's alphabet.
  const auto is_plain = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  };
  const bool bytes = is_plain(rules.prefix) && is_plain(rules.suffix) && !rules.byte_fallback &&
                     TakeBytesToChars(steps);
  rules.characters = !bytes;
  TokenTable tokens;
  *ids = ReadVocabulary(part.Field("vocab"), bytes, &tokens);
  if (part.Has("unk_token")) {
    const std::string_view name = part.String("unk_token");
    rules.unknown = Find(tokens, name);
    if (rules.unknown == TokenTable::kNone) {
      part.Refuse("the unk_token '", Shown(name), "' is no token of the vocabulary");
    }
  }
  ReadMerges(part.Field("merges"), bytes, tokens, &rules);
  return std::make_unique<const BytePairModel>(std::move(tokens), std::move(rules));
}

std::unique_ptr<const TokenModel> ReadUnigram(const JsonPart& part, NamedIds* ids) {
  part.OnlyFields({"type", "unk_id", "vocab", "byte_fallback"});
  TokenTable tokens;
  PooledVector<double> scores;
  const JsonPart vocabulary = part.Field("vocab");
  vocabulary.ForEach([&](const JsonPart& one) {
    simdjson::dom::array pair;
    if (one.element().get(pair) != simdjson::SUCCESS || pair.size() != 2) {
      one.Refuse("it is no pair of a token and its score");
    }
    const std::string_view name = JsonPart(pair.at(0), one.place()).AsString();
    const auto id = static_cast<int32_t>(scores.size());
    CheckToken(vocabulary, name, scores.size() + 1);
    if (name.empty() || !ids->emplace(name, id).second) {
      one.Refuse("the token '", Shown(name), "' is empty, or stands in it twice");
    }
    tokens.Add(name, id);
    scores.push_back(JsonPart(pair.at(1), one.place()).AsNumber());
  });
  UnigramOptions options;
  options.byte_fallback = part.Bool("byte_fallback", false);
  if (part.Has("unk_id")) {
    if (scores.empty()) part.Refuse("it has no tokens");
    options.unknown =
        static_cast<uint32_t>(part.Field("unk_id").AsInt(static_cast<int64_t>(scores.size()) - 1));
  }
  return std::make_unique<const UnigramModel>(std::move(tokens), std::move(scores), options);
}

std::unique_ptr<const TokenModel> ReadModel(const JsonPart& part, std::vector<PreTokenizer>* steps,
                                            NamedIds* ids) {
  const std::string_view type = part.String("type", part.Has("merges") ? "BPE" : "");
  if (type == "BPE") return ReadBytePairs(part, steps, ids);
  if (type == "Unigram") return ReadUnigram(part, ids);
  TokenTable tokens;
  if (type == "WordPiece") {
    part.OnlyFields(
        {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    *ids = ReadVocabulary(part.Field("vocab"), false, &tokens);
    return std::make_unique<const WordPieceModel>(
        std::move(tokens), std::string(part.String("continuing_subword_prefix")),
        std::string(part.String("unk_token")),
        static_cast<size_t>(part.Field("max_input_chars_per_word").AsInt(kMostId)));
  }
  if (type == "WordLevel") {
    part.OnlyFields({"type", "unk_token", "vocab"});
    *ids = ReadVocabulary(part.Field("vocab"), false, &tokens);
    return std::make_unique<const WordLevelModel>(std::move(tokens),
                                                  std::string(part.String("unk_token")));
  }
  part.Refuse("the model '", Shown(type), "' is not supported");
}

// ---- added tokens ----

// The ids are checked: tokenizers gives tokens that are not in the vocabulary the next numbers,
// whatever the file says.
void ReadAddedTokens(const JsonPart& part, const NamedIds& ids, std::vector<AddedToken>* added) {
  std::unordered_map<std::string, int32_t> seen;
  int64_t next = static_cast<int64_t>(ids.size());
  part.ForEach([&](const JsonPart& one) {
    one.OnlyFields({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.content = one.String("content");
    token.id = static_cast<int32_t>(one.Field("id").AsInt(kMostId));
    token.single_word = one.Bool("single_word");
    token.lstrip = one.Bool("lstrip");
    token.rstrip = one.Bool("rstrip");
    token.normalized = one.Bool("normalized");
    token.special = one.Bool("special");
    if (token.content.empty()) one.Refuse("the token is empty");
    if (token.content.size() > kMaxTokenBytes || added->size() >= kMaxTokens) {
      throw Error(ErrorCode::kResourceLimit,
                  StrCat(one.place(), ": there are too many tokens, or they are too long"));
    }
    const auto known = ids.find(token.content);
    const int64_t id = known != ids.end() ? known->second : next;
    if (id != token.id) {
      one.Refuse("the token '", Shown(token.content), "' has the id ", token.id,
                 ", but tokenizers gives it the id ", id,
                 known != ids.end() ? ", that of the vocabulary" : ", the next that is free");
    }
    if (!seen.emplace(token.content, token.id).second) {
      one.Refuse("the token '", Shown(token.content), "' stands in it twice");
    }
    next = std::max(next, id + 1);
    added->push_back(std::move(token));
  });
}

// ---- what comes after ----

void AppendTemplate(const JsonPart& part, TokenizerParts* parts) {
  const JsonPart special = part.Field("special_tokens");
  bool seen_text = false;
  part.Field("single").ForEach([&](const JsonPart& item) {
    if (item.Has("Sequence")) {
      if (seen_text || item.Field("Sequence").String("id") != "A") {
        item.Refuse("a template is supported that has the text, A, once");
      }
      seen_text = true;
      return;
    }
    const std::string_view name = item.Field("SpecialToken").String("id");
    special.Field(name).Field("ids").ForEach([&](const JsonPart& id) {
      (seen_text ? parts->after : parts->before).push_back(static_cast<int32_t>(id.AsInt(kMostId)));
    });
  });
  if (!seen_text) part.Refuse("the template 'single' does not have the text, A");
}

void ReadPostProcessor(const JsonPart& part, TokenizerParts* parts) {
  const std::string_view type = TypeOf(part);
  if (type == "Sequence") {
    part.OnlyFields({"type", "processors"});
    part.Field("processors").ForEach([parts](const JsonPart& one) {
      ReadPostProcessor(one, parts);
    });
    return;
  }
  if (type == "ByteLevel") return;  // only places of tokens in the text are others
  if (!parts->before.empty() || !parts->after.empty()) {
    part.Refuse("two post-processors that add tokens are not supported");
  }
  if (type == "TemplateProcessing") {
    part.OnlyFields({"type", "single", "pair", "special_tokens"});
    AppendTemplate(part, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    part.OnlyFields({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    const auto id_of = [&part](std::string_view name) {
      std::optional<int32_t> id;
      part.Field(name).ForEach([&id](const JsonPart& one) {
        if (one.element().is<int64_t>()) id = static_cast<int32_t>(one.AsInt(kMostId));
      });
      if (!id.has_value()) part.Refuse("'", name, "' is no token and its id");
      return *id;
    };
    parts->before.push_back(id_of("cls"));
    parts->after.push_back(id_of("sep"));
  } else {
    part.Refuse("the post-processor '", Shown(type), "' is not supported");
  }
}

void ReadTruncation(const JsonPart& part, TokenizerParts* parts) {
  part.OnlyFields({"direction", "max_length", "strategy", "stride"});
  const std::string_view strategy = part.String("strategy");
  if (strategy != "LongestFirst" && strategy != "OnlyFirst") {
    part.Refuse("the strategy '", Shown(strategy), "' is not supported");
  }
  const std::string_view direction = part.String("direction", "Right");
  if (direction != "Right" && direction != "Left") {
    part.Refuse("the direction '", Shown(direction), "' is not supported");
  }
  parts->keeps_last = direction == "Left";
  parts->most_tokens = static_cast<size_t>(part.Field("max_length").AsInt(kMostId));
  if (parts->most_tokens < parts->before.size() + parts->after.size()) {
    part.Refuse("'max_length' is shorter than what the template adds");
  }
}

void CheckPadding(const JsonPart& part) {
  const JsonPart strategy = part.Field("strategy");
  if (!strategy.element().is<std::string_view>() || strategy.AsString() != "BatchLongest" ||
      part.Has("pad_to_multiple_of")) {
    part.Refuse(
        "padding to a length is not supported: Tokenizer.no_padding() takes it out, and "
        "pad_sequence pads tokens");
  }
}

}  // namespace

std::unique_ptr<const Tokenizer> ReadTokenizer(const JsonPart& root) {
  root.OnlyFields({"version", "truncation", "padding", "added_tokens", "normalizer",
                   "pre_tokenizer", "post_processor", "decoder", "model"});
  if (root.Has("version") && root.String("version") != "1.0") {
    root.Refuse("the version '", Shown(root.String("version")), "' is not supported; 1.0 is");
  }
  TokenizerParts parts;
  if (root.Has("normalizer")) AddNormalizers(root.Field("normalizer"), &parts.normalizers);
  if (root.Has("pre_tokenizer")) {
    PreTokenizerReader(&parts.pre_tokenizers).Read(root.Field("pre_tokenizer"));
    CheckFirst(root.Field("pre_tokenizer"), parts);
  }
  NamedIds ids;
  parts.model = ReadModel(root.Field("model"), &parts.pre_tokenizers, &ids);
  if (root.Has("added_tokens")) ReadAddedTokens(root.Field("added_tokens"), ids, &parts.added);
  if (root.Has("post_processor")) ReadPostProcessor(root.Field("post_processor"), &parts);
  if (root.Has("truncation")) ReadTruncation(root.Field("truncation"), &parts);
  if (root.Has("padding")) CheckPadding(root.Field("padding"));
  return std::make_unique<const Tokenizer>(std::move(parts));
}

}  // namespace millhopper
