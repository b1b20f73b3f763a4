// SPDX-License-Identifier: Apache-2.0
// Lines of JSON: names and pointers, shapes, text, missing values, errors with their line.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "tests/bytes.h"
#include "tests/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

Texts Jsonl(const std::string& content, const std::vector<std::string>& fields) {
  return TextsIn("jsonl", content, fields);
}

void ExpectJsonlError(const std::string& content, const std::string& field,
                      const std::string& words) {
  SCOPED_TRACE(content + " " + field);
  ExpectError(ErrorCode::kDataLoss, words, [&] { Jsonl(content, {field}); });
}

TEST(Jsonl, ReadsKeysAndPointers) {
  EXPECT_EQ(Jsonl("{\"label\": 3, \"user\": {\"id\": 7, \"a/b\": 1.5}, \"list\": [4, 5]}\n"
                  "{\"user\": {\"a/b\": 2, \"id\": 8}, \"label\": 4, \"list\": [6]}",
                  {"label int64[]", "/user/id int32[]", "/user/a~1b float32[]", "/list/0 int64[]"}),
            (Texts{"3 | 7 | 1.5 | 4", "4 | 8 | 2.0 | 6"}));
  EXPECT_EQ(Jsonl("[1, \"x\"]\n", {"/0 int64[]", "/1 bytes"}), (Texts{"1 | 'x'"}));
  EXPECT_EQ(Jsonl("{\"a b\": 1}\n", {"\"a b\" int64[]"}), (Texts{"1"}));
}

TEST(Jsonl, ReadsShapes) {
  EXPECT_EQ(Jsonl("{\"x\": [[1, 2], [3, 4]]}\n{\"x\": [5, 6, 7, 8]}\n", {"x float32[2,2]"}),
            (Texts{"1.0 2.0 3.0 4.0", "5.0 6.0 7.0 8.0"}));
  EXPECT_EQ(Jsonl("{\"x\": [1, 2]}\n{\"x\": []}\n{\"x\": [3]}\n", {"x int64[-1]"}),
            (Texts{"1 2", "", "3"}));
  EXPECT_EQ(Jsonl("{\"x\": [[1, 2], [3, 4]]}\n{\"x\": []}\n", {"x int64[-1,2]"}),
            (Texts{"1 2 3 4", ""}));
  EXPECT_EQ(Jsonl("{\"x\": [7]}\n", {"x int64[1]"}), (Texts{"7"}));
  ExpectJsonlError("{\"x\": [1, 2, 3]}", "x int64[2]", "it has 3 values, 2 are declared");
  ExpectJsonlError("{\"x\": [[1], [2, 3]]}", "x int64[3]", "nested deeper than");
  ExpectJsonlError("{\"x\": [[1, 2, 3], [4]]}", "x int64[2,2]", "an array of it has 3 values, 2");
  ExpectJsonlError("{\"x\": [[1, 2], 3, 4]}", "x int64[2,2]", "not nested evenly");
  ExpectJsonlError("{\"x\": [[1, 2, 3]]}", "x int64[-1,2]", "an array of it has 3 values, 2");
  ExpectJsonlError("{\"x\": [1]}", "x int64[]", "it is an array, int64 [1] is declared");
  ExpectJsonlError("{\"x\": 1}", "x int64[2]", "it is a number, int64 [1, 2] is declared");
}

TEST(Jsonl, ReadsEveryKindOfValue) {
  EXPECT_EQ(Jsonl("{\"x\": true}\n{\"x\": false}\n{\"x\": 1}\n", {"x int64[]"}),
            (Texts{"1", "0", "1"}));
  EXPECT_EQ(Jsonl("{\"x\": 2.0}\n{\"x\": 1e3}\n", {"x int64[]"}), (Texts{"2", "1000"}));
  EXPECT_EQ(Jsonl("{\"x\": \"a\\u00e9\\n\\\"\\ud83d\\ude00\"}\n", {"x bytes"}),
            (Texts{"'a\u00e9\n\"\U0001F600'"}));
  EXPECT_EQ(Jsonl("{\"x\": \"17\"}\n", {"x int64[] decode=text"}), (Texts{"17"}));
  EXPECT_EQ(Jsonl("{\"x\": [\"word\", \"word\"]}\n", {"x int64[-1] hash=1000003"}),
            (Texts{"560383 560383"}));
  ExpectJsonlError("{\"x\": \"17\"}", "x int64[]",
                   "it is text '17', int64 [1] is declared (decode=text");
  ExpectJsonlError("{\"x\": 17}", "x bytes", "it is a number, bytes is declared");
  ExpectJsonlError("{\"x\": {}}", "x int64[]", "it is an object");
  ExpectJsonlError("{\"x\": 1.5}", "x int64[]", "1.5 is no int64");
  ExpectJsonlError("{\"x\": 300}", "x uint8[]", "field 'x': 300 is no uint8");
  ExpectJsonlError("{\"x\": 18446744073709551615}", "x int64[]", "is no int64");
}

