// SPDX-License-Identifier: Apache-2.0
// Lines of Paddle's MultiSlotDataFeed.
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

Texts MultiSlot(const std::string& content, const std::vector<std::string>& fields,
                const std::string& others = "") {
  return TextsIn("multislot", content, fields, {{"others", others}});
}

void ExpectMultiSlotError(const std::string& content, const std::vector<std::string>& fields,
                          const std::string& words, const std::string& others = "") {
  SCOPED_TRACE(content);
  ExpectError(ErrorCode::kDataLoss, words, [&] { MultiSlot(content, fields, others); });
}

TEST(MultiSlot, ReadsSlotsInOrder) {
  const std::string content = "2 11 12 3 0.5 1 2 1 7\n1 13 3 1 2 3 1 8 \n\n";
  EXPECT_EQ(MultiSlot(content, {"ids int64[-1]", "dense float32[3]", "label int64[]"}),
            (Texts{"11 12 | 0.5 1.0 2.0 | 7", "13 | 1.0 2.0 3.0 | 8"}));
  EXPECT_EQ(MultiSlot(content, {"#2 int64[]", "#0 int64[-1] base=16"}),
            (Texts{"7 | 17 18", "8 | 19"}));
}

TEST(MultiSlot, TellsTheLineAndTheField) {
  const std::vector<std::string> fields = {"ids int64[-1]", "dense float32[3]"};
  ExpectMultiSlotError("1 1 3 1 2 3\n1 1 2 1 2\n", fields,
                       "field 'dense': it has 2 values, 3 are declared");
  ExpectMultiSlotError("1 1 3 1 2 3\n1 1 2 1 2\n", fields, "in line 2, which begins at byte 12");
  ExpectMultiSlotError("0 3 1 2 3", fields, "says that it has 0 values; a slot has one or more");
  ExpectMultiSlotError("-1 3 1 2 3", fields, "says that it has -1 values");
  ExpectMultiSlotError("9 3 1 2 3", fields, "9 values, but the line is too short");
  ExpectMultiSlotError("1 1 3   1 2", fields, "the line ends in its values");
  ExpectMultiSlotError("1 1", fields, "the line ends before slot #1");
  ExpectMultiSlotError("1 x 3 1 2 3", fields, "field 'ids': 'x' is no int64");
  ExpectMultiSlotError("x 1", {"#1 int64[]"}, "'x' is no int64");
  ExpectMultiSlotError("999999999999 1", {"#1 int64[]"}, "but the line is too short");
}

TEST(MultiSlot, GuessesFields) {
  const auto guess = [](const std::string& content) {
    const TempFile file("lines", content);
    return FindFileFormat("multislot")->guess_fields(file.path(), {}).entries;
  };
  const Texts fields = {"#0 int64[-1]", "#1 float64[3]", "#2 int64[]", "#3 uint64[]"};
  const std::string content =
      "# ids, dense, label, hash\n2 11 -12 3 0.5 1 2 1 7 1 5\r\n\n"
      "1 13 3 1 2 3 1 8 1 18446744073709551615\n";
  EXPECT_EQ(guess(content), fields);
  EXPECT_EQ(MultiSlot(content, fields),
            (Texts{"11 -12 | 0.5 1.0 2.0 | 7 | 5", "13 | 1.0 2.0 3.0 | 8 | 18446744073709551615"}));
  // A slot that is wrong ends its line; reading tells of it.
  EXPECT_EQ(guess("1 7 x\n1 8 2 1\n1 9 1 1\n"), (Texts{"#0 int64[]", "#1 int64[]"}));
  EXPECT_EQ(guess("99999999 7\n0\n-1 3\n"), Texts{});
  EXPECT_EQ(guess(""), Texts{});
}

TEST(MultiSlot, RefusesSlotsThatNoFieldNames) {
  EXPECT_EQ(MultiSlot("1 7 1 8\n", {"#1 int64[]"}), Texts{"8"});
  EXPECT_EQ(MultiSlot("1 7\n", {"#0 int64[]"}, "error"), Texts{"7"});
  ExpectMultiSlotError("1 7\n1 7 1 8\n", {"#0 int64[]"},
                       "the line has a slot #1, which no field names: add the field \"#1 "
                       "float64[-1]\", or others \"ignore\" leaves out what no field names",
                       "error");
  ExpectMultiSlotError("1 7 1 8\n", {"#1 int64[]"}, "the line has a slot #0", "error");
}

TEST(MultiSlot, RefusesWrongFields) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  ExpectError(code, "this format needs the attribute fields", [] { MultiSlot("", {}); });
  EXPECT_EQ(MultiSlot("1 7 2 0.5 8\n", {}), Texts{"7 | 0.5 8.0"});
  ExpectError(code, "bytes and decode= are not for it", [] { MultiSlot("1 1", {"a bytes"}); });
  ExpectError(code, "missing=skip is not for it",
              [] { MultiSlot("1 1", {"a int64[] missing=skip"}); });
  ExpectError(code, "slot #0 is named twice", [] {
    MultiSlot("1 1", {"a int64[]", "#0 int64[]"});
  });
  ExpectError(code, "is named #0, #1", [] { MultiSlot("1 1", {"#x int64[]"}); });
}

}  // namespace
}  // namespace millhopper
