// SPDX-License-Identifier: Apache-2.0
// lookup.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "framework/memory/attempt.h"
#include "tests/operators/run_op.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

Attributes With(const TempFile& file) { return {{"vocab", file.path()}}; }

LoDTensor Lookup(const LoDTensor& x, const Attributes& attributes) {
  RunOpOptions options;
  options.dims_by_values = true;  // by levels of detail
  return RunOp("lookup", {{"X", x}}, {"Out"}, attributes, options).at("Out");
}

TEST(LookupOp, GivesWordsTheNumbersOfTheirLines) {
  const TempFile file("words.txt", "to\nbe\r\n\nnot\xff");
  const LoDTensor out = Lookup(TextsOf({"not\xff", "", "to", "be", "to"}), With(file));
  EXPECT_EQ(out.dims(), (Dims{5}));
  EXPECT_TRUE(out.lod().empty());
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{3, 2, 0, 1, 0}));
}

TEST(LookupOp, KeepsOuterLevels) {
  const TempFile file("words.txt", "a\nb\n");
  const LoDTensor x = MakeTensor<uint8_t>({3}, {'b', 'a', 'b'}, {{0, 2, 3}, {0, 1, 2, 3}});
  const LoDTensor out = Lookup(x, With(file));
  EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(out.lod(), (Lod{{0, 2, 3}}));
  const LoDTensor one = Lookup(MakeTensor<uint8_t>({1}, {'b'}), With(file));
  EXPECT_EQ(one.dims(), (Dims{1}));
}

TEST(LookupOp, RefusesOtherWordsUnlessThereIsADefault) {
  const TempFile file("words.txt", "a\nb\n");
  const LoDTensor x = TextsOf({"a", "c\n"});
  ExpectError(ErrorCode::kDataLoss, "'c\\n' is none of the 2 words of the vocabulary '",
              [&] { Lookup(x, With(file)); });
  for (const int64_t other : {int64_t{-1}, int64_t{0}, int64_t{7}}) {
    Attributes attributes = With(file);
    attributes.emplace_back("default", other);
    EXPECT_EQ(ValuesOf<int64_t>(Lookup(x, attributes)), (std::vector<int64_t>{0, other}));
  }
}

TEST(LookupOp, BeginsWithAnyNumber) {
  const TempFile file("words.txt", "a\nb\n");
  Attributes attributes = With(file);
  attributes.emplace_back("first", int64_t{2});
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf({"b", "a"}), attributes)),
            (std::vector<int64_t>{3, 2}));
  attributes.emplace_back("default", int64_t{1});
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf({"b", "c"}), attributes)),
            (std::vector<int64_t>{3, 1}));
}

TEST(LookupOp, OtherWordsHaveBuckets) {
  const TempFile file("words.txt", "a\nb\n");
  const std::vector<std::string> words = {"a", "c", "dog", "b", "", "c"};
  RunOpOptions by_values;
  by_values.dims_by_values = true;
  const auto hashes = ValuesOf<int64_t>(
      RunOp("hash_bucket", {{"X", TextsOf(words)}}, {"Out"}, {{"buckets", int64_t{10}}}, by_values)
          .at("Out"));
  Attributes attributes = With(file);
  attributes.emplace_back("first", int64_t{100});
  attributes.emplace_back("num_oov_buckets", int64_t{10});
  const auto numbers = [&](int64_t others) {
    return std::vector<int64_t>{100, others + hashes[1], others + hashes[2],
                                101, others + hashes[4], others + hashes[5]};
  };
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf(words), attributes)), numbers(102));
  attributes.emplace_back("default", int64_t{1});
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf(words), attributes)), numbers(1));
}

TEST(LookupOp, TellsNullFromOtherWords) {
  const TempFile file("words.txt", "a\n\nb\n");
  Attributes attributes = With(file);
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf({"", "b"}), attributes)),
            (std::vector<int64_t>{1, 2}));
  attributes.emplace_back("null", int64_t{-5});
  attributes.emplace_back("default", int64_t{9});
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf({"", "b", "c"}), attributes)),
            (std::vector<int64_t>{-5, 2, 9}));
}

TEST(LookupOp, SaysWhatIsWrongWithAFile) {
  const LoDTensor x = TextsOf({"a"});
  const TempFile twice("twice.txt", "a\nb\na\n");
  ExpectError(ErrorCode::kDataLoss, "line 3: the word 'a' stands in line 1, too",
              [&] { Lookup(x, With(twice)); });
  const TempFile empty("empty.txt", "");
  ExpectError(ErrorCode::kDataLoss, "the vocabulary is empty", [&] { Lookup(x, With(empty)); });
  ExpectError(ErrorCode::kIo, "missing.txt", [&] {
    Lookup(x, {{"vocab", TempName("missing.txt")}});
  });
  Attributes far = With(twice);
  far.emplace_back("first", int64_t{1} << 62);
  ExpectRefused("attribute 'first' is 4611686018427387904", "lookup", {{"X", x}}, {"Out"}, far);
  ExpectRefused("text is uint8 [n]", "lookup", {{"X", MakeTensor<float>({1}, {1})}}, {"Out"},
                With(empty));
}

TEST(LookupOp, ReadsAFileThatHasChanged) {
  const std::string path = TempName("changing.txt");
  const auto number_of_a = [&] {
    const LoDTensor out = Lookup(TextsOf({"a"}), {{"vocab", path}});
    return ValuesOf<int64_t>(out)[0];
  };
  WriteFile(path, "a\n");
  EXPECT_EQ(number_of_a(), 0);
  WriteFile(path, "b\na\n");
  EXPECT_EQ(number_of_a(), 1);
}

TEST(LookupOp, IsRunByManyThreads) {
  const TempFile file("words.txt", "a\nb\n");
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const LoDTensor out = Lookup(TextsOf({"b"}), With(file));
        EXPECT_EQ(ValuesOf<int64_t>(out), (std::vector<int64_t>{1}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LookupOp, CountsItsVocabularyTowardsTheMemoryLimit) {
  std::string words;
  for (int i = 0; i < 50000; ++i) words += StrCat("word number ", i, "\n");
  const TempFile file("words.txt", words);
  const LoDTensor x = TextsOf({"word number 7"});
  {
    const LimitInForce limit(1 << 20);
    ExpectError(ErrorCode::kResourceLimit, "memory limit", [&] { Lookup(x, With(file)); });
  }
  const LimitInForce limit(64 << 20);
  const size_t before = MemoryLimit::needed();
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(x, With(file))), (std::vector<int64_t>{7}));
  // It is kept until another file is loaded.
  EXPECT_GE(MemoryLimit::needed(), before + words.size() + 50000 * sizeof(std::string_view));
  const TempFile small("small.txt", "a\n");
  Lookup(TextsOf({"a"}), With(small));
  EXPECT_LT(MemoryLimit::needed(), before + words.size());
}

// What is kept for ever is loaded only by a thread that needs it.
TEST(LookupOp, LoadsNoVocabularyAheadOfNeed) {
  const TempFile file("words.txt", "a\nb\n");
  const LimitInForce limit(64 << 20);
  const Ref<MemoryAccount> account(new MemoryAccount);
  {
    const MemoryScope ahead(account, MemoryScope::Need::kAhead);
    const Attempt loading([&] { Lookup(TextsOf({"b"}), With(file)); });
    EXPECT_EQ(loading.outcome(), Attempt::Outcome::kRefused);
  }
  EXPECT_EQ(ValuesOf<int64_t>(Lookup(TextsOf({"b"}), With(file))), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace millhopper
