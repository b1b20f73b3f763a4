// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Example and SequenceExample: kinds of values, their encodings, missing features,
// damage, and the real files with known truth.
#include "readers/formats/tfrecord/example.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/support/byte_records.h"
#include "tests/files/tfrecords.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// Messages of Protocol Buffers, written byte by byte.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Message(int number, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Raw(float value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}
std::string Integers(const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) packed += Varint(static_cast<uint64_t>(value));
  return Message(3, Message(1, packed));
}
std::string Floats(const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) packed += Raw(value);
  return Message(2, Message(1, packed));
}
std::string Bytes(const Strings& values) {
  std::string list;
  for (const std::string& value : values) list += Message(1, value);
  return Message(1, list);
}
using Features = std::vector<std::pair<std::string, std::string>>;
std::string MapOf(const Features& features) {
  std::string map;
  for (const auto& [name, feature] : features) {
    map += Message(1, Message(1, name) + Message(2, feature));
  }
  return map;
}
std::string ExampleOf(const Features& features) { return Message(1, MapOf(features)); }

Strings Read(const Strings& records, const Strings& fields, const std::string& others = "") {
  return TextsIn("tfrecord", TFRecords(records), fields, {{"others", others}});
}

void ExpectExampleError(const std::string& record, const std::string& field,
                        const std::string& words) {
  SCOPED_TRACE(field);
  ExpectError(ErrorCode::kDataLoss, words, [&] { Read({record}, {field}); });
}

TEST(Example, ReadsEveryKindOfFeature) {
  const std::string first = ExampleOf({{"id", Integers({7})},
                                       {"pixels", Floats({0.5, -1})},
                                       {"tokens", Integers({1, -2, int64_t{1} << 62})},
                                       {"title", Bytes({"ab"})}});
  const std::string second = ExampleOf({{"title", Bytes({""})},
                                        {"other", Integers({5})},
                                        {"tokens", Integers({})},
                                        {"pixels", Floats({3, 4})},
                                        {"id", Integers({8})}});
  EXPECT_EQ(
      Read({first, second}, {"id int32[]", "pixels float32[2]", "tokens int64[-1]", "title bytes"}),
      (Strings{"7 | 0.5 -1.0 | 1 -2 4611686018427387904 | 'ab'", "8 | 3.0 4.0 |  | ''"}));
  EXPECT_EQ(Read({first}, {"pixels float64[2] scale=2", "id float32[]"}),
            (Strings{"1.0 -2.0 | 7.0"}));
}

TEST(Example, ReadsTextAndWords) {
  const std::string record = ExampleOf({{"n", Bytes({"17", "18"})}, {"w", Bytes({"word"})}});
  EXPECT_EQ(Read({record}, {"n int64[2] decode=text", "w int64[] hash=1000003"}),
            (Strings{"17 18 | 560383"}));
}

// Protocol Buffers allow numbers that are not packed, lists in parts, and a name twice.
TEST(Example, ReadsEveryEncoding) {
  const std::string unpacked_integers =
      Message(3, Varint(1 << 3) + Varint(5) + Varint(1 << 3) + Varint(6));
  const std::string unpacked_floats = Message(2, Varint(1 << 3 | 5) + Raw(1.5));
  EXPECT_EQ(Read({ExampleOf({{"i", unpacked_integers}, {"f", unpacked_floats}})},
                 {"i int64[2]", "f float32[]"}),
            (Strings{"5 6 | 1.5"}));
  EXPECT_EQ(Read({ExampleOf({{"i", Integers({1}) + Integers({2})}})}, {"i int64[2]"}),
            (Strings{"1 2"}));
  EXPECT_EQ(Read({ExampleOf({{"i", Integers({1})}, {"i", Integers({2})}})}, {"i int64[]"}),
            (Strings{"2"}));
  // Unknown fields are passed over: a varint, eight bytes, four bytes, a message.
  const std::string unknown = Varint(9 << 3) + Varint(300) + Varint(10 << 3 | 1) + "12345678" +
                              Varint(11 << 3 | 5) + "1234" + Message(12, "x");
  EXPECT_EQ(Read({unknown + ExampleOf({{"i", unknown + Integers({1})}})}, {"i int64[]"}),
            (Strings{"1"}));
}

