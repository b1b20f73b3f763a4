// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: small tokenizers, and all that can be wrong with them.
// tests/python/readers/test_tokenizers.py compares many with the original.
#include "operators/text/tokens/tokenizer_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operators/text/tokens/text_encoder.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Tokens = std::vector<int32_t>;

std::shared_ptr<const TextEncoder> Parse(const std::string& json) {
  return TextEncoder::ParseJson(json, "tokenizer.json");
}

Tokens Encode(const TextEncoder& encoder, const std::string& text,
              const EncodeOptions& options = {}) {
  const std::vector<uint8_t> exact(text.begin(), text.end());
  TextEncoder::Work work;
  Ids ids;
  encoder.Encode(exact.data(), exact.size(), options, &work, &ids);
  return {ids.begin(), ids.end()};
}

Tokens Encode(const std::string& json, const std::string& text, const EncodeOptions& options = {}) {
  return Encode(*Parse(json), text, options);
}

constexpr char kWords[] = R"("model": {"type": "WordLevel", "unk_token": "?",
    "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "1": 4, "22": 5, ".": 6, "ab": 7, "_a": 8, "_b": 9,
              "c_": 10, "_": 11}})";

// A tokenizer of words with one more part.
std::string WordsWith(const std::string& part) {
  return "{" + (part.empty() ? "" : part + ", ") + kWords + "}";
}

std::string PreTokenizerOf(const std::string& pre_tokenizer) {
  return WordsWith("\"pre_tokenizer\": " + pre_tokenizer);
}

TEST(TokenizerJson, DividesText) {
  EXPECT_EQ(Encode(WordsWith(""), "ab"), (Tokens{7}));
  EXPECT_EQ(Encode(WordsWith(""), ""), (Tokens{}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "Whitespace"})"), " a.  b22"), (Tokens{1, 6, 0}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "WhitespaceSplit"})"), " a. b\u3000c"),
            (Tokens{0, 2, 3}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "BertPreTokenizer"})"), "a. b"), (Tokens{1, 6, 2}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "Digits", "individual_digits": false})"), "a22b"),
            (Tokens{1, 5, 2}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "Digits", "individual_digits": true})"), "a12"),
            (Tokens{1, 4, 0}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "CharDelimiterSplit", "delimiter": "."})"), "a.b.."),
            (Tokens{1, 2}));
  EXPECT_EQ(Encode(PreTokenizerOf(R"({"type": "Metaspace", "replacement": "_",
                                      "prepend_scheme": "always", "split": true})"),
                   "a b"),
            (Tokens{8, 9}));
}

TEST(TokenizerJson, SplitsInEachWay) {
  const auto split = [](const std::string& behavior, const std::string& text) {
    return Encode(PreTokenizerOf(R"({"type": "Split", "pattern": {"String": "_"}, "behavior": ")" +
                                 behavior + "\", \"invert\": false}"),
                  text);
  };
  EXPECT_EQ(split("Removed", "a_b"), (Tokens{1, 2}));
  EXPECT_EQ(split("Isolated", "a_b"), (Tokens{1, 11, 2}));
  EXPECT_EQ(split("MergedWithPrevious", "c_b"), (Tokens{10, 2}));
  EXPECT_EQ(split("MergedWithNext", "c_b"), (Tokens{3, 9}));
  EXPECT_EQ(split("Contiguous", "a__b"), (Tokens{1, 0, 2}));
}

TEST(TokenizerJson, NormalizesText) {
  const auto normalized = [](const std::string& normalizer, const std::string& text) {
    return Encode(WordsWith("\"normalizer\": " + normalizer), text);
  };
  EXPECT_EQ(normalized(R"({"type": "Lowercase"})", "AB"), (Tokens{7}));
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " a"),
            (Tokens{1}));
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "_"})", "a"), (Tokens{8}));
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "x+"}, "content": ""})", "axxb"),
            (Tokens{7}));
  EXPECT_EQ(normalized(R"({"type": "NFKC"})", "\uff41\uff42"), (Tokens{7}));
  EXPECT_EQ(normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFD"},
                           {"type": "StripAccents"}]})",
                       "\u00e1"),
            (Tokens{1}));
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "clean_text": true, "lowercase": true,
                           "handle_chinese_chars": true, "strip_accents": null})",
                       "\u00c1\u0007B"),
            (Tokens{7}));
}

