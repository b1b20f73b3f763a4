// SPDX-License-Identifier: Apache-2.0
// Lines of JSON: names and pointers, shapes, text, missing values, errors with their line.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "readers/fields/fields.h"
#include "tests/bytes.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

Texts Jsonl(const std::string& content, const std::vector<std::string>& fields) {
  return TextsIn("jsonl", content, fields);
}

FittingFields Guessed(const std::string& path) {
  const FormatSchema& format = *FindFileFormat("jsonl");
  return format.guess_fields(path, format.WithDefaults({}));
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

TEST(Jsonl, OfAKeyTwiceTheLastCounts) {
  EXPECT_EQ(
      Jsonl("{\"a\": 1, \"b\": 5, \"a\": 2}\n{\"a\": 3, \"b\": 6}\n", {"a int64[]", "b int64[]"}),
      (Texts{"2 | 5", "3 | 6"}));
  // Its escapes do not matter, and neither does what the first one holds.
  EXPECT_EQ(Jsonl("{\"a\": {\"x\": [1e999, \"\\q\"]}, \"\\u0061\": 2}\n", {"a int64[]"}),
            (Texts{"2"}));
  EXPECT_EQ(Jsonl("{\"a\": 1, \"a\": null}\n", {"a int64[] default=-1"}), (Texts{"-1"}));
  EXPECT_EQ(Jsonl("{\"a\": 1, \"a\": null}\n{\"a\": null, \"a\": 1}", {"a int64[] missing=skip"}),
            (Texts{"1"}));
  // Of an object twice nothing of the first is left.
  const std::string twice =
      "{\"u\": {\"id\": 1, \"n\": 2, \"v\": {\"w\": 3}}, \"u\": {\"n\": 4, \"n\": 5}, \"k\": 6}";
  EXPECT_EQ(Jsonl(twice, {"/u/id int64[] default=-1", "/u/n int64[]", "/u/v/w int64[] default=-1",
                          "k int64[]"}),
            (Texts{"-1 | 5 | -1 | 6"}));
  EXPECT_EQ(Jsonl("{\"u\": {\"id\": 1}, \"u\": 7}", {"/u/id int64[] default=-1", "u int64[]"}),
            (Texts{"-1 | 7"}));
  EXPECT_EQ(Jsonl("{\"u\": [1, 2], \"u\": [3]}", {"/u/0 int64[]", "/u/1 int64[] default=-1"}),
            (Texts{"3 | -1"}));
}

TEST(Jsonl, OnlyPassesOverWhatNobodyAsksFor) {
  const std::string values[] = {"-80241446968629135069",
                                "1e999",
                                "NaN",
                                "-Infinity",
                                "\"\\ud800\"",
                                "\"\\q\"",
                                "\"\xff\"",
                                "\"\x01\"",
                                "007",
                                "+1",
                                "nan",
                                "True",
                                "\"[{\\\"\"",
                                "\"\\\\\"",
                                "[1, NaN, {\"k\": 7, \"\\uD800\": 1e999}]",
                                "{\"k\": 7, \"v\": [[]]}",
                                std::string(1000, '[') + std::string(1000, ']')};
  for (const std::string& value : values) {
    SCOPED_TRACE(value);
    for (const std::string& record :
         {"{\"tag\": " + value + ", \"k\": 1}", "{\"k\": 1, \"tag\":" + value + "}",
          "{\"o\" : {\"tag\": [" + value + "]} ,\"k\":1}"}) {
      EXPECT_EQ(Jsonl(record + "\n", {"k int64[]"}), (Texts{"1"})) << record;
    }
    EXPECT_EQ(Jsonl("[" + value + ", 1]\n", {"/1 int64[]"}), (Texts{"1"}));
  }
  // Nor does a key that is no text matter.
  EXPECT_EQ(Jsonl("{\"\\ud800\": 1, \"\xff\": 2, \"\\q\": 3, \"k\": 4}\n", {"k int64[]"}),
            (Texts{"4"}));
}

TEST(Jsonl, ReadsNumbersAsPythonWritesThem) {
  const std::string content = "{\"x\": NaN}\n{\"x\": Infinity}\n{\"x\": -Infinity}\n{\"x\": 0.5}\n";
  EXPECT_EQ(Jsonl(content, {"x float32[]"}), (Texts{"nan", "inf", "-inf", "0.5"}));
  EXPECT_EQ(Jsonl(content, {"x float64[-1]"}), (Texts{"nan", "inf", "-inf", "0.5"}));
  EXPECT_EQ(Jsonl("{\"x\": [NaN, 1, -Infinity]}", {"x float32[3]"}), (Texts{"nan 1.0 -inf"}));
  EXPECT_EQ(Jsonl("{\"x\": 100000000000000000000000}", {"x float64[]"}), (Texts{"1e+23"}));
  EXPECT_EQ(Jsonl("{\"x\": 18446744073709551615}", {"x uint64[]"}),
            (Texts{"18446744073709551615"}));
  EXPECT_EQ(Jsonl("{\"x\": -9223372036854775808}", {"x int64[]"}), (Texts{"-9223372036854775808"}));
  EXPECT_EQ(Jsonl("{\"x\": 1E+2}\n{\"x\": -0.0e-7}\n{\"x\": 1e-999}", {"x float64[]"}),
            (Texts{"100.0", "-0.0", "0.0"}));
  ExpectJsonlError(content, "x int64[]", "field 'x': nan is no int64 (at byte 6 of the JSON)");
  ExpectJsonlError("{\"x\": [1, -Infinity]}", "x int64[-1]",
                   "field 'x': -inf is no int64 (at byte 10 of the JSON)");
  ExpectJsonlError("{\"x\": 18446744073709551616}", "x uint64[]",
                   "field 'x': '18446744073709551616' is no uint64 (at byte 6 of the JSON)");
  ExpectJsonlError("{\"x\": -9223372036854775809}", "x int64[]",
                   "'-9223372036854775809' is no int64");
  ExpectJsonlError("{\"x\": 1e999}", "x float64[]",
                   "'1e999' is more than a float64 holds (at byte 6");
  for (const char* value : {"nan", "+1", "01", "1.", ".5", "1e", "-", "--1", "0x1", "1_0", "Inf",
                            "infinity", "-NaN", "truE", "tru", "nul", "1e5.5", "1,2", "'1'"}) {
    ExpectJsonlError(StrCat("{\"x\": ", value, "}"), "x float32[]", "");
  }
}

TEST(Jsonl, NamesKeyAndByteOfWhatIsAskedFor) {
  ExpectJsonlError("{\"k\": 1, \"x\": 01}", "x int64[]",
                   "field 'x': '01' is no value of JSON (at byte 14 of the JSON)");
  ExpectJsonlError("{\"u\": {\"id\": tru}}", "/u/id int64[]",
                   "field '/u/id': 'tru' is no value of JSON (at byte 13 of the JSON)");
  ExpectJsonlError("{\"s\": \"a\\ud83dx\"}", "s bytes",
                   "field 's': it has half of a surrogate pair, which is no character (at byte 6");
  ExpectJsonlError("{\"s\": \"a\\ude00\"}", "s bytes", "it has half of a surrogate pair");
  ExpectJsonlError("{\"s\": \"\\ud83d\\u0041\"}", "s bytes", "it has half of a surrogate pair");
  ExpectJsonlError("{\"s\": \"\\x41\"}", "s bytes",
                   "field 's': it has an escape that JSON does not know (at byte 6 of the JSON)");
  ExpectJsonlError("{\"s\": \"\\u00g1\"}", "s bytes", "an escape that JSON does not know");
  ExpectJsonlError("{\"s\": \"\\u-001\"}", "s bytes", "an escape that JSON does not know");
  ExpectJsonlError("{\"s\": [\"ok\", \"\xc3(\"]}", "s bytes[-1]",
                   "field 's': it has bytes that are no UTF-8 (at byte 13 of the JSON)");
  ExpectJsonlError("{\"s\": \"a\tb\"}", "s bytes", "it has a control character, which JSON writes");
  ExpectJsonlError("{\"x\": [1 2]}", "x int64[-1]", "field 'x': a comma or ] is missing at byte 9");
  ExpectJsonlError("{\"x\": [1, [2]]}", "x int64[-1]",
                   "not nested evenly (at byte 10 of the JSON)");
  ExpectJsonlError("{\"x\": [1, \"2\"]}", "x int64[-1]", "(at byte 10 of the JSON)");
  ExpectJsonlError("{\"x\": \"\xff\"}", "x int64[] null=NA missing=skip",
                   "it has bytes that are no UTF-8");
}

TEST(Jsonl, NestsToALimit) {
  const auto nested = [](size_t depth) {
    return "{\"t\": " + std::string(depth, '[') + std::string(depth, ']') + ", \"k\": 1}";
  };
  EXPECT_EQ(Jsonl(nested(1023), {"k int64[]"}), (Texts{"1"}));
  ExpectJsonlError(nested(1025), "k int64[]", "more than 1024 objects and arrays lie within");
  const std::string open = std::string(100000, '{');
  ExpectJsonlError("{\"k\": 1, \"t\": " + open + "}", "k int64[]", "the record is no JSON: ");
  ExpectJsonlError("{\"k\": 1, \"t\": [}]}", "k int64[]",
                   "the record is no JSON: a bracket is closed by one of another kind at byte 15");
  std::string deep = "1", pointer;
  for (int i = 0; i < 1000; ++i) {
    deep = "{\"a\": " + deep + "}";
    pointer += "/a";
  }
  EXPECT_EQ(Jsonl(deep, {pointer + " int64[]"}), (Texts{"1"}));
  ExpectError(ErrorCode::kInvalidArgument, "a JSON pointer of 1001 steps; the limit is 1000",
              [&] { Jsonl(deep, {pointer + "/a int64[]"}); });
}

TEST(Jsonl, KnowsKeysWhateverTheirEscapes) {
  EXPECT_EQ(Jsonl("{\"\\u00e9\\n \\\\\": 1, \"\\ud83d\\ude00\": 2, \"a\\/b\": {\"\": 3}}\n",
                  {"\"\u00e9\n \\\" int64[]", "\U0001F600 int64[]", "/a~1b/ int64[]"}),
            (Texts{"1 | 2 | 3"}));
}

TEST(Jsonl, EndsLinesAtCrAlone) {
  const Texts expected = {"1", "2", "3"};
  for (const char* const content :
       {"{\"x\": 1}\r{\"x\": 2}\r{\"x\": 3}\r", "{\"x\": 1}\r\r{\"x\": 2}\r\n{\"x\": 3}\r"}) {
    EXPECT_EQ(Jsonl(content, {"x int64[]"}), expected);
    const TempFile packed("a.jsonl.gz", Gzipped(content)), plain("a.jsonl", content);
    EXPECT_EQ(TextsOf(FieldReader("jsonl", packed.path(), {"x int64[]"}).get()), expected);
    EXPECT_EQ(Guessed(plain.path()).entries, (Texts{"x int64[]"}));
  }
  ExpectJsonlError("{\"x\": 1}\r\r{\"x\": }\r", "x int64[]", "in line 3, which begins at byte 10");
}

// What is proposed for records without a value reads them, and makes no number of it.
TEST(Jsonl, ProposesNoValueForWhatIsMissing) {
  const std::string content =
      "{\"label\": 3, \"f\": 0.5, \"s\": \"x\", \"l\": [1, 2], \"ok\": true}\n{}\n"
      "{\"label\": null, \"f\": null, \"s\": null, \"l\": null, \"ok\": null}\n";
  const TempFile file("a.jsonl", content);
  const Texts fields = Guessed(file.path()).entries;
  EXPECT_EQ(fields,
            (Texts{"label int64[] missing=mask", "f float64[] default=nan", "s str missing=mask",
                   "l int64[2] missing=mask", "ok bool[] missing=mask"}));
  EXPECT_EQ(Jsonl(content, fields),
            (Texts{"3 | 0.5 | 'x' | 1 2 | true | true | true | true | true",
                   "0 | nan | '' | 0 0 | false | false | false | false | false",
                   "0 | nan | '' | 0 0 | false | false | false | false | false"}));
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

TEST(Jsonl, TellsByMasksWhereValuesAre) {
  const std::string content =
      "{\"x\": 1, \"t\": \"a\", \"l\": [1, 2]}\n{\"t\": null}\n{\"x\": null, \"l\": []}\n";
  EXPECT_EQ(Jsonl(content, {"x int64[] missing=mask", "t bytes missing=mask",
                            "l int64[-1]"
                            " missing=mask"}),
            (Texts{"1 | 'a' | 1 2 | true | true | true", "0 | '' |  | false | false | false",
                   "0 | '' |  | false | false | true"}));
}

TEST(Jsonl, SaysWhichKeysThereAre) {
  const std::string content = "{\"stars\": 1, \"user\": {\"id\": 7, \"a/b\": 8}, \"n\": null}\n";
  ExpectJsonlError(
      content, "star int64[]",
      "field 'star': the record has no value for it; its keys are 'stars', 'user', "
      "'n'; did you mean 'stars'? (default=, missing=mask or missing=skip after the field "
      "allow that)");
  for (const char* name : {"user.id", "user/id"}) {
    ExpectJsonlError(content, StrCat(name, " int64[]"), "; did you mean '/user/id'? (default=");
  }
  EXPECT_EQ(Jsonl(content, {"/user/id int64[]", "/user/a~1b int64[]"}), (Texts{"7 | 8"}));
  ExpectJsonlError(
      content, "n int64[]",
      "field 'n': it is null (default=, missing=mask or missing=skip after the field allow that)");
  ExpectJsonlError(
      "{\"user\": {\"id\": null}}", "/user/id int64[]",
      "field '/user/id': it is null (default=, missing=mask or missing=skip after the field");
  ExpectJsonlError("7", "x int64[]", "the record has no value for it: it is a number, not an");
}

TEST(Jsonl, GuessesTimestamps) {
  const TempFile file("guess.jsonl",
                      "{\"s\": \"2024-01-31\", \"t\": \"2024-01-31 00:00:00.5\"}\n"
                      "{\"s\": \"x\", \"t\": null}\n");
  EXPECT_EQ(Guessed(file.path()).entries, (Texts{"s str",
                                                 "t int64[] decode=timestamp unit=us "
                                                 "default=-9223372036854775808 missing=mask"}));
}

TEST(Jsonl, GuessesFieldsWithinObjects) {
  const auto guess = [](const std::string& content) {
    const TempFile file("guess.jsonl", content);
    return Guessed(file.path()).entries;
  };
  EXPECT_EQ(guess("{\"b\": 1, \"user\": {\"id\": 7, \"a/b\": {\"c\": 0.5}}}\n"
                  "{\"b\": 2, \"user\": {\"id\": 8, \"a/b\": {\"c\": 1.5}}}\n"),
            (Texts{"b int64[]", "/user/id int64[]", "/user/a~1b/c float64[]"}));
  // Keys and objects may be in some records only.
  EXPECT_EQ(
      guess("{\"b\": 1, \"counts\": {\"x\": 7}}\n{\"b\": 1, \"counts\": {\"y\": 0.5}}\n"),
      (Texts{"b int64[]", "/counts/x int64[] missing=mask", "/counts/y float64[] default=nan"}));
  EXPECT_EQ(guess("{\"user\": null, \"n\": 1}\n{\"user\": {\"id\": true}, \"n\": 2}\n"),
            (Texts{"n int64[]", "/user/id bool[] missing=mask"}));
  // More keys than a reader has slots are those of objects that are read as a whole.
  std::string ids = "{\"n\": 1, \"few\": {\"x\": {\"y\": 2}}, \"of\": {\"k\": 1";
  for (size_t id = 0; id < kMaxSlots; ++id) ids += StrCat(", \"", id, "\": 1");
  EXPECT_EQ(guess(ids + "}}\n"), (Texts{"n int64[]", "few str decode=json", "of str decode=json"}));
  EXPECT_EQ(guess(ids + "}}\n{\"n\": 2}\n"), (Texts{"n int64[]", "few str decode=json missing=mask",
                                                    "of str decode=json missing=mask"}));
  // The first line may be a long one.
  EXPECT_EQ(guess("{\"b\": \"" + std::string(2000000, 'x') + "\", \"c\": 1}\n{\"c\": 2}\n"),
            (Texts{"b str missing=mask", "c int64[]"}));
}

TEST(Jsonl, GuessesFieldsInTheOrderInWhichTheyAppear) {
  const TempFile file("guess.jsonl",
                      "{\"z\": 1, \"b\": 2, \"z\": 0.5, \"o\": {\"y\": 1}}\n"
                      "{\"a\": 1, \"o\": {\"x\": 1, \"y\": 2}, \"z\": 1, \"b\": 3}\n");
  EXPECT_EQ(Guessed(file.path()).entries,
            (Texts{"z float64[]", "b int64[]", "/o/y int64[]", "a int64[] missing=mask",
                   "/o/x int64[] missing=mask"}));
}

// Of a large file the middle and the end are looked at, too, however it is written.
TEST(Json, GuessesByMiddleAndEnd) {
  struct Form {
    std::string begin, between, end;
    const char* item;  // with $ for the values
  };
  const std::string text = "\"t\": \"}, {\\\"n\\\": 1},\\n{\\\"";
  const std::vector<Form> forms = {
      {"[", ", ", "]", "{\"n\": $, %, \"o\": [{\"n\": \"x\"}]}"},
      {"[\n", ",\n", "\n]\n", "{\"n\": $, %, \"o\": [{\"m\": 1}, {\"m\": 2}]}"},
      {"[\n  ", ",\n  ", "\n]",
       "{\n    \"n\": $,\n    %,\n    \"o\": {\n      \"n\": 1\n    }\n  }"},
      {"", "\n", "\n", "{\n  \"n\": $,\n  %\n}"}};
  for (const Form& form : forms) {
    for (const size_t odd : {size_t{20000}, size_t{39990}}) {
      std::string content = form.begin;
      for (size_t i = 0; i < 40000; ++i) {
        std::string item = form.item;
        const auto put = [&](char what, const std::string& with) {
          item.replace(item.find(what), 1, with);
        };
        put('%', text + std::string(30, 'x') + "\"");
        put('$', i == odd ? "0.5" : "7");
        content += (i > 0 ? form.between : "") + item;
      }
      const TempFile file("guess.json", content + form.end);
      const FormatSchema& json = *FindFileFormat("json");
      const Texts entries = json.guess_fields(file.path(), json.WithDefaults({})).entries;
      ASSERT_GE(entries.size(), 2u);
      EXPECT_EQ(entries[0], "n float64[]") << form.item << odd;
      EXPECT_EQ(entries[1], "t str");
    }
  }
}

// What begins like a record in lists of records that the beginning does not have is none.
TEST(Json, GuessesByNoValuesWithinRecords) {
  struct Form {
    std::string begin, between, end, before_inner, between_inner;
  };
  for (const Form& form : {Form{"[", ",", "]", "", ","}, Form{"[\n", ",\n", "\n]", "", ",\n"},
                           Form{"", "\n", "\n", "\n", ",\n"}}) {
    for (const bool ends_within : {false, true}) {
      const std::string inner =
          form.before_inner + R"({"id":"u","q":5})" + form.between_inner + R"({"id":"v","q":6})";
      std::string content = form.begin;
      for (int i = 0; i < 60000; ++i) {
        const bool has_inner = i >= 20000 && (!ends_within || i > 59900);
        content += (i == 0 ? "" : form.between) + R"({"id":)" + std::to_string(i) + R"(,"pad":")" +
                   std::string(50, 'x') + R"(","c":[)" + (has_inner ? inner : "") + "]" +
                   (i == 59999 ? R"(,"late":1)" : "") + "}";
      }
      const TempFile file("guess.json", content + form.end);
      const FormatSchema& json = *FindFileFormat("json");
      EXPECT_EQ(json.guess_fields(file.path(), json.WithDefaults({})).entries,
                (Texts{"id int64[]", "pad str", "c str decode=json", "late int64[] missing=mask"}))
          << form.between << ends_within;
    }
  }
}