TEST(Example, ReadsSequenceExamples) {
  const std::string steps = Message(1, Integers({1})) + Message(1, Integers({2, 3}));
  const std::string record =
      Message(1, MapOf({{"label", Integers({9})}})) + Message(2, MapOf({{"steps", steps}}));
  EXPECT_EQ(Read({record}, {"label int64[]", "steps int64[-1]"}), (Strings{"9 | 1 2 3"}));
}

TEST(Example, ReadsListsOfBytes) {
  const TempFile file("a.tfrecord", TFRecords({ExampleOf({{"b", Bytes({"ab", "", "cde"})}}),
                                               ExampleOf({}), ExampleOf({{"b", Bytes({"f"})}})}));
  const std::vector<ElementValue> elements =
      ReadAll(FieldReader("tfrecord", file.path(), {"b bytes[-1] missing=default"}).get());
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[0][0], (SlotValue{DataType::kUint8, {5}, {{0, 3}, {0, 2, 2, 5}}, "abcde"}));
  EXPECT_EQ(elements[1][0], (SlotValue{DataType::kUint8, {0}, {{0, 0}, {0}}, ""}));
  EXPECT_EQ(elements[2][0], (SlotValue{DataType::kUint8, {1}, {{0, 1}, {0, 1}}, "f"}));
}

TEST(Example, HasDefaultsForMissingFeatures) {
  const Strings records = {ExampleOf({{"a", Integers({1})}}), ExampleOf({}),
                           ExampleOf({{"a", Integers({})}}), ExampleOf({{"a", ""}})};
  EXPECT_EQ(Read(records, {"a int64[] default=-1"}), (Strings{"1", "-1", "-1", "-1"}));
  EXPECT_EQ(Read(records, {"a int64[] missing=skip"}), (Strings{"1"}));
  EXPECT_EQ(Read({""}, {"a int64[-1] missing=default", "b bytes missing=default"}),
            (Strings{" | ''"}));
  EXPECT_EQ(Read(records, {"a int64[] missing=mask", "b bytes missing=mask"}),
            (Strings{"1 | '' | true | false", "0 | '' | false | false", "0 | '' | false | false",
                     "0 | '' | false | false"}));
  // A list without values is none, whatever kind it is of, and so is a feature without a list.
  for (const std::string& list :
       {Integers({}), Floats({}), Bytes({}), std::string(), Message(2, Message(1, ""))}) {
    const Strings empty = {ExampleOf({{"a", list}}), ExampleOf({})};
    EXPECT_EQ(Read(empty, {"a bytes missing=default"}), (Strings{"''", "''"}));
    EXPECT_EQ(Read(empty, {"a bytes[-1] missing=default"}), (Strings{"", ""}));
    EXPECT_EQ(Read(empty, {"a int64[] missing=default"}), (Strings{"0", "0"}));
    EXPECT_EQ(Read(empty, {"a float32[2] default=nan"}), (Strings{"nan nan", "nan nan"}));
    EXPECT_EQ(Read(empty, {"a int64[-1] missing=default"}), (Strings{"", ""}));
    EXPECT_EQ(Read(empty, {"a float32[-1,2] default=-1"}), (Strings{"-1.0 -1.0", "-1.0 -1.0"}));
    EXPECT_EQ(Read(empty, {"a int64[] hash=10 default=-1"}), (Strings{"-1", "-1"}));
    for (const char* const type : {"bytes", "bytes[-1]", "int64[]", "float32[2]", "int64[-1]"}) {
      EXPECT_EQ(Read(empty, {StrCat("a ", type, " missing=skip")}), Strings{}) << type;
    }
    ExpectExampleError(empty[0], "a bytes",
                       "feature 'a': it has no value (missing=default, missing=mask or");
    ExpectExampleError(empty[0], "a int64[]",
                       "feature 'a': it has no value (default=, missing=mask or");
    // An empty sequence is what it is without any option.
    EXPECT_EQ(Read({empty[0]}, {"a int64[-1]"}), Strings{""});
    EXPECT_EQ(Read({empty[0]}, {"a bytes[-1]"}), Strings{""});
  }
  ExpectExampleError("", "a int64[]", "feature 'a': the record does not have it; it has none (");
  const std::string two = ExampleOf({{"label", Integers({1})}, {"image", Integers({2})}});
  ExpectExampleError(
      two, "lable int64[]",
      "feature 'lable': the record does not have it; it has 'label', 'image'; did "
      "you mean 'label'? (default=, missing=mask or missing=skip after the field allow that)");
}

