// SPDX-License-Identifier: Apache-2.0
// tokenize; what the tokens are is tested in byte_pairs_test, pieces_test and token_files_test.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "framework/memory/memory_limit.h"
#include "tests/operators/run_op.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Tokenize(const LoDTensor& x, const Attributes& attributes) {
  RunOpOptions options;
  options.dims_by_values = true;
  return RunOp("tokenize", {{"X", x}}, {"Out"}, attributes, options).at("Out");
}

Attributes Bpe(const TempFile& file, const std::string& pattern = "gpt2") {
  return {{"mode", std::string("bpe")}, {"merges", file.path()}, {"pattern", pattern}};
}

TEST(TokenizeOp, GivesBytes) {
  const LoDTensor out =
      RunOp("tokenize", {{"X", TextsOf({"a\xff", "", "b"})}}, {"Out"}, {}).at("Out");
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{'a', 255, 'b'}));
  EXPECT_EQ(out.lod(), (Lod{{0, 2, 2, 3}}));
}

TEST(TokenizeOp, MergesBytesOfEachText) {
  const TempFile file("t.tiktoken", TiktokenFile({"th", "the", " the", "12"}));
  const LoDTensor x = TextsOf({"the the", "", "th", "e 1234"});
  const LoDTensor out = Tokenize(x, Bpe(file));
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{257, 258, 256, 'e', ' ', 259, '3', '4'}));
  EXPECT_EQ(out.lod(), (Lod{{0, 2, 2, 3, 8}}));
  Attributes narrow = Bpe(file, "cl100k");
  narrow.emplace_back("dtype", int32_t{2});
  EXPECT_EQ(ValuesOf<int32_t>(Tokenize(x, narrow)),
            (std::vector<int32_t>{257, 258, 256, 'e', ' ', 259, '3', '4'}));
  EXPECT_EQ(ValuesOf<int64_t>(Tokenize(TextsOf({"a the"}), Bpe(file, "none"))),
            (std::vector<int64_t>{'a', 258}));
}

TEST(TokenizeOp, KeepsOuterLevelsAndGivesOneWhereThereIsNone) {
  const TempFile file("t.tiktoken", TiktokenFile({"ab"}));
  const LoDTensor deep = MakeTensor<uint8_t>({3}, {'a', 'b', 'c'}, {{0, 2}, {0, 2, 3}});
  EXPECT_EQ(Tokenize(deep, Bpe(file)).lod(), (Lod{{0, 2}, {0, 1, 2}}));
  const LoDTensor one = Tokenize(MakeTensor<uint8_t>({2}, {'a', 'b'}), Bpe(file));
  EXPECT_EQ(one.lod(), (Lod{{0, 1}}));
  EXPECT_EQ(ValuesOf<int64_t>(one), (std::vector<int64_t>{256}));
  EXPECT_EQ(Tokenize(TextsOf({}), Bpe(file)).dims(), (Dims{0}));
}

TEST(TokenizeOp, EndsEachTextWithAToken) {
  const TempFile file("t.tiktoken", TiktokenFile({"ab"}));
  for (Attributes attributes : {Attributes{}, Bpe(file)}) {
    attributes.emplace_back("eos", int32_t{50256});
    const LoDTensor out = Tokenize(TextsOf({"a", "", "bc"}), attributes);
    EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{'a', 50256, 50256, 'b', 'c', 50256}));
    EXPECT_EQ(out.lod(), (Lod{{0, 2, 3, 6}}));
    const LoDTensor one = Tokenize(MakeTensor<uint8_t>({1}, {'c'}), attributes);
    EXPECT_EQ(ValuesOf<int64_t>(one), (std::vector<int64_t>{'c', 50256}));
    EXPECT_EQ(one.lod(), (Lod{{0, 2}}));
    EXPECT_EQ(Tokenize(TextsOf({}), attributes).dims(), (Dims{0}));
  }
}

TEST(TokenizeOp, BeginsEachTextWithAToken) {
  const TempFile file("t.tiktoken", TiktokenFile({"ab"}));
  for (Attributes attributes : {Attributes{}, Bpe(file)}) {
    attributes.emplace_back("bos", int32_t{7});
    attributes.emplace_back("eos", int32_t{8});
    const LoDTensor out = Tokenize(TextsOf({"a", "", "bc"}), attributes);
    EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{7, 'a', 8, 7, 8, 7, 'b', 'c', 8}));
    EXPECT_EQ(out.lod(), (Lod{{0, 3, 5, 9}}));
  }
}

constexpr char kWords[] = R"({"added_tokens": [{"id": 2, "content": "<s>", "single_word": false,
      "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
    "post_processor": {"type": "BertProcessing", "sep": ["b", 1], "cls": ["<s>", 2]},
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1}}})";