TEST(Jsonl, GuessesTypesThatKeepAllValues) {
  const auto guess = [](const std::string& content) {
    const TempFile file("guess.jsonl", content);
    return Guessed(file.path());
  };
  const FittingFields fields = guess(
      "{\"u\": 18446744073709551615, \"l\": 1e30, \"x\": [0.1, 2], \"y\": 0.123456789, "
      "\"e\": [], \"t\": true, \"s\": [\"a\"]}\n"
      "{\"u\": 1, \"l\": NaN, \"x\": [3, 4], \"y\": 1, \"e\": [], \"t\": false, "
      "\"s\": []}\n");
  EXPECT_EQ(fields.entries, (Texts{"u uint64[]", "l float64[]", "x float64[2]", "y float64[]",
                                   "e str decode=json", "t bool[]", "s str[-1]"}));
  EXPECT_EQ(fields.left_out, Texts{});
  // What no type keeps is JSON as text.
  const FittingFields any = guess(
      "{\"a\": [{\"x\": 7}], \"b\": [[1], [2, 3]], \"c\": {\"d\": 1}, \"f\": 9007199254740993, "
      "\"g\": 1, \"h\": 1, \"i\": 123456789012345678901, \"\": 1, \"ok\": 1}\n"
      "{\"a\": [], \"b\": [], \"c\": 5, \"f\": 0.5, \"g\": \"x\", \"h\": [1], \"i\": 1, "
      "\"\": 1, \"ok\": 1}\n");
  EXPECT_EQ(any.entries, (Texts{"a str decode=json", "b str decode=json", "c str decode=json",
                                "f str decode=json", "g str decode=json", "h str decode=json",
                                "i str decode=json", "/ int64[]", "ok int64[]"}));
  EXPECT_EQ(any.left_out, Texts{});
  // A float64 has fewer digits, and is 0 only for what is.
  EXPECT_EQ(guess("{\"d\": 0.12345678901234567890, \"z\": 1e-400, \"e\": 0.1}\n").entries,
            (Texts{"d str decode=json", "z str decode=json", "e float64[]"}));
  EXPECT_EQ(guess("{\"x\": 1e400}\n").entries, Texts{"x str decode=json"});
  // null in a list of numbers is NaN, if float64 keeps them; what has no value yet may be anything.
  const FittingFields nulls = guess(
      "{\"n\": [1, null, 3], \"w\": [9007199254740993, null], \"s\": [\"x\", null], "
      "\"o\": {}, \"z\": null}\n");
  EXPECT_EQ(nulls.entries,
            (Texts{"n float64[-1] missing=mask", "w str decode=json", "s str decode=json",
                   "o str decode=json", "z str decode=json missing=mask"}));
}