TEST(Example, SaysWhatDoesNotFit) {
  const std::string record =
      ExampleOf({{"i", Integers({300, 2})}, {"f", Floats({1.5})}, {"b", Bytes({"x", "y"})}});
  ExpectExampleError(record, "i int64[3]", "feature 'i': it has 2 values, 3 are declared");
  ExpectExampleError(record, "i uint8[2]", "300 is no uint8");
  ExpectExampleError(record, "i int64[-1,3]", "its 2 values are not whole steps of 3");
  ExpectExampleError(record, "i bytes", "it holds integers, bytes is declared");
  ExpectExampleError(record, "f int64[]", "it holds floats, int64 is declared");
  ExpectExampleError(record, "f float32[2]", "it has 1 value, 2 are declared");
  ExpectExampleError(record, "b int64[2]", "it holds bytes, int64 is declared (decode=text reads");
  ExpectExampleError(record, "b bytes", "it has 2 values, bytes takes one; bytes[-1]");
  ExpectError(ErrorCode::kInvalidArgument, "two fields are named 'a'", [] {
    Read({}, {"a int64[]", "a bytes"});
  });
}

// Every cut and every other byte of an Example gives the values or an error, never another end.
TEST(Example, SurvivesDamage) {
  const std::string record =
      ExampleOf({{"i", Integers({1, 2})}, {"f", Floats({1, 2, 3})}, {"b", Bytes({"abc"})}});
  const Strings fields = {"i int64[-1]", "f float32[3]", "b bytes"};
  int right = 0, errors = 0;
  const auto try_record = [&](const std::string& damaged) {
    try {
      EXPECT_EQ(Read({damaged}, fields).size(), 1u);
      ++right;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
      ++errors;
    }
  };
  for (size_t size = 0; size < record.size(); ++size) try_record(record.substr(0, size));
  for (size_t i = 0; i < record.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = record;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      try_record(damaged);
    }
  }
  EXPECT_GT(right, 50);
  EXPECT_GT(errors, 150);
}

TEST(Example, GuessesFields) {
  const std::string record =
      Message(1, MapOf({{"b", Bytes({"x"})}, {"a b", Floats({1, 2})}, {"c", Integers({1})}})) +
      Message(2, MapOf({{"d", Message(1, Integers({1}))}}));
  EXPECT_EQ(GuessExampleFields({record}).entries,
            (Strings{"\"a b\" float32[2]", "b bytes", "c int64[]", "d int64[-1]"}));
  EXPECT_EQ(GuessExampleFields({}).entries, Strings{});
  EXPECT_EQ(GuessExampleFields({"no", record}).entries, Strings{});
  // Other messages, which look like an Example as far as its numbers go.
  const std::string feature = Integers({1});
  for (const std::string& other :
       {record + Message(3, "x"), record + "\x08\x01", Message(1, Message(2, "x")),
        ExampleOf({{"a", Message(4, "x")}}), Message(2, MapOf({{"d", Message(2, feature)}}))}) {
    EXPECT_EQ(GuessExampleFields({other}).entries, Strings{}) << Escaped(other);
  }
}