// A byte pair encoding whose merges make "abc" of "a" and "bc" only, of which "ab" takes the "b".
std::string BytePairs(const std::string& options) {
  return R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
      "model": {"type": "BPE", )" +
         options + R"("vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "\u0120": 6,
                     "\u0120a": 7, "<0x64>": 8, "?": 9},
          "merges": ["a b", ["b", "c"], "a bc", "\u0120 a"]}})";
}

TEST(TokenizerJson, MergesPairsOfTokensAndNotOfBytes) {
  EXPECT_EQ(Encode(BytePairs(""), "abc"), (Tokens{3, 2}));
  EXPECT_EQ(Encode(BytePairs(""), "bc ab a"), (Tokens{4, 6, 3, 7}));
  EXPECT_EQ(Encode(BytePairs("\"ignore_merges\": true, "), "abc"), (Tokens{5}));
  // What is no token is left out, or unknown.
  EXPECT_EQ(Encode(BytePairs(""), "axb"), (Tokens{3}));
  EXPECT_EQ(Encode(BytePairs("\"unk_token\": \"?\", "), "axxb"), (Tokens{0, 9, 9, 1}));
  EXPECT_EQ(Encode(BytePairs("\"unk_token\": \"?\", \"fuse_unk\": true, "), "axxb"),
            (Tokens{0, 9, 1}));
  EXPECT_EQ(Encode(BytePairs("\"byte_fallback\": true, "), "adb"), (Tokens{0, 8, 1}));
  const std::string longer(100, 'x');
  EXPECT_EQ(Encode(BytePairs(""), "a" + longer + "b"), (Tokens{3}));
  EXPECT_EQ(Encode(BytePairs(""), ""), (Tokens{}));
  EXPECT_EQ(Encode(BytePairs(""), longer), (Tokens{}));
}

TEST(TokenizerJson, WordPiecesAreTheLongestOnes) {
  const std::string json = R"({"model": {"type": "WordPiece", "unk_token": "[UNK]",
      "continuing_subword_prefix": "##", "max_input_chars_per_word": 6,
      "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4, "unaf": 5, "##\u00e9": 6}}})";
  EXPECT_EQ(Encode(json, "unaff"), (Tokens{0}));  // "unaf" is taken, and "##f" is no token
  EXPECT_EQ(Encode(json, "una\u00e9"), (Tokens{1, 4, 6}));
  EXPECT_EQ(Encode(json, "unaaaa"), (Tokens{1, 4, 4, 4, 4}));
  EXPECT_EQ(Encode(json, "unaaaaa"), (Tokens{0}));
}

TEST(TokenizerJson, UnigramsHaveTheGreatestSum) {
  const std::string json = R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0.0],
      ["a", -2], ["b", -2.5], ["ab", -4], ["abc", -9], ["c", -4.5]]}})";
  EXPECT_EQ(Encode(json, "ab"), (Tokens{3}));
  EXPECT_EQ(Encode(json, "abc"), (Tokens{3, 5}));
  EXPECT_EQ(Encode(json, "axyb"), (Tokens{1, 0, 2}));
}