TEST(Jsonl, ReadsTimestamps) {
  EXPECT_EQ(Jsonl("{\"t\": \"2024-01-31T12:00:05Z\"}\n{\"t\": null}\n",
                  {"t int64[] decode=timestamp default=-1"}),
            (Texts{"1706702405", "-1"}));
  EXPECT_EQ(Jsonl("{\"t\": [\"1970-01-01\", \"1970-01-02\"]}\n",
                  {"t int64[-1] decode=timestamp unit=ms"}),
            (Texts{"0 86400000"}));
  ExpectJsonlError("{\"t\": 5}", "t int64[] decode=timestamp", "it is a number");
  ExpectJsonlError("{\"t\": \"5\"}", "t int64[] decode=timestamp",
                   "field 't': '5' is no timestamp: it is none of the forms 2024-01-31, ");
}

TEST(Jsonl, KnowsTextsThatAreNoValue) {
  const std::string content = "{\"x\": 1, \"s\": \"a\"}\n{\"x\": \"NA\", \"s\": \"NA\"}\n";
  EXPECT_EQ(Jsonl(content, {"x int64[] null=NA default=-1", "s bytes null=NA missing=default"}),
            (Texts{"1 | 'a'", "-1 | ''"}));
  EXPECT_EQ(Jsonl(content, {"x int64[] null=NA missing=skip"}), (Texts{"1"}));
  EXPECT_EQ(Jsonl(content, {"s bytes null=NA missing=skip"}), (Texts{"'a'"}));
  EXPECT_EQ(Jsonl("{\"x\": [\"1\", \"NA\"]}\n", {"x int64[-1] decode=text null=NA default=7"}),
            (Texts{"1 7"}));
  ExpectJsonlError(content, "x int64[] null=NA", "field 'x': 'NA' is no value, as null= says");
  ExpectError(ErrorCode::kInvalidArgument, "separator= is for cells of tables",
              [&] { Jsonl(content, {"s bytes[-1] separator=|"}); });
  ExpectError(ErrorCode::kInvalidArgument, "null=-1 is a number",
              [&] { Jsonl(content, {"x int64[] null=NA,-1"}); });
}

TEST(Jsonl, HasDefaultsForMissingValues) {
  const std::string content = "{\"x\": 1}\n{}\n{\"x\": null}\n{\"x\": 2}\n";
  EXPECT_EQ(Jsonl(content, {"x int64[] default=-1"}), (Texts{"1", "-1", "-1", "2"}));
  EXPECT_EQ(Jsonl(content, {"x int64[] missing=skip"}), (Texts{"1", "2"}));
  EXPECT_EQ(Jsonl("{}\n", {"x int64[2] missing=default", "y int64[-1] missing=default",
                           "z bytes missing=default", "w int64[-1] default=7"}),
            (Texts{"0 0 |  | '' | 7"}));
  ExpectJsonlError(content, "x int64[]", "field 'x': the record has no value for it");
}

TEST(Jsonl, SaysWhichKeysThereAre) {
  const std::string content = "{\"stars\": 1, \"user\": {\"id\": 7, \"a/b\": 8}, \"n\": null}\n";
  ExpectJsonlError(content, "star int64[]",
                   "field 'star': the record has no value for it; its keys are 'stars', 'user', "
                   "'n'; did you mean 'stars'? (default= or missing=skip behind the field "
                   "allow that)");
  for (const char* name : {"user.id", "user/id"}) {
    ExpectJsonlError(content, StrCat(name, " int64[]"), "; did you mean '/user/id'? (default=");
  }
  EXPECT_EQ(Jsonl(content, {"/user/id int64[]", "/user/a~1b int64[]"}), (Texts{"7 | 8"}));
  ExpectJsonlError(content, "n int64[]",
                   "field 'n': it is null (default= or missing=skip behind the field allow that)");
  ExpectJsonlError("{\"user\": {\"id\": null}}", "/user/id int64[]",
                   "field '/user/id': it is null (default= or missing=skip behind the field");
  ExpectJsonlError("7", "x int64[]", "the record has no value for it: it is a number, not an");
}

TEST(Jsonl, GuessesTimestamps) {
  const TempFile file("guess.jsonl",
                      "{\"s\": \"2024-01-31\", \"t\": \"2024-01-31 00:00:00.5\"}\n"
                      "{\"s\": \"x\", \"t\": null}\n");
  EXPECT_EQ(FindFileFormat("jsonl")->guess_fields(file.path(), {}),
            (Texts{"s bytes", "t int64[] decode=timestamp unit=ms default=0"}));
}