TEST(TokenizeOp, TakesATokenizerOfHuggingFace) {
  const TempFile file("tokenizer.json", kWords);
  const Attributes attributes = {{"mode", std::string("bpe")}, {"merges", file.path()}};
  const LoDTensor x = TextsOf({"b b", "", "a <s>b"});
  const LoDTensor out = Tokenize(x, attributes);
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{2, 1, 1, 1, 2, 1, 2, 0, 2, 1, 1}));
  EXPECT_EQ(out.lod(), (Lod{{0, 4, 6, 11}}));
  Attributes plain = attributes;
  plain.emplace_back("add_special_tokens", false);
  plain.emplace_back("bos_token", std::string("<s>"));
  plain.emplace_back("eos", int32_t{9});
  plain.emplace_back("special", std::string("text"));
  EXPECT_EQ(ValuesOf<int64_t>(Tokenize(x, plain)),
            (std::vector<int64_t>{2, 1, 1, 9, 2, 9, 2, 0, 0, 9}));
  EXPECT_EQ(Tokenize(TextsOf({}), attributes).dims(), (Dims{0}));
}

TEST(TokenizeOp, TakesMergesAndTheirVocabulary) {
  const TempFile merges("merges.txt", "#version: 0.2\nt h\n");
  EXPECT_EQ(ValuesOf<int64_t>(Tokenize(TextsOf({"th!"}), Bpe(merges))),
            (std::vector<int64_t>{256, 0}));
}

TEST(TokenizeOp, IsRunByManyThreads) {
  const TempFile file("t.tiktoken", TiktokenFile({"ab"}));
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(ValuesOf<int64_t>(Tokenize(TextsOf({"abab c"}), Bpe(file))),
                  (std::vector<int64_t>{256, 256, ' ', 'c'}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TokenizeOp, RefusesWhatDoesNotFit) {
  const LoDTensor x = TextsOf({"a"});
  const std::string bpe = "bpe";
  ExpectRefused("mode bpe needs the attribute 'merges'", "tokenize", {{"X", x}}, {"Out"},
                {{"mode", bpe}});
  ExpectRefused("attribute 'merges' is for the mode bpe", "tokenize", {{"X", x}}, {"Out"},
                {{"merges", std::string("f")}});
  ExpectRefused("attribute 'vocab' is for 'merges'", "tokenize", {{"X", x}}, {"Out"},
                {{"vocab", std::string("f")}});
  ExpectRefused("attribute 'special' is for 'merges'", "tokenize", {{"X", x}}, {"Out"},
                {{"special", std::string("allow")}});
  ExpectRefused("'eos' and 'eos_token' are two names of one token", "tokenize", {{"X", x}}, {"Out"},
                {{"mode", bpe},
                 {"merges", std::string("f")},
                 {"eos", int32_t{1}},
                 {"eos_token", std::string("</s>")}});
  ExpectRefused("attribute 'dtype' is float32", "tokenize", {{"X", x}}, {"Out"},
                {{"dtype", int32_t{5}}});
  ExpectRefused("text is uint8 [n]", "tokenize", {{"X", MakeTensor<int64_t>({1}, {1})}}, {"Out"});
  const auto refused = [&](const std::string& text, Attributes more, const char* problem) {
    const TempFile file("tokens", text);
    more.emplace_back("mode", bpe);
    more.emplace_back("merges", file.path());
    ExpectError(ErrorCode::kInvalidArgument, problem, [&] { Tokenize(x, more); });
  };
  refused(kWords, {{"pattern", std::string("gpt2")}}, "this one has its own");
  refused(kWords, {{"vocab", std::string("f")}}, "'vocab' is for a file of merges");
  refused(TiktokenFile({}), {{"special", std::string("allow")}}, "this one has none");
  refused(TiktokenFile({}), {{"eos_token", std::string("</s>")}}, "there is no token '</s>'");
  const TempFile damaged("damaged.tiktoken", "YQ== x\n");
  ExpectError(ErrorCode::kDataLoss, "damaged.tiktoken: line 1: 'x' is no rank",
              [&] { Tokenize(x, Bpe(damaged)); });
}

TEST(TokenizeOp, CountsItsTokensTowardsTheMemoryLimit) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 30000; ++i) tokens.push_back(StrCat("a long token, number ", i));
  const TempFile file("t.tiktoken", TiktokenFile(tokens));
  const LoDTensor x = TextsOf({"a"});
  {
    const LimitInForce limit(2 << 20);
    ExpectError(ErrorCode::kResourceLimit, "memory limit", [&] { Tokenize(x, Bpe(file)); });
  }
  const LimitInForce limit(64 << 20);
  const size_t before = MemoryLimit::needed();
  Tokenize(x, Bpe(file));
  EXPECT_GE(MemoryLimit::needed(), before + 30000 * tokens[0].size());
}

}  // namespace
}  // namespace millhopper