TEST(TokenizerJson, TokensAreFoundInText) {
  const std::string json = R"({"added_tokens": [
      {"id": 12, "content": "<s>", "single_word": false, "lstrip": true, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 7, "content": "ab", "single_word": true, "lstrip": false, "rstrip": true,
       "normalized": true, "special": false}],
      "normalizer": {"type": "Lowercase"},
      "post_processor": {"type": "TemplateProcessing", "single": [
          {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [12], "tokens": ["<s>"]}}},
      "truncation": {"direction": "Left", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
      )" + std::string(kWords) +
                           "}";
  const auto encoder = Parse(json);
  EncodeOptions plain;
  plain.with_template = false;
  EXPECT_EQ(Encode(*encoder, "a  <s>b", plain), (Tokens{1, 12, 2}));
  EXPECT_EQ(Encode(*encoder, "<s>AB  c", plain), (Tokens{12, 7, 3}));
  EXPECT_EQ(Encode(*encoder, "<s>AB1", plain), (Tokens{12, 0}));
  EXPECT_EQ(Encode(*encoder, "b"), (Tokens{12, 2}));
  EXPECT_EQ(Encode(*encoder, "a<s><s><s>b"), (Tokens{12, 12, 12, 2}));
  plain.specials = Specials::kText;
  EXPECT_EQ(Encode(*encoder, "<s>", plain), (Tokens{0}));
  plain.specials = Specials::kRefuse;
  EXPECT_EQ(Encode(*encoder, "AB", plain), (Tokens{7}));
  ExpectError(ErrorCode::kDataLoss, "the special token '<s>' at byte 1",
              [&] { Encode(*encoder, "a<s>", plain); });
  EXPECT_EQ(encoder->IdOf("<s>"), 12);
  EXPECT_EQ(encoder->IdOf("a"), 1);
  ExpectError(ErrorCode::kInvalidArgument, "there is no token '</s>'",
              [&] { encoder->IdOf("</s>"); });
}

TEST(TokenizerJson, TextMustBeUtf8) {
  ExpectError(ErrorCode::kDataLoss, "the text is not UTF-8 at byte 2",
              [] { Encode(WordsWith(""), "ab\xff"); });
}