TEST(Jsonl, GuessesListsOfTimesAsSingleTimes) {
  const TempFile file("guess.jsonl",
                      "{\"d\": [\"2024-01-31\"], \"t\": [\"2024-01-31 12:00\"], "
                      "\"n\": [\"1970-01-02\"], \"x\": [\"2024-01-31\", null], "
                      "\"s\": [\"2024-01-31\"], \"h\": [\"12:00:05\"]}\n"
                      "{\"d\": [], \"t\": [\"2024-01-31\"], \"x\": [], \"s\": [\"soon\"], "
                      "\"h\": []}\n");
  const Texts entries = Guessed(file.path()).entries;
  EXPECT_EQ(
      entries,
      (Texts{"d int64[-1] decode=timestamp unit=d", "t int64[-1] decode=timestamp unit=us",
             StrCat("n int64[-1] decode=timestamp unit=d default=", INT64_MIN, " missing=mask"),
             "x str decode=json", "s str[-1]", "h str[-1]"}));
  EXPECT_EQ(TextsOf(FieldReader("jsonl", file.path(), {entries[0], entries[1], entries[2]}).get()),
            (Texts{"19753 | 1706702400000000 | 1 | true",
                   " | 1706659200000000 | -9223372036854775808 | false"}));
}

// What is inferred is exact, what is declared is not.
TEST(Jsonl, DeclaredFieldsTakeTheNearestValue) {
  const std::string content =
      "{\"f\": 9007199254740993, \"b\": 1, \"n\": true, \"l\": 7, \"i\": 1}\n";
  const Texts fields = {"f float64[]", "b bool[]", "n int64[]", "l int64[-1]"};
  const Texts values = {"9007199254740992.0 | true | 1 | 7"};
  EXPECT_EQ(Jsonl(content, fields), values);
  EXPECT_EQ(Jsonl(content, {"i", fields[0], fields[1], fields[2], fields[3]}),
            (Texts{"1 | " + values[0]}));
  EXPECT_EQ(Guessed(TempFile("a.jsonl", content).path()).attributes.Get<std::string>(kNumbers),
            "exact");
}

