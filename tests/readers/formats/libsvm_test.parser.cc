// SPDX-License-Identifier: Apache-2.0
// LIBSVM's lines: sparse and dense, labels, groups, errors with their line, real files.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

Texts Libsvm(const std::string& content, const std::vector<std::string>& fields,
             const std::vector<std::pair<std::string, Attribute>>& attributes = {}) {
  return TextsIn("libsvm", content, fields, attributes);
}

void ExpectLibsvmError(const std::string& content, const std::string& field,
                       const std::string& words) {
  SCOPED_TRACE(content + " " + field);
  ExpectError(ErrorCode::kDataLoss, words, [&] { Libsvm(content, {field}); });
}

TEST(Libsvm, ReadsLabelsIndicesAndValues) {
  const std::string content = "+1 1:0.5 13:-2\t20:1e2 \n\n# no record\n-1\n2 3:1 # end 4:5\n";
  EXPECT_EQ(Libsvm(content, {}),
            (Texts{"1.0 | 1 13 20 | 0.5 -2.0 100.0", "-1.0 |  | ", "2.0 | 3 | 1.0"}));
  EXPECT_EQ(Libsvm(content, {"value float64[-1]", "label int32[]"}),
            (Texts{"0.5 -2.0 100.0 | 1", " | -1", "1.0 | 2"}));
}

TEST(Libsvm, EndsLinesAtCrAloneAndPassesOverTheMarkOfUtf8) {
  const Texts expected = {"1.0 | 1 | 5.0", "2.0 |  | ", "3.0 | 2 | 1.0"};
  for (const char* const content :
       {"1 1:5\r2\r3 2:1\r", "1 1:5 # end\r# no record\r\r2\r\n3 2:1\r", "1 1:5\n2\n3 2:1\r",
        "\xef\xbb\xbf"
        "1 1:5\r2\r3 2:1",
        "\xef\xbb\xbf"
        "# no record\n1 1:5\n2\n3 2:1\n"}) {
    EXPECT_EQ(Libsvm(content, {}), expected) << content;
  }
  ExpectLibsvmError("1 1:1\r\rx 1:1\r", "label float32[]", "in line 3, which begins at byte 7");
  EXPECT_EQ(TextsIn("multislot",
                    "\xef\xbb\xbf"
                    "1 5\r1 6\r",
                    {"#0 int64[1]"}),
            (Texts{"5", "6"}));
  EXPECT_EQ(TextsIn("ctr_svm",
                    "\xef\xbb\xbf"
                    "1 5:7\r0 6:7\r",
                    {"label int64[]", "7 int64[-1]"}),
            (Texts{"1 | 5", "0 | 6"}));
}

TEST(Libsvm, ReadsGroupsAndSeveralLabels) {
  EXPECT_EQ(Libsvm("2,5 qid:7 1:1\n1 1:1\n", {"label int64[-1]", "qid int64[] default=-1"}),
            (Texts{"2 5 | 7", "1 | -1"}));
  EXPECT_EQ(Libsvm("2 qid:7 1:1\n1 1:1\n", {"label int64[]", "qid int64[] missing=skip"}),
            (Texts{"2 | 7"}));
  ExpectLibsvmError("1 1:1", "qid int64[]", "field 'qid': the line has no qid:");
}

// Nothing is left out in silence, and numbers keep their digits.
TEST(Libsvm, WithoutFieldsHasGroups) {
  EXPECT_EQ(Libsvm("2 qid:7 1:0.123456789\n1 qid:8 1:1\n", {}),
            (Texts{"2.0 | 7 | 1 | 0.123456789", "1.0 | 8 | 1 | 1.0"}));
  EXPECT_EQ(Libsvm("2 qid:7 1:1\n1 1:1\n", {}),
            (Texts{"2.0 | 7 | 1 | 1.0 | true", "1.0 | 0 | 1 | 1.0 | false"}));
  std::string later;
  for (int i = 0; i < 200000; ++i) later += "1 1:1\n";
  later = StrCat(later, "1 qid:3 1:1\n", later, later);  // where no sample is taken
  ExpectError(ErrorCode::kDataLoss,
              "the line has a qid:, which no field names: add the field \"qid int64[]\"",
              [&] { Libsvm(later, {}); });
  EXPECT_EQ(Libsvm(later, {}, {{"others", std::string("ignore")}}).size(), 600001u);
}

TEST(Libsvm, FillsDenseFeatures) {
  EXPECT_EQ(Libsvm("1 1:5 3:7\n0\n", {"dense float32[3]"}), (Texts{"5.0 0.0 7.0", "0.0 0.0 0.0"}));
  EXPECT_EQ(Libsvm("1 1:5\n", {"dense int64[3] default=-1"}, {{"first_index", int32_t{0}}}),
            (Texts{"-1 5 -1"}));
  ExpectLibsvmError("1 4:1", "dense float32[3]", "the index 4 is not in 1 to 3, which float32");
  ExpectLibsvmError("1 0:1", "dense float32[3]", "the index 0 is not in 1 to 3");
}