TEST(TokenizerJson, NamesWhatIsNotSupported) {
  struct Case {
    std::string json, problem;
  };
  const std::vector<Case> cases = {
      {"{", "tokenizer.json: it is no JSON of a tokenizer"},
      {"{}", "it has no field 'model'"},
      {R"({"model": {"type": "Other"}})", "model: the model 'Other' is not supported"},
      {R"({"model": 3})", "model: it is no object"},
      {WordsWith(R"("normalizer": {"type": "Strip", "strip_left": true, "strip_right": false},
                     "pre_tokenizer": {"type": "Metaspace", "replacement": "_",
                                       "prepend_scheme": "first", "split": true})"),
       "the prepend_scheme 'first' is not supported after"},
      {WordsWith("\"surprise\": 1"), "the field 'surprise' is not supported"},
      {WordsWith("\"version\": \"2.0\""), "the version '2.0' is not supported"},
      {WordsWith("\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAA=\"}"),
       "normalizer.precompiled_charsmap: the map of characters (precompiled_charsmap) is damaged: "
       "it "
       "has 2 bytes"},
      {WordsWith("\"normalizer\": {\"type\": \"Unknown\"}"),
       "normalizer: the normalizer 'Unknown' is not supported"},
      {WordsWith("\"normalizer\": {\"type\": \"NFC\", \"form\": 2}"),
       "normalizer: the field 'form' is not supported"},
      {PreTokenizerOf(R"({"type": "Sequence", "pretokenizers": [{"type": "Other"}]})"),
       "pre_tokenizer.pretokenizers[0]: the pre-tokenizer 'Other' is not supported"},
      {PreTokenizerOf(R"({"type": "FixedLength", "length": 0})"), "pieces of 0 characters"},
      {PreTokenizerOf(R"({"type": "Split", "pattern": {"Regex": "\\b"}, "behavior": "Isolated"})"),
       "pre_tokenizer.pattern: the regular expression '\\b' is not supported: at character 1"},
      {PreTokenizerOf(R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Other"})"),
       "the behavior 'Other' is not supported"},
      {WordsWith(R"("post_processor": {"type": "Other"})"), "post_processor: the post-processor"},
      {WordsWith(R"("post_processor": {"type": "TemplateProcessing", "single": [], "pair": [],
                     "special_tokens": {}})"),
       "the template 'single' does not have the text, A"},
      {WordsWith(R"("padding": {"strategy": {"Fixed": 8}})"), "padding: padding to a length"},
      {WordsWith(R"("added_tokens": [{"id": 99, "content": "<s>", "single_word": false,
                     "lstrip": false, "rstrip": false, "normalized": false, "special": true}])"),
       "added_tokens[0]: the token '<s>' has the id 99, but tokenizers gives it the id 12"},
      {BytePairs("\"dropout\": 0.5, "), "model: 'dropout' is not supported"},
      {BytePairs("\"unk_token\": \"!\", "), "the unk_token '!' is no token"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})",
       "model.merges[0]: 'b' is no token of the vocabulary"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["ab"]}})", "'ab' is no merge"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})",
       "two tokens have the id 0"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 2147483648}, "merges": []}})",
       "model.vocab['a']: it is no whole number from 0 to 2147483647"},
      {R"({"model": {"type": "Unigram", "vocab": [["a"]]}})", "model.vocab[0]: it is no pair"},
      {R"({"type": "tiktoken", "pattern": "a", "special_tokens": {}, "ranks": "YQ== 0\n"})",
       "no token is the byte 0"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.json);
    ExpectError(ErrorCode::kDataLoss, one.problem, [&] { Parse(one.json); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "'b' and 'B' are the same when they are normalized", [] {
    const std::string one = R"("single_word": false, "lstrip": false, "rstrip": false,
                               "normalized": true, "special": false})";
    Parse(WordsWith(R"("normalizer": {"type": "Lowercase"}, "added_tokens": [
        {"id": 2, "content": "b", )" +
                    one + R"(, {"id": 12, "content": "B", )" + one + "]"));
  });
  ExpectError(ErrorCode::kResourceLimit, "a token of 5000 bytes", [] {
    Parse(R"({"model": {"type": "BPE", "merges": [], "vocab": {")" + std::string(5000, 'a') +
          "\": 0}}}");
  });
}

// An Encoding of tiktoken, as Python writes it.
TEST(TokenizerJson, EncodingsOfTiktokenHaveSpecialTokens) {
  std::string ranks = TiktokenFile({"ab"});
  std::string escaped;
  for (const char c : ranks) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  const auto encoder = Parse(R"({"type": "tiktoken", "pattern": "[a-z]+|<\\|",
      "special_tokens": {"<|end|>": 300}, "ranks": ")" +
                             escaped + "\"}");
  EXPECT_EQ(Encode(*encoder, "ab1<|end|>"), (Tokens{256, '<', '|', 'e', 'n', 'd'}));
  EXPECT_EQ(Encode(*encoder, "a\xff!b"), (Tokens{'a', 0xff, 'b'}));
  EncodeOptions options;
  options.specials = Specials::kAllow;
  EXPECT_EQ(Encode(*encoder, "ab<|end|>a", options), (Tokens{256, 300, 'a'}));
  options.specials = Specials::kRefuse;
  ExpectError(ErrorCode::kDataLoss, "the special token '<|end|>' at byte 2",
              [&] { Encode(*encoder, "ab<|end|>a", options); });
  EXPECT_EQ(encoder->IdOf("<|end|>"), 300);
}

// Any single damaged byte is an error, or another tokenizer.
TEST(TokenizerJson, DamageIsNoCrash) {
  const std::string json = BytePairs("");
  for (size_t i = 0; i < json.size(); ++i) {
    for (const char byte : {'\0', '"', '{', '0', '\xff'}) {
      std::string damaged = json;
      damaged[i] = byte;
      try {
        Encode(damaged, "abc ab a");
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::kDataLoss ||
                    error.code() == ErrorCode::kInvalidArgument)
            << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace millhopper