// Also where no record has a value that would tell the type.
TEST(Jsonl, NullIsNoValueOfAnyType) {
  EXPECT_EQ(Jsonl("{\"a\": null, \"b\": {\"c\": null}}\n{\"b\": {\"c\": null}}\n", {}),
            (Texts{"'' | '' | false | false", "'' | '' | false | false"}));
  const std::string later = "{\"a\": null}\n{\"a\": [1, null]}\n{\"a\": \"null\"}\n";
  EXPECT_EQ(Jsonl(later, {"a str decode=json missing=mask"}),
            (Texts{"'' | false", "'[1, null]' | true", "'\"null\"' | true"}));
  EXPECT_EQ(Jsonl(later, {"a str decode=json"}), (Texts{"'null'", "'[1, null]'", "'\"null\"'"}));
  EXPECT_EQ(Jsonl(later, {"a str decode=json missing=skip"}), (Texts{"'[1, null]'", "'\"null\"'"}));
}

// Without fields, all that is in the records is read or an error.
TEST(Jsonl, InfersFieldsThatLoseNothing) {
  EXPECT_EQ(Jsonl("{\"a\": 1, \"m\": [{\"role\": \"user\", \"n\": [1,  2]}], \"x\": 1}\n"
                  "{\"a\": 2, \"m\": [], \"x\": \"y\"}\n{\"a\": 3, \"x\": null}\n",
                  {}),
            (Texts{"1 | '[{\"role\": \"user\", \"n\": [1,  2]}]' | '1' | true | true",
                   "2 | '[]' | '\"y\"' | true | true", "3 | '' | '' | false | false"}));
  EXPECT_EQ(Jsonl("{\"x\": [1, null]}\n{\"x\": null}\n", {}),
            (Texts{"1.0 nan | true", " | false"}));
  // What no sample shows is in the middle of a large file.
  const auto read = [](const std::string& usual, const std::string& other) {
    std::string lines;
    while (lines.size() < (size_t{3} << 20)) lines += usual + "\n";
    const std::string rest = lines + lines;
    const TempFile file("a.jsonl", lines + other + "\n" + rest);
    TextsOf(FieldReader("jsonl", file.path(), {}).get());
  };
  const auto expect = [&](const std::string& usual, const std::string& other,
                          const std::string& words) {
    SCOPED_TRACE(other);
    ExpectError(ErrorCode::kDataLoss, words, [&] { read(usual, other); });
  };
  const std::string usual = "{\"a\": 1, \"u\": {\"id\": 7}, \"l\": [1, 2]}";
  expect(usual, "{\"a\": 1, \"u\": {\"id\": 7}, \"l\": [1, 2], \"b c\": 0.5}",
         "no field names the key 'b c', at byte 45 of the JSON; the field '\"b c\" float64[] "
         "default=nan' reads it; others \"ignore\"");
  expect(usual, "{\"a\": 1, \"u\": {\"id\": 7, \"n\": \"x\"}, \"l\": [1, 2]}",
         "no field names the key '/u/n', at byte 29 of the JSON; the field \"/u/n str "
         "missing=mask\" reads it");
  expect(usual, "{\"a\": 1, \"u\": 5, \"l\": [1, 2]}",
         "'/u' is a number here, and fields are for what is in an object there; the field \"/u str "
         "decode=json\" in their place reads any value");
  expect(usual, "{\"a\": 0.5, \"u\": {\"id\": 7}, \"l\": [1, 2]}",
         "0.5 is no int64 (at byte 6 of the JSON); float64[] reads it");
  expect(usual, "{\"a\": \"x\", \"u\": {\"id\": 7}, \"l\": [1, 2]}",
         "; str decode=json reads any value, as its text");
  expect(usual, "{\"a\": 1, \"u\": {\"id\": 7}, \"l\": [1, 2, 3]}", "; int64[-1] reads it");
  expect("{\"a\": null}", "7",
         "the record is a number, not an object; the field 'json = \"\" str decode=json' in the "
         "place of all others reads any record");
  expect(usual, "null", "the record is null");
  // Values that would be read, but changed.
  const std::string hint = "; str decode=json reads any value, as its text; without types, infer";
  expect(usual, "{\"a\": true, \"u\": {\"id\": 7}, \"l\": [1, 2]}",
         "it is true or false, int64 [1] is declared");
  expect(usual, "{\"a\": 1, \"u\": {\"id\": 7}, \"l\": [1, true]}",
         "it is true or false, int64 [1, 2] is declared");
  expect("{\"f\": 0.5}", "{\"f\": 9007199254740993}",
         "9007199254740993 is no float64 without rounding, as numbers \"exact\" asks and "
         "\"nearest\" does not (at byte 6 of the JSON)" +
             hint);
  expect("{\"f\": 0.5}", "{\"f\": 1e999}", "more than a float64 holds (at byte 6");
  expect("{\"f\": 0.5}", "{\"f\": 1e999}", hint);
  expect("{\"f\": 0.5}", "{\"f\": 1e-400}", "'1e-400' is no float64 that gives it back");
  expect("{\"f\": 0.5}", "{\"f\": 0.12345678901234567890}", "is no float64 that gives it back");
  expect("{\"b\": true}", "{\"b\": 1}", "it is a number, bool [1] is declared (at byte 6");
  expect("{\"b\": true}", "{\"b\": 1}", hint);
  expect("{\"l\": [1]}\n{\"l\": []}", "{\"l\": 7}", "it is a number, int64 [-1] with");
  expect("{\"l\": [1]}", "{\"l\": 7}", hint);
  expect("{\"l\": [\"x\"]}", "{\"l\": \"x\"}", hint);
  expect("{\"d\": \"2024-01-31\"}", "{\"d\": \"soon\"}", "'soon' is no timestamp: ");
  expect("{\"d\": \"2024-01-31\"}", "{\"d\": \"soon\"}", hint);
  expect("{\"d\": [\"2024-01-31\"]}", "{\"d\": \"2024-01-31\"}", hint);
  ExpectError(ErrorCode::kDataLoss,
              "the record is no JSON: it has an escape that JSON does not know",
              [] { Jsonl("{\"a\": {\"\\q\": 1}}\n", {}); });
  EXPECT_EQ(Jsonl("{\"a\": 1, \"b\": 2}\n", {"a int64[]"}), Texts{"1"});
  ExpectError(ErrorCode::kDataLoss, "no field names the key 'b'", [&] {
    TextsIn("jsonl", "{\"a\": 1, \"b\": 2}\n", {"a int64[]"}, {{"others", std::string("error")}});
  });
}

