// SPDX-License-Identifier: Apache-2.0
// hash_bucket.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "readers/fields/fields.h"
#include "tests/operators/run_op.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::vector<int64_t> Buckets(const std::vector<std::string>& words, int64_t buckets) {
  RunOpOptions options;
  options.dims_by_values = true;  // by levels of detail
  const auto outs =
      RunOp("hash_bucket", {{"X", TextsOf(words)}}, {"Out"}, {{"buckets", buckets}}, options);
  return ValuesOf<int64_t>(outs.at("Out"));
}

TEST(HashBucketOp, IsTheHashOfFields) {
  const std::vector<std::string> words = {"", "a", "Oslo", std::string(300, '\xff'), "Oslo"};
  for (const int64_t buckets : {int64_t{1}, int64_t{1000003}, int64_t{1} << 62}) {
    const Field field = ParseFields({"x int64[] hash=" + std::to_string(buckets)})[0];
    const std::vector<int64_t> numbers = Buckets(words, buckets);
    ASSERT_EQ(numbers.size(), words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      int64_t expected = -1;
      field.ReadAll(words[i], reinterpret_cast<char*>(&expected));
      EXPECT_EQ(numbers[i], expected) << words[i];
    }
  }
}

// The value of the reference implementation for no bytes.
TEST(HashBucketOp, IsXxh64) {
  EXPECT_EQ(Buckets({""}, 0x7fffffffffffffff),
            (std::vector<int64_t>{static_cast<int64_t>(0xef46db3751d8e999 % 0x7fffffffffffffff)}));
}

TEST(HashBucketOp, TheEmptyWordMayHaveANumberOfItsOwn) {
  RunOpOptions options;
  options.dims_by_values = true;
  const auto outs = RunOp("hash_bucket", {{"X", TextsOf({"a", "", "b"})}}, {"Out"},
                          {{"buckets", int64_t{9}}, {"null", int64_t{9}}}, options);
  std::vector<int64_t> expected = Buckets({"a", "", "b"}, 9);
  expected[1] = 9;
  EXPECT_EQ(ValuesOf<int64_t>(outs.at("Out")), expected);
}

TEST(HashBucketOp, RefusesWhatDoesNotFit) {
  ExpectRefused("it must be at least 1", "hash_bucket", {{"X", TextsOf({"a"})}}, {"Out"},
                {{"buckets", int64_t{0}}});
  ExpectRefused("text is uint8 [n]", "hash_bucket", {{"X", MakeTensor<int64_t>({1}, {1})}}, {"Out"},
                {{"buckets", int64_t{2}}});
}

}  // namespace
}  // namespace millhopper