TEST(Libffm, ReadsFieldsIndicesAndValues) {
  const std::string content = "1 0:3:0.5 12:40:-2\n\n0 # end 1:2:3\n0 1:2:1e2\n";
  EXPECT_EQ(TextsIn("libffm", content, {}),
            (Texts{"1.0 | 0 12 | 3 40 | 0.5 -2.0", "0.0 |  |  | ", "0.0 | 1 | 2 | 100.0"}));
  EXPECT_EQ(TextsIn("libffm", content, {"index int32[-1]", "field int32[-1]", "label int64[]"}),
            (Texts{"3 40 | 0 12 | 1", " |  | 0", "2 | 1 | 0"}));
}

// As in libsvm: what is inferred keeps its digits, and declared slots are float32.
TEST(Libffm, WithoutFieldsKeepsDigits) {
  const TempFile file("a.ffm", "0.1 2:3:0.123456789\n");
  const FormatSchema& format = *FindFileFormat("libffm");
  const auto inferred = OpenFile(format, file.path(), "", {});
  ASSERT_EQ(inferred->slots().size(), 4u);
  EXPECT_EQ(inferred->slots()[0].dtype, DataType::kFp64);
  EXPECT_EQ(inferred->slots()[3].dtype, DataType::kFp64);
  EXPECT_EQ(TextsOf(inferred.get()), Texts{"0.1 | 2 | 3 | 0.123456789"});
  FormatArguments arguments;
  arguments.declared = inferred->slots();
  for (const size_t slot : {0, 3}) arguments.declared[slot].dtype = DataType::kFp32;
  const auto declared = OpenFile(format, file.path(), "", arguments);
  EXPECT_EQ(declared->slots()[3].dtype, DataType::kFp32);
  EXPECT_EQ(TextsOf(declared.get()), Texts{"0.1 | 2 | 3 | 0.12345679"});
}

TEST(Libffm, TellsWhatIsWrong) {
  const auto expect = [](const std::string& content, const std::string& words) {
    ExpectError(ErrorCode::kDataLoss, words, [&] { TextsIn("libffm", content, {}); });
  };
  expect("1 2:3:1\n1 2:3\n", "'2:3' is no field:index:value");
  expect("1 2:3:1\n1 2:3\n", "in line 2, which begins at byte 8");
  expect("1 23\n", "'23' is no field:index:value");
  expect("1 2::1\n", "field 'index': '' is no int64");
  expect("1 qid:2:1\n", "field 'field': 'qid' is no int64");
  ExpectError(ErrorCode::kInvalidArgument, "a line of libffm has only label, field, index, value",
              [] { TextsIn("libffm", "", {"dense float32[3]"}); });
  ExpectError(ErrorCode::kInvalidArgument, "a line of libsvm has only",
              [] { TextsIn("libsvm", "", {"field int64[-1]"}); });
}

TEST(Libsvm, TellsTheLine) {
  ExpectLibsvmError("1 1:1\n\nx 1:1\n", "label float32[]", "field 'label': 'x' is no float32");
  ExpectLibsvmError("1 1:1\n\nx 1:1\n", "label float32[]", "in line 3, which begins at byte 7");
  ExpectLibsvmError("1 11", "value float32[-1]", "'11' is no index:value");
  ExpectLibsvmError("1 1:", "value float32[-1]", "'' is no float32");
  ExpectLibsvmError("1 1.5:2", "index int64[-1]", "'1.5' is no int64");
  ExpectLibsvmError("1,2 1:2", "label int64[]", "it has 2 values, 1 is declared");
}

TEST(Libsvm, RefusesWrongFields) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"labels int64[]", "a line of libsvm has only label, qid, index, value, dense"},
      {"index int64[]", "its dims are [-1]"},
      {"value float32[-1,2]", "its dims are [-1]"},
      {"dense float32[-1]", "its dims say how many"},
      {"label bytes", "a line of libsvm has numbers"},
      {"qid int64[2]", "it is one number"}};
  for (const auto& [field, words] : wrong) {
    ExpectError(ErrorCode::kInvalidArgument, words,
                [&, &field = field] { Libsvm("1\n", {field}); });
  }
}

TEST(Libsvm, ReadsRealFiles) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const auto reader = FieldReader("libsvm", TestData() + "/libsvm/heart_scale", {});
  int64_t positive = 0, values = 0, indices = 0;
  const std::vector<LoDTensor> none;
  std::vector<LoDTensor> element;
  int64_t records = 0;
  for (; reader->HasNext(); ++records) {
    reader->ReadNext(&element);
    positive += ValuesOf<double>(element[0])[0] > 0 ? 1 : 0;
    values += element[2].numel();
    for (const int64_t index : ValuesOf<int64_t>(element[1])) indices += index;
  }
  EXPECT_EQ(records, 270);
  EXPECT_EQ(positive, 120);
  EXPECT_EQ(values, 3378);
  EXPECT_EQ(indices, 23197);
}

}  // namespace
}  // namespace millhopper