TEST(Jsonl, ReadsAnyValueAsItsText) {
  EXPECT_EQ(Jsonl("{\"x\": [1, {\"a\":  \"\\u00e9\"}]}\n{\"x\": null}\n{}\n{\"x\": 1e2}\n",
                  {"x bytes decode=json missing=default"}),
            (Texts{"'[1, {\"a\":  \"\\u00e9\"}]'", "''", "''", "'1e2'"}));
  for (const char* value : {"[tru]", "{\"a\": 01}", "[\"\\q\"]", "{\"\\ud800\": 1}", "[1,]"}) {
    ExpectJsonlError(StrCat("{\"x\": ", value, "}"), "x bytes decode=json", "field 'x': ");
  }
  ExpectError(ErrorCode::kInvalidArgument,
              "decode= is for numbers; text and bytes stay as they are, but",
              [] { Jsonl("{}", {"x bytes[-1] decode=json"}); });
}

Texts Json(const std::string& content, const std::vector<std::string>& fields = {}) {
  return TextsIn("json", content, fields);
}

TEST(Json, ReadsListsAndValuesOverSeveralLines) {
  const Texts rows = {"1 | 'x'", "2 | 'y'"};
  for (const char* const content :
       {"[{\"a\": 1, \"b\": \"x\"},\n {\"a\": 2,\n\"b\": \"y\"}]\n",
        "\xef\xbb\xbf \n[ {\"a\":1,\"b\":\"x\"} ,{\"a\":2,\"b\":\"y\"} ] ",
        "{\"a\": 1,\n \"b\": \"x\"\n}\n{\"a\": 2, \"b\": \"y\"}",
        "{\"a\":1,\"b\":\"x\"}{\"a\":2,\"b\":\"y\"}\n\n"}) {
    SCOPED_TRACE(content);
    EXPECT_EQ(Json(content), rows);
    EXPECT_EQ(Json(content, {"a int64[]", "b bytes"}), rows);
    const TempFile packed("a.json.gz", Gzipped(content));
    EXPECT_EQ(TextsOf(FieldReader("json", packed.path(), {}).get()), rows);
  }
  EXPECT_EQ(Json("{\"data\": [{\"a\": 1}]}\n"), Texts{"'[{\"a\": 1}]'"});
  EXPECT_EQ(Json("[{\"x\": 1}, {\"x\": null}, {\"x\": 3}]", {"x int64[] missing=skip"}),
            (Texts{"1", "3"}));
  EXPECT_EQ(Json("[]", {"x int64[]"}), Texts{});
  EXPECT_EQ(Json(" ", {"x int64[]"}), Texts{});
}