TEST(Jsonl, GuessesFieldsWithinObjects) {
  const auto guess = [](const std::string& content) {
    const TempFile file("guess.jsonl", content);
    return FindFileFormat("jsonl")->guess_fields(file.path(), {});
  };
  EXPECT_EQ(guess("{\"b\": 1, \"user\": {\"id\": 7, \"a/b\": {\"c\": 0.5}}}\n"
                  "{\"b\": 2, \"user\": {\"id\": 8, \"a/b\": {\"c\": 1.5}}}\n"),
            (Texts{"/user/a~1b/c float32[]", "/user/id int64[]", "b int64[]"}));
  // Keys that are not in every record are values of a table, not names.
  EXPECT_EQ(guess("{\"b\": 1, \"counts\": {\"x\": 7}}\n{\"b\": 1, \"counts\": {\"y\": 7}}\n"),
            (Texts{"b int64[]"}));
  // What is an object in one record is no value of the others.
  EXPECT_EQ(guess("{\"user\": null, \"n\": 1}\n{\"user\": {\"id\": 1}, \"n\": 2}\n"),
            (Texts{"n int64[]"}));
  EXPECT_EQ(guess("{\"user\": {\"id\": 1}, \"n\": 1}\n{\"user\": 5, \"n\": 2}\n"),
            (Texts{"n int64[]"}));
  EXPECT_EQ(guess("{\"a\": {\"b\": null, \"n\": 1}}\n{\"a\": {\"b\": {\"c\": 1}, \"n\": 2}}\n"),
            (Texts{"/a/n int64[]"}));
  // Of objects in an array nothing is known.
  EXPECT_EQ(guess("{\"b\": [{\"x\": 7}], \"c\": true}\n"), (Texts{"c int64[]"}));
  // The first line may be a long one.
  EXPECT_EQ(guess("{\"b\": \"" + std::string(200000, 'x') + "\", \"c\": 1}\n{\"c\": 2}\n"),
            (Texts{"b bytes missing=default", "c int64[]"}));
}

TEST(Jsonl, TellsTheLineThatFieldsCannotBeGuessedBy) {
  const TempFile file("guess.jsonl", "{\"x\": 1}\n\n{\"x\": 2}\n{\"x\": }\n");
  try {
    FindFileFormat("jsonl")->guess_fields(file.path(), {});
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind(file.path() + ": the record is no JSON", 0), 0u) << text;
    EXPECT_NE(text.find("\n  in line 4, which begins at byte 19"), std::string::npos) << text;
  }
}

TEST(Jsonl, TellsTheLine) {
  const std::string content = "{\"x\": 1}\n\n  \n{\"x\": }\n";
  ExpectJsonlError(content, "x int64[]", "the record is no JSON: ");
  ExpectJsonlError(content, "x int64[]", "in line 4, which begins at byte 13");
  for (const char* line : {"{\"x\": 1", "{\"x\": 1}}", "{\"x\": 1} 2", "{x: 1}", "{\"x\": 01}",
                           "{\"x\": \"\xff\"}", "nul", "\"", "{\"x\": 1e999}"}) {
    ExpectJsonlError(line, "x int64[]", "the record is no JSON: ");
  }
  ExpectJsonlError("7", "x int64[]", "the record has no value for it");
  ExpectJsonlError("[{\"x\": 1},\n {\"x\": 2}]\n", "x int64[]",
                   "`jq -c .[] FILE` makes such lines of a list");
  const std::string deep = std::string(100000, '[');
  ExpectError(ErrorCode::kDataLoss, "the record is no JSON",
              [&] { Jsonl(deep + "\n", {"x int64[]"}); });
}

TEST(Jsonl, RefusesWrongSettings) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  ExpectError(code, "this format needs the attribute fields", [] { Jsonl("{}", {}); });
  ExpectError(code, "decode=json is not for", [] { Jsonl("{}", {"x int64[] decode=json"}); });
}

TEST(Jsonl, GivesTheSameRecordsForAnyNumberOfThreads) {
  std::string content;
  Texts expected;
  for (int i = 0; content.size() < 3 * kReadBlockBytes; ++i) {
    const std::string number = std::to_string(i);
    content += "{\"id\": " + number + ", \"text\": \"" + std::string(i % 89, 'x') + "\"}\r\n";
    expected.push_back(number + " | '" + std::string(i % 89, 'x') + "'");
  }
  const TempFile plain("rows.jsonl", content);
  const TempFile compressed("rows.ndjson.gz", Gzipped(content));
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize size(workers);
    for (const std::string& path : {plain.path(), compressed.path()}) {
      EXPECT_EQ(TextsOf(FieldReader("jsonl", path, {"id int64[]", "text bytes"}).get()), expected);
    }
  }
}

}  // namespace
}  // namespace millhopper
