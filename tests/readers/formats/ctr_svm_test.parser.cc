// SPDX-License-Identifier: Apache-2.0
// Lines of the "svm" form of Paddle's CTR reader; the "csv" form, too, which `csv` reads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

Texts CtrSvm(const std::string& content, const std::vector<std::string>& fields,
             const std::string& others = "") {
  return TextsIn("ctr_svm", content, fields, {{"others", others}});
}

TEST(CtrSvm, ReadsSignsBySlot) {
  EXPECT_EQ(CtrSvm("3 11:101 12:102 13:101\n0 14:102 99:7\n-2 15:101\n",
                   {"101 int64[-1] default=0", "102 int64[-1] default=0", "label int64[]"}),
            (Texts{"11 13 | 12 | 1", "0 | 14 | 0", "15 | 0 | 0"}));
  EXPECT_EQ(CtrSvm("1 11:101\n0 12:102\n", {"101 int64[-1] missing=skip"}), (Texts{"11"}));
}

TEST(CtrSvm, TellsTheLine) {
  const auto expect = [](const std::string& content, const std::string& words) {
    ExpectError(ErrorCode::kDataLoss, words, [&] {
      CtrSvm(content, {"label int64[]", "101 int64[-1]"});
    });
  };
  expect("1 11:101\nx 11:101\n", "field 'label': 'x' is no int64");
  expect("1 11:101\nx 11:101\n", "in line 2, which begins at byte 9");
  expect("1 11:102", "field '101': the line has no sign of it");
  expect("1 y:101", "field '101': 'y' is no int64");
  expect("1 11", "'11' is no feasign:slot");
}

TEST(CtrSvm, GuessesFields) {
  const auto guess = [](const std::string& content) {
    const TempFile file("lines", content);
    return FindFileFormat("ctr_svm")->guess_fields(file.path(), {}).entries;
  };
  const std::string content = "1 11:101 12:7 9:101 18446744073709551615:8\n\n0 14:101 0.5:a\n";
  const Texts fields = {"label int64[]", "7 int64[-1] missing=default",
                        "8 uint64[-1] missing=default", "a float64[-1] missing=default",
                        "101 int64[-1]"};
  EXPECT_EQ(guess(content), fields);
  EXPECT_EQ(CtrSvm(content, fields),
            (Texts{"1 | 12 | 18446744073709551615 |  | 11 9", "0 |  |  | 0.5 | 14"}));
  // What is wrong is no slot; reading tells of it.
  EXPECT_EQ(guess("1 11 :7 7: 8:label 9:x\n"), (Texts{"label int64[]", "x int64[-1]"}));
  EXPECT_EQ(guess(""), Texts{"label int64[]"});
}

TEST(CtrSvm, RefusesSlotsThatNoFieldNames) {
  const std::string content = "1 11:101\n1 12:101 13:102\n";
  EXPECT_EQ(CtrSvm(content, {"101 int64[-1]"}), (Texts{"11", "12"}));
  const auto read = [&] { CtrSvm(content, {"101 int64[-1]"}, "error"); };
  ExpectError(ErrorCode::kDataLoss,
              "the line has the slot '102', which no field names: add the field \"102 int64[-1] "
              "missing=default\", or others \"ignore\" leaves out what no field names",
              read);
  try {
    read();
  } catch (const Error& error) {  // there is no infer "all"
    EXPECT_EQ(error.message().find("infer"), std::string::npos) << error.message();
  }
}

TEST(CtrSvm, RefusesWrongFields) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  EXPECT_EQ(CtrSvm("1 11:101\n", {}), Texts{"1 | 11"});
  ExpectError(code, "its dims are [-1]", [] { CtrSvm("1", {"101 int64[]"}); });
  ExpectError(code, "it is one number", [] { CtrSvm("1", {"label int64[-1]"}); });
  ExpectError(code, "it is named twice", [] { CtrSvm("1", {"7 int64[-1]", "7 int64[-1]"}); });
}

// lineage.md 1.3: the first field is the label; each field is a list of numbers with commas.
TEST(CtrCsv, IsCsvWithBlanksAndCommas) {
  EXPECT_EQ(TextsIn("csv", "1 0.5,1.5 11,12 13\n0 2,3 14 15,16\n",
                    {"#0 int64[]", "#1 float32[2]", "#2 int64[-1]", "#3 int64[-1]"},
                    {{"delimiter", std::string(" ")}, {"separator", std::string(",")}}),
            (Texts{"1 | 0.5 1.5 | 11 12 | 13", "0 | 2.0 3.0 | 14 | 15 16"}));
}

}  // namespace
}  // namespace millhopper