TEST(Json, NamesTheByteOfWhatIsWrong) {
  const auto expect = [](const std::string& content, const std::string& words) {
    SCOPED_TRACE(content);
    ExpectError(ErrorCode::kDataLoss, words, [&] { Json(content, {"a int64[]"}); });
    ExpectError(ErrorCode::kDataLoss, "", [&] { Json(content); });  // as where fields are inferred
  };
  expect("[{\"a\": 1},\n {\"a\": 2}", "at byte 20 (line 2) is missing: no ] ends the list");
  expect("[{\"a\": 1},", "is missing: no ] ends the list");
  expect("[", "no ] ends the list");
  expect("[{\"a\": 1},]", "at byte 10 (line 1) is none: a value is missing");
  expect("[{\"a\": 1} {\"a\": 2}]", "is none: a comma or ] is missing before it");
  expect("[{\"a\": 1}] 5", "is none: something follows the list");
  expect("{\"a\": 1},{\"a\": 2}", "at byte 8 (line 1) is none: a value is missing");
  expect("{\"a\": 1}\n{\"a\": 2", "at byte 9 (line 2) is none: no bracket closes the one");
  ExpectError(ErrorCode::kDataLoss, "it is a number, not an object",
              [] { Json("[{\"a\": 1}, 5]", {"a int64[]"}); });
}