// What the fields do not tell is an error where they are all that a record has.
TEST(Example, RefusesWhatNoFieldNames) {
  const std::string field = "a int64[]";
  const std::string first = ExampleOf({{"a", Integers({1})}});
  EXPECT_EQ(Read({first}, {field}, "error"), Strings{"1"});
  const auto expect = [&](const std::string& record, const std::string& words) {
    ExpectError(ErrorCode::kDataLoss, words, [&] { Read({first, record}, {field}, "error"); });
  };
  const auto with = [](const std::string& feature) {
    return ExampleOf({{"a", Integers({2})}, {"late one", feature}});
  };
  expect(with(Floats({1, 2})),
         "the record has the feature 'late one', which no field names: add the field '\"late "
         "one\" float32[2] default=nan', or others \"ignore\" leaves out what no field names");
  expect(with(Bytes({"x"})), "'\"late one\" bytes missing=mask'");
  expect(with(Integers({1})), "'\"late one\" int64[] missing=mask'");
  expect(with(""), "'\"late one\" bytes[-1] missing=mask'");
  expect(first + Message(2, MapOf({{"s", Message(1, Integers({1}))}})),
         "the feature 's', which no field names: add the field \"s int64[-1] missing=mask\"");
  expect(first + Message(2, MapOf({{"s", Message(1, Bytes({"x", "y"}))}})),
         "the feature 's', which no field names: others \"ignore\" leaves out what no field names");
  expect(first + Message(2, MapOf({{"a", Message(1, Integers({1}))}})),
         "the record has the feature 'a' in its context and as a list");
  expect(first + Message(3, "x"), "the record is no Example");
  EXPECT_EQ(Read({with(Floats({1}))}, {"a int64[]"}), Strings{"2"});
}

TEST(Example, RefusesStepsOfOtherLengthsThanTheField) {
  const auto list = [](const Strings& steps) {
    std::string bytes;
    for (const std::string& step : steps) bytes += Message(1, step);
    return Message(2, MapOf({{"a", bytes}}));
  };
  const auto expect = [&](const std::string& record, const std::string& field) {
    EXPECT_NO_THROW(Read({record}, {field}));
    ExpectError(ErrorCode::kDataLoss, "a slot cannot tell apart",
                [&] { Read({record}, {field}, "error"); });
  };
  expect(list({Integers({1}), Integers({2, 3})}), "a int64[-1]");
  expect(list({Integers({1, 2, 3}), Integers({4})}), "a int64[-1, 2]");
  expect(list({Integers({})}), "a int64[-1]");
  expect(list({Bytes({"x", "y"})}), "a bytes[-1]");
  EXPECT_EQ(Read({list({Integers({1}), Integers({2})}), list({})}, {"a int64[-1]"}, "error"),
            (Strings{"1 2", ""}));
}

// A step of a list has as many values in each record, or no field can be the list.
TEST(Example, GuessesListsOfSteps) {
  const auto list = [](const Strings& steps) {
    std::string bytes;
    for (const std::string& step : steps) bytes += Message(1, step);
    return bytes;
  };
  const std::string record =
      Message(2, MapOf({{"a", list({Integers({1, 2}), Integers({3, 4}), Integers({5, 6})})},
                        {"b", list({Integers({1, 2}), Integers({3})})},
                        {"c", list({Bytes({"x", "y"})})}}));
  const FittingFields fields = GuessExampleFields({record});
  EXPECT_EQ(fields.entries, (Strings{"a int64[-1, 2]"}));  // others are left out on purpose
  const std::string problem =
      "its steps are lists of several values, of different lengths or of bytes";
  const auto left_out = [&](const std::string& name, const std::string& field) {
    return StrCat("'", name, "': ", problem, "; without the steps, the field \"", field,
                  "\" reads the values one after another; a slot of bytes, where it is declared, "
                  "is the whole record");
  };
  EXPECT_EQ(fields.left_out, (Strings{left_out("b", "b int64[-1]"), left_out("c", "c bytes[-1]")}));
  EXPECT_EQ(Read({record}, {"a int64[-1, 2]", "b int64[-1]"}), Strings{"1 2 3 4 5 6 | 1 2 3"});
  EXPECT_EQ(Read({record}, {"b int64[-1]"}), Strings{"1 2 3"});
  const TempFile file("a.tfrecord", TFRecords({record}));
  FormatArguments arguments;
  arguments.declared = {BytesSlot()};
  EXPECT_EQ(TextsOf(OpenFile(*FindFileFormat("tfrecord"), file.path(), "", arguments).get()),
            Strings{"'" + record + "'"});
  // A field that some records lack.
  EXPECT_EQ(GuessExampleFields({record, ExampleOf({})}).left_out[0],
            left_out("b", "b int64[-1] missing=mask"));
}