// Records that are no objects are one slot, and null is an object without keys.
TEST(Json, ReadsRecordsThatAreNoObjects) {
  const auto expect = [](const std::string& content, const std::string& entry,
                         const Texts& records) {
    SCOPED_TRACE(content);
    const TempFile file("a.json", content);
    const FormatSchema& json = *FindFileFormat("json");
    const Texts entries = json.guess_fields(file.path(), json.WithDefaults({})).entries;
    EXPECT_EQ(entries, Texts{entry});
    EXPECT_EQ(Json(content), records);
    EXPECT_EQ(Json(content, entries), records);
  };
  expect("[1, 2]", "json = \"\" int64[]", {"1", "2"});
  expect("[1, null]", "json = \"\" int64[] missing=mask", {"1 | true", "0 | false"});
  expect("\"a\" \"b\"", "json = \"\" str", {"'a'", "'b'"});
  expect("[[1, 2], [3, 4]]", "json = \"\" int64[2]", {"1 2", "3 4"});
  expect("[[1, \"a\"], []]", "json = \"\" str decode=json", {"'[1, \"a\"]'", "'[]'"});
  expect("[{\"a\": 1}, 5]", "json = \"\" str decode=json", {"'{\"a\": 1}'", "'5'"});
  expect("{} {}", "json = \"\" str decode=json", {"'{}'", "'{}'"});
  expect("null", "json = \"\" str decode=json missing=mask", {"'' | false"});
  expect("[1, null, \"null\"]", "json = \"\" str decode=json missing=mask",
         {"'1' | true", "'' | false", "'\"null\"' | true"});
  expect("{\"a\": 1} null", "a int64[] missing=mask", {"1 | true", "0 | false"});
  for (const char* chosen : {"json", "x = json", "*"}) {
    EXPECT_EQ(Json("[1, 2]", {chosen}), (Texts{"1", "2"})) << chosen;
  }
}

// Values of any length at the ends of blocks, in each form.
TEST(Json, GivesTheSameRecordsForAnyNumberOfThreads) {
  for (const bool is_list : {true, false}) {
    std::string content = is_list ? "[" : "";
    Texts expected;
    for (int i = 0; content.size() < 3 * kReadBlockBytes; ++i) {
      const std::string text(static_cast<size_t>(i % 89), 'x');
      if (i > 0) content += is_list ? " ,\n" : "\n";
      content += StrCat("{\"id\":\n ", i, ", \"text\": \"", text, "\"}");
      expected.push_back(StrCat(i, " | '", text, "'"));
    }
    if (is_list) content += "\n]\n";
    const TempFile plain("rows.json", content), compressed("rows.json.gz", Gzipped(content));
    for (const int workers : {0, 1, 7}) {
      const PoolSize size(workers);
      for (const std::string& path : {plain.path(), compressed.path()}) {
        EXPECT_TRUE(TextsOf(FieldReader("json", path, {}).get()) == expected);
      }
    }
  }
}

TEST(Jsonl, TellsTheLineThatFieldsCannotBeGuessedBy) {
  const TempFile file("guess.jsonl", "{\"x\": 1}\n\n{\"x\": 2}\n{\"x\": }\n");
  try {
    Guessed(file.path()).entries;
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
  for (const char* line :
       {"{\"x\": 1", "{\"x\": 1}}", "{\"x\": 1} 2", "{x: 1}", "{\"x\" 1}", "{\"x\": 1 2}",
        "{\"x\": 1,}", "{\"y\": , \"x\": 1}", "{,}", "nul", "\"", "{\"x\": \"\\\"}", "{\"x\""}) {
    ExpectJsonlError(line, "x int64[]", "the record is no JSON: ");
  }
  ExpectJsonlError("7", "x int64[]", "the record has no value for it");
  ExpectJsonlError("[{\"x\": 1},\n {\"x\": 2}]\n", "x int64[]",
                   "json: before the name of a file reads a list, or values of several lines");
  const std::string deep = std::string(100000, '[');
  ExpectError(ErrorCode::kDataLoss, "the record is no JSON",
              [&] { Jsonl(deep + "\n", {"x int64[]"}); });
}

TEST(Jsonl, RefusesWrongSettings) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
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

TEST(Jsonl, NamesOfKeysHaveALimit) {
  std::string within;
  for (int i = 0; i < 5000; ++i) within += StrCat(i == 0 ? "" : ",", "\"", i, "\":1");
  const std::string record = StrCat("{\"", std::string(100000, 'k'), "\":{", within, "}}\n");
  const TempFile file("deep.jsonl", record);
  ExpectError(ErrorCode::kResourceLimit, "the names of the keys of the JSON have more than",
              [&] { Guessed(file.path()); });
}

}  // namespace
}  // namespace millhopper