// Where fields are inferred, no number is made up for an empty list.
TEST(Example, WithoutFieldsAnEmptyListOfFloatsIsNaN) {
  const Strings records = {ExampleOf({{"f", Floats({1, 2})}, {"i", Integers({7})}}),
                           ExampleOf({{"f", Floats({})}, {"i", Integers({})}}), ExampleOf({})};
  EXPECT_EQ(Read(records, {}),
            (Strings{"1.0 2.0 | 7 | true", "nan nan | 0 | false", "nan nan | 0 | false"}));
  ExpectExampleError(records[1], "f float32[2]", "feature 'f': it has no value (default=,");
}

// What is guessed fits all of the records, not only the first.
TEST(Example, GuessesFieldsOfSeveralRecords) {
  const Strings records = {ExampleOf({{"id", Integers({1})},
                                      {"w", Floats({1, 2})},
                                      {"t", Integers({1, 2})},
                                      {"e", Integers({})},
                                      {"b", Bytes({"x"})},
                                      {"x", Integers({1})}}),
                           ExampleOf({{"id", Integers({2})},
                                      {"t", Integers({3})},
                                      {"e", Integers({})},
                                      {"b", Bytes({"y", "z"})},
                                      {"x", Floats({1})}}),
                           ExampleOf({{"id", Integers({3})},
                                      {"t", Integers({})},
                                      {"e", Integers({})},
                                      {"s", Bytes({"late"})},
                                      {"b", Bytes({"u"})}})};
  const Strings fields = {"b bytes[-1]",          "e int64[-1]", "id int64[]",
                          "s bytes missing=mask", "t int64[-1]", "w float32[2] default=nan"};
  EXPECT_EQ(GuessExampleFields({records[0], records[1], records[2]}).entries, fields);
  EXPECT_EQ(Read(records, fields).size(), records.size());
  // Lists without values say nothing of kinds and numbers.
  const Strings empty = {
      ExampleOf({{"b", Bytes({})}, {"n", Integers({})}, {"f", Floats({})}, {"o", Floats({})}}),
      ExampleOf({{"b", Bytes({"x"})}, {"n", Integers({7})}, {"f", Floats({1})}, {"o", Bytes({})}})};
  const Strings of_empty = {"b bytes missing=mask", "f float32[] default=nan",
                            "n int64[] missing=mask", "o bytes[-1]"};
  EXPECT_EQ(GuessExampleFields({empty[0], empty[1]}).entries, of_empty);
  EXPECT_EQ(Read(empty, of_empty),
            (Strings{"'' | nan | 0 |  | false | false", "'x' | 1.0 | 7 |  | true | true"}));
  // After what is no Example nothing is looked at.
  EXPECT_EQ(GuessExampleFields({records[1], "no", records[2]}).entries,
            GuessExampleFields({records[1]}).entries);
  EXPECT_EQ(GuessExampleFields({records[0], records[1]}).left_out,
            (Strings{"'x': its values are bytes, floats or integers by turns"}));
}

std::string RealFile(const std::string& name) { return TestData() + "/tfrecord/" + name; }

Strings ReadReal(const std::string& name, const Strings& fields) {
  return TextsOf(FieldReader("tfrecord", RealFile(name), fields).get());
}

TEST(Example, ReadsRealFiles) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const Strings numbers = ReadReal("pytorch_data/example.tfrecord",
                                   {"x_int int64[10]", "x_float float32[10]", "x_byte bytes"});
  ASSERT_EQ(numbers.size(), 4u);
  EXPECT_EQ(numbers[0],
            "0 10 20 30 40 50 60 70 80 90 | 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 | 'test str'");
  const Strings digits = ReadReal("tfx/mnist.tfrecord", {"image_class int64[]"});
  ASSERT_EQ(digits.size(), 1000u);
  EXPECT_EQ(Strings(digits.begin(), digits.begin() + 10),
            (Strings{"9", "3", "6", "1", "8", "2", "2", "3", "5", "7"}));
  const auto images =
      FieldReader("tfrecord", RealFile("tfx/mnist.tfrecord"), {"image_floats float32[28,28]"});
  EXPECT_EQ(images->slots()[0].dims, (Dims{1, 28, 28}));
  EXPECT_EQ(ReadAll(images.get()).size(), 1000u);
  EXPECT_EQ(
      ReadReal("tfx/penguin/data/Split-train/data_tfrecord-00000-of-00001.gz", {"species int64[]"})
          .size(),
      234u);
}

}  // namespace
}  // namespace millhopper
