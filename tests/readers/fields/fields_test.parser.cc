// SPDX-License-Identifier: Apache-2.0
// The notation for fields, and the values that text and numbers become.
#include "readers/fields/fields.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

Field One(const std::string& entry) { return ParseFields({entry}).at(0); }

template <typename T>
T FromText(const std::string& entry, const std::string& text) {
  const Field field = One(entry);
  EXPECT_EQ(field.value_bytes(), sizeof(T));
  char place[8] = {};
  field.ReadAll(text, place);
  T value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

template <typename T, typename Number>
T FromNumber(const std::string& entry, Number number) {
  char place[8] = {};
  One(entry).Write(number, place);
  T value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

SlotSpec Slot(DataType dtype, const Dims& dims, int lod_level = 0) {
  return {dtype, dims, lod_level, true};
}

TEST(Fields, DeclareSlots) {
  EXPECT_EQ(
      SlotsOf(ParseFields({"label int64[]", "image float32[28, 28] scale=1/255", "tokens int32[-1]",
                           "boxes float64[ -1,4 ]", "title bytes", "\"a name\" bool[]",
                           "  x\tfloat16[1]  "})),
      (std::vector<SlotSpec>{Slot(DataType::kInt64, {1}), Slot(DataType::kFp32, {1, 28, 28}),
                             Slot(DataType::kInt32, {-1}, 1), Slot(DataType::kFp64, {-1, 4}, 1),
                             Slot(DataType::kUint8, {-1}, 1), Slot(DataType::kBool, {1}),
                             Slot(DataType::kFp16, {1, 1})}));
  EXPECT_EQ(One("\"a name\" bool[]").name, "a name");
  EXPECT_EQ(One("boxes float64[-1,4]").values, 4u);
  EXPECT_EQ(One("image float32[28,28]").values, 784u);
}

TEST(Fields, TextsAreBytesWithAMark) {
  const std::vector<std::string> types = {"bytes", "bytes[-1]", "bytes[-1, -1]"};
  for (const std::string& type : types) {
    const std::string of_texts = "str" + type.substr(5);
    const Field bytes = ParseFields({"t " + type}, Lists::kOfLists).front();
    const Field text = ParseFields({"t " + of_texts}, Lists::kOfLists).front();
    EXPECT_EQ(bytes.slot, text.slot);
    EXPECT_TRUE(text.bytes && text.slot.text && !bytes.slot.text);
    EXPECT_EQ(text.bytes_list, bytes.bytes_list);
    EXPECT_EQ(bytes.Declared(), type);
    EXPECT_EQ(text.Declared(), of_texts);
  }
  EXPECT_EQ(One("x float32[3]").Declared(), "float32 [1, 3]");
  EXPECT_EQ(HeadOf("the str str").name, "the");
  EXPECT_EQ(HeadOf("str").name, "str");
  EXPECT_EQ(HeadOf("str").type, "");
}

TEST(Fields, ListsOfListsHaveALevelEach) {
  EXPECT_EQ(
      SlotsOf(
          ParseFields({"a int64[-1,-1]", "b float32[-1, -1, 4]", "c bytes[-1,-1]", "d bytes[-1]"},
                      Lists::kOfLists)),
      (std::vector<SlotSpec>{Slot(DataType::kInt64, {-1}, 2), Slot(DataType::kFp32, {-1, 4}, 2),
                             Slot(DataType::kUint8, {-1}, 3), Slot(DataType::kUint8, {-1}, 2)}));
  const std::optional<Thrown> thrown = ErrorOf([] { ParseFields({"a int64[-1,-1]"}); });
  ASSERT_TRUE(thrown);
  EXPECT_NE(thrown->text.find("which only columns of Parquet and Arrow are"), std::string::npos);
}

TEST(Fields, QuotesInNamesAreDoubled) {
  EXPECT_EQ(One("\"say \"\"hi\"\"\" int64[]").name, "say \"hi\"");
  EXPECT_EQ(One("\"\"\"\" int64[]").name, "\"");
  EXPECT_EQ(One("\"\" int64[]").name, "");
  EXPECT_EQ(One("\"a\nb\" int64[]").name, "a\nb");
}

TEST(Fields, AreRefusedByWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "name dtype[dims]"},
      {"label", "name dtype[dims]"},
      {"label int65[]", "'int65' is no type; it is one of bool, int8"},
      {"label int64", "has no dims; a scalar is int64[]"},
      {"label int64[", "a bracket is not closed"},
      {"label int64[]x", "has no dims"},
      {"label int64[x]", "the dim 'x' is no number"},
      {"label int64[3,]", "a dim is missing"},
      {"label int64[3,-1]", "only the first may be -1"},
      {"label int64[0]", "the dim 0 is not positive"},
      {"label float32[4294967296,4294967296]", ""},
      {"\"label int64[]", "a quote is not closed"},
      {"label int64[] default", "'default' is no option=value"},
      {"label int64[] defualt=1",
       "there is no option 'defualt'; did you mean 'default'? there are"},
      {"label int64[] sep=|", "there is no option 'sep'; did you mean 'separator'?"},
      {"label int64[] quux=1", "there is no option 'quux'; there are 'default', 'missing', 'null'"},
      {"label int64[] default=x", "'x' is no int64"},
      {"label int64[] missing=never", "missing=never; it is one of error, default, mask, skip"},
      {"label int64[] missing=skip default=1", "default= is not used with another missing="},
      {"label float32[] base=16", "base=16; it is 2 to 36, for integers"},
      {"label int64[] base=37", "it is 2 to 36"},
      {"label float32[] hash=10", "hash= is for int32 and int64"},
      {"label int64[] hash=0", "hash=0 is no number of buckets"},
      {"label int32[] hash=3000000000", "is no number of buckets"},
      {"label int64[] hash=10 base=16", "only one of base=, hash=, vocab= and decode="},
      {"label int64[] scale=2", "scale= is for floats"},
      {"label float32[] scale=1/0", "divides by zero"},
      {"label float32[] scale=x", "is no number such as 0.5 or 1/255"},
      {"label int64[] decode=xml", "it is one of text, timestamp, json"},
      {"time float64[] decode=timestamp",
       "decode=timestamp is for int64: seconds since 1970-01-01"},
      {"time int64[] decode=timestamp unit=h", "unit=h; it is one of d, s, ms, us, ns"},
      {"time int64[] decode=timestamp hash=7", "only one of base=, hash=, vocab= and decode="},
      {"time int64[] unit=ms", "unit= is for decode=timestamp"},
      {"time int64[] format=%Y%m%d", "format= is for decode=timestamp"},
      {"time int64[] decode=timestamp format=%Y", "format=%Y: it needs a year"},
      {"time int64[] decode=timestamp format=", "format=: it needs a year"},
      {"time int64[] decode=timestamp format=%d.%m.%Y %H:%M",
       "'%H:%M' is no option=value; a value with spaces in it stands in quotes"},
      {"time int64[] decode=timestamp default=x", "'x' is no int64"},
      {"label int64[] null=", "has an empty text among its own"},
      {"label int64[] null=NA,", "has an empty text among its own"},
      {"label int64[] separator=|", "separator= is for several values, such as int64[-1]"},
      {"title bytes separator=|", "separator= is for several values, such as int64[-1]"},
      {"label int64[-1] separator=||", "separator=|| is not one character"},
      {"label int64[-1] separator=", "separator= is not one character"},
      {"title bytes default=x", "bytes stay as they are"},
      {"title bytes decode=text", "bytes stay as they are"},
      {"label int64[] default=1 default=1", "default= is given twice"},
      {"label int64[] null=NA null=?", "null= is given twice; null=NA,NULL names several texts"},
      {"label int64[] missing=skip missing=skip", "missing= is given twice"},
      {"label float32[] scale=2 null=NA scale=2", "scale= is given twice"},
      {"title bytes[]", "is no type"},
      {"seen datetime64[s]", "; a date or time as text is int64[] decode=timestamp"},
      {"title str[]", "'str[]' is no type of texts; those are str, str[-1], str[-1, -1] ..."},
      {"title str hash=7", "hash= is for int32 and int64"},
      {"title text[]",
       "or for text str, for a list of texts str[-1], and bytes, bytes[-1] for what"},
  };
  for (const auto& [entry, words] : wrong) {
    SCOPED_TRACE(entry);
    const std::vector<std::string> entries = {"a int64[]", entry};
    const std::optional<Thrown> thrown = ErrorOf([&] { ParseFields(entries); });
    ASSERT_TRUE(thrown.has_value());
    EXPECT_NE(thrown->text.find(words), std::string::npos) << thrown->text;
    EXPECT_NE(thrown->text.find("fields[1], '"), std::string::npos) << thrown->text;
  }
}

TEST(Fields, ReadNumbersFromText) {
  EXPECT_EQ(FromText<int64_t>("x int64[]", "-9223372036854775808"),
            std::numeric_limits<int64_t>::lowest());
  EXPECT_EQ(FromText<int64_t>("x int64[]", "9223372036854775807"),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(FromText<int64_t>("x int64[]", " +42 "), 42);
  EXPECT_EQ(FromText<int64_t>("x int64[]", "0000000000000000000000000000017"), 17);
  EXPECT_EQ(FromText<int8_t>("x int8[]", "-128"), -128);
  EXPECT_EQ(FromText<uint8_t>("x uint8[]", "255"), 255);
  EXPECT_EQ(FromText<int32_t>("x int32[] base=16", "7fffFFFF"), 0x7fffffff);
  EXPECT_EQ(FromText<int64_t>("x int64[] base=16", "fFFFFFFF"), 0xffffffff);
  EXPECT_EQ(FromText<int16_t>("x int16[] base=2", "-101"), -5);
  EXPECT_EQ(FromText<float>("x float32[]", "1e-3"), 1e-3f);
  EXPECT_EQ(FromText<float>("x float32[] scale=1/255", "255"), 1.0f);
  EXPECT_EQ(FromText<double>("x float64[]", "+.5"), 0.5);
  EXPECT_EQ(FromText<uint16_t>("x float16[]", "1"), 0x3c00);
  EXPECT_EQ(FromText<uint16_t>("x bfloat16[]", "1"), 0x3f80);
  EXPECT_TRUE(std::isnan(FromText<float>("x float32[]", "nan")));
  for (const char* const text : {"inf", "+Infinity", "INF"}) {
    EXPECT_EQ(FromText<float>("x float32[]", text), HUGE_VALF);
    EXPECT_EQ(FromText<double>("x float64[]", text), HUGE_VAL);
    EXPECT_EQ(FromText<uint16_t>("x float16[]", text), 0x7c00);
  }
  EXPECT_EQ(FromText<float>("x float32[]", "-inf"), -HUGE_VALF);
  EXPECT_EQ(FromText<bool>("x bool[]", "True"), true);
  EXPECT_EQ(FromText<bool>("x bool[]", "0"), false);
}

TEST(Fields, ReadTimestamps) {
  const std::string entry = "t int64[] decode=timestamp";
  EXPECT_EQ(FromText<int64_t>(entry, "2024-01-31 12:00:05"), 1706702405);
  EXPECT_EQ(FromText<int64_t>(entry, " 2024-01-31 "), 1706659200);
  EXPECT_EQ(FromText<int64_t>(entry + " unit=ms", "2024-01-31T12:00:05.25Z"), 1706702405250);
  EXPECT_EQ(FromText<int64_t>(entry + " unit=us", "2024-01-31"), 1706659200000000);
  EXPECT_EQ(FromText<int64_t>(entry + " unit=ns", "2024-01-31"), 1706659200000000000);
  ExpectError(ErrorCode::kDataLoss, "'31.1.2024' is no timestamp: it is none of the forms",
              [&] { FromText<int64_t>(entry, "31.1.2024"); });
  ExpectError(ErrorCode::kDataLoss, "'' is no timestamp", [&] { FromText<int64_t>(entry, ""); });
  EXPECT_TRUE(One(entry).from_text());
}

TEST(Fields, ReadTimestampsOfAnyFormat) {
  const std::string entry = "t int64[] format=\"%m/%d/%Y %I:%M %p\" decode=timestamp";
  EXPECT_EQ(FromText<int64_t>(entry, "11/15/2019 9:05 AM"), 1573808700);
  EXPECT_EQ(FromText<int64_t>(entry + " unit=ms", " 11/15/2019 9:05 PM "), 1573851900000);
  EXPECT_EQ(FromText<int64_t>(entry + " null=N/A default=-1", "N/A"), -1);
  EXPECT_EQ(FromText<int64_t>("t int64[] decode=timestamp format=%d.%m.%Y", "31.1.2024"),
            1706659200);
  ExpectError(ErrorCode::kDataLoss,
              "'2019-11-15' is no timestamp of format=\"%m/%d/%Y %I:%M %p\": it has another form",
              [&] { FromText<int64_t>(entry, "2019-11-15"); });
}

TEST(Fields, KnowTextsThatAreNoValue) {
  const std::string entry = "x int64[] null=NULL,\\N";
  for (const char* const text : {"NULL", " NULL ", "\\N"}) {
    EXPECT_TRUE(One(entry).IsMissing(text)) << text;
    EXPECT_EQ(FromText<int64_t>(entry + " default=-7", text), -7) << text;
    ExpectError(ErrorCode::kDataLoss,
                " is no value, as null= says (default=, missing=mask or missing=skip",
                [&] { FromText<int64_t>(entry, text); });
  }
  for (const char* const text : {"null", "N", "NULL,\\N"}) EXPECT_FALSE(One(entry).IsNull(text));
  EXPECT_EQ(FromText<int64_t>("x int64[] hash=10 null=NA default=-1", "NA"), -1);
  EXPECT_FALSE(One("x int64[] hash=10 null=NA").IsNull(" NA"));
  EXPECT_EQ(FromText<float>("x float32[] null=nan missing=default", "nan"), 0);
  EXPECT_EQ(FromText<int64_t>("t int64[] decode=timestamp null=\"0000-00-00 00:00\" default=0",
                              "0000-00-00 00:00"),
            0);
  EXPECT_EQ(One("x bytes null=NA missing=default").BytesOf("NA"), "");
  EXPECT_EQ(One("x bytes null=NA").BytesOf(" NA"), " NA");
  ExpectError(ErrorCode::kDataLoss,
              "(missing=default, missing=mask or missing=skip after the field",
              [&] { One("x bytes null=NA").BytesOf("NA"); });
}

TEST(Fields, HaveMasksAfterAllSlots) {
  const std::vector<std::string> entries = {"\"user id\" int64[] missing=mask", "title bytes",
                                            "x float32[-1, 2] missing=mask"};
  EXPECT_EQ(NamesOf(entries),
            (std::vector<std::string>{"user id", "title", "x", "user id.valid", "x.valid"}));
  EXPECT_EQ(NamesOf({"a int64[]", "a.valid bool[] missing=mask"}),
            (std::vector<std::string>{"a", "a.valid", "a.valid.valid"}));
  ExpectError(
      ErrorCode::kInvalidArgument,
      "the mask of 'a', which says where it has a value (missing=mask), is called 'a.valid', "
      "and so is another field; rename that one, as in fields: [\"*\", \"other = a.valid\"]",
      [] {
        NamesOf({"a int64[] missing=mask", "a.valid bool[]"});
      });
  const std::vector<Field> fields = ParseFields(entries);
  const std::vector<SlotSpec> slots = SlotsOf(fields);
  ASSERT_EQ(slots.size(), 5u);
  for (size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(slots[i], fields[i].slot);
  for (size_t i = 3; i < slots.size(); ++i) EXPECT_EQ(ToString(slots[i]), "bool [1]");
}

// A mask has one bool for a record, which cannot say which of several values is none.
TEST(Fields, WithMasksFillNoGapsWithoutADefault) {
  EXPECT_EQ(FromText<int64_t>("x int64[-1] null=NA missing=mask default=7", "NA"), 7);
  ExpectError(ErrorCode::kDataLoss, "'NA' is no value, as null= says (default= after the field",
              [] { FromText<int64_t>("x int64[-1] null=NA missing=mask", "NA"); });
  const TempFile words("words.txt", "a\nb\n");
  const std::string entry = "x int64[] missing=mask vocab=" + words.path();
  EXPECT_EQ(FromText<int64_t>(entry, "b"), 1);
  EXPECT_EQ(FromText<int64_t>(entry + " default=9", "c"), 9);
  ExpectError(ErrorCode::kDataLoss, "'c' is no word of its vocabulary",
              [&] { FromText<int64_t>(entry, "c"); });
}

TEST(Fields, AreQuotedForPrograms) {
  EXPECT_EQ(QuotedEntry("x int64[] null=\\N"), "\"x int64[] null=\\\\N\"");
  EXPECT_EQ(QuotedEntry("\"user id\" int64[]"), "'\"user id\" int64[]'");
}

TEST(Fields, ReadCellsOneByOneWhereANullIsANumber) {
  EXPECT_TRUE(One("x float32[] null=NA default=0").can_read_cells());
  EXPECT_FALSE(One("x float32[] null=NA,nan default=0").can_read_cells());
  EXPECT_FALSE(One("x int64[] null=-1 default=0").can_read_cells());
  EXPECT_FALSE(One("x int64[] decode=timestamp").can_read_cells());
}

// Numbers are read eight bytes at a time. Each byte stands after each number of digits.
TEST(Fields, ReadDigitsUpToAnyByte) {
  const Field integer = One("x int64[]"), decimal = One("x float32[]");
  for (size_t count = 0; count <= 12; ++count) {
    const std::string digits = std::string("907060504030").substr(0, count);
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if ((c >= '0' && c <= '9') || std::strchr("+-.eEinIN", c) != nullptr) continue;
      for (const char* behind : {"", "1", "90123456789"}) {
        const std::string text = digits + c + behind;
        const char* const begin = text.data();
        const char* const end = begin + text.size();
        int64_t number = -1;
        float value = -1;
        const char* const expected = count == 0 ? nullptr : begin + count;
        ASSERT_EQ(integer.Read(begin, end, reinterpret_cast<char*>(&number)), expected) << text;
        ASSERT_EQ(decimal.Read(begin, end, reinterpret_cast<char*>(&value)), expected) << text;
        if (count == 0) continue;
        ASSERT_EQ(number, std::stoll(digits));
        ASSERT_EQ(value, std::stof(digits));
      }
    }
  }
}

TEST(Fields, ReadHexadecimalDigitsUpToAnyByte) {
  const Field field = One("x int64[] base=16");
  const std::string digits = "9aBf0C7d";
  for (size_t at = 0; at <= digits.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      if (at == 0 && (c == '+' || c == '-')) continue;
      std::string text = digits + '\t';
      text[at] = c;
      size_t count = 0;
      while (std::isxdigit(static_cast<unsigned char>(text[count])) != 0) ++count;
      int64_t number = -1;
      const char* const stop =
          field.Read(text.data(), text.data() + text.size(), reinterpret_cast<char*>(&number));
      ASSERT_EQ(stop, count == 0 ? nullptr : text.data() + count) << text;
      if (count == 0) continue;
      ASSERT_EQ(number, std::stoll(text.substr(0, count), nullptr, 16));
    }
  }
}

TEST(Fields, ReadCellsOneBehindTheOther) {
  const Field field = One("x int16[] default=-1");
  const auto read = [&](const std::string& text, size_t n) {
    int16_t values[8] = {};
    const char* here = text.data();
    const size_t count =
        field.ReadCells(&here, text.data() + text.size(), '|', n, reinterpret_cast<char*>(values));
    std::string found;
    for (size_t i = 0; i < count; ++i) found += StrCat(values[i], " ");
    return found + (here == nullptr ? "." : "then '" + text.substr(here - text.data()) + "'");
  };
  EXPECT_EQ(read("1|22||4", 4), "1 22 -1 4 .");
  EXPECT_EQ(read("1|22||4", 3), "1 22 -1 then '4'");
  EXPECT_EQ(read("1|22||", 6), "1 22 -1 -1 .");
  EXPECT_EQ(read("", 2), "-1 .");
  EXPECT_EQ(read("1|x|3", 3), "1 then 'x|3'");
  EXPECT_EQ(read("1|2x|3", 3), "1 then '2x|3'");
  EXPECT_EQ(read("1|99999|3", 3), "1 then '99999|3'");
}

TEST(Fields, RefuseTextThatIsNoValue) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"x int64[]", "9223372036854775808"},
      {"x int64[]", "1.5"},
      {"x int64[]", ""},
      {"x int64[]", "--1"},
      {"x int64[]", "+-1"},
      {"x int64[]", "1 2"},
      {"x uint8[]", "256"},
      {"x uint8[]", "-1"},
      {"x int8[]", "128"},
      {"x int64[]", "0x10"},
      {"x int64[]", "abc"},
      {"x float32[]", "1,5"},
      {"x float32[]", "1.5x"},
      {"x bool[]", "maybe"},
      {"x bool[]", "2"},
      {"x int32[] base=16", "100000000"},
      {"x int64[]", "-"},
      {"x float32[]", " "},
      {"x float32[]", "3.5e38"},
      {"x float32[]", "-1e999"},
      {"x float64[]", "1e309"},
      {"x float16[]", "65520"},
      {"x bfloat16[]", "3.4e38"},
      {"x float32[] scale=10", "1e38"},
      {"x float32[] scale=10", "1e308"},
      {"x float64[] scale=10", "1e308"},
  };
  for (const auto& [entry, text] : wrong) {
    SCOPED_TRACE(StrCat(entry, " ", text));
    char place[8];
    ExpectError(ErrorCode::kDataLoss, "'" + text + "' is no ",
                [&, &entry = entry, &text = text] { One(entry).ReadAll(text, place); });
  }
}

TEST(Fields, TakeNumbersThatTheTypeCanHold) {
  EXPECT_EQ(FromNumber<uint8_t>("x uint8[]", int64_t{255}), 255);
  EXPECT_EQ(FromNumber<int64_t>("x int64[]", 3.0), 3);
  EXPECT_EQ(FromNumber<float>("x float32[] scale=0.5", int64_t{3}), 1.5f);
  char place[8];
  for (const double number : {1.5, 9.3e18, -1e300, std::nan("")}) {
    ExpectError(ErrorCode::kDataLoss, "is no int64",
                [&] { One("x int64[]").Write(number, place); });
  }
  for (const char* const type : {"float32", "float16", "bfloat16"}) {
    ExpectError(ErrorCode::kDataLoss, StrCat("1e+300 is no ", type),
                [&] { One(StrCat("x ", type, "[]")).Write(1e300, place); });
  }
  ExpectError(ErrorCode::kDataLoss, "70000 is no float16",
              [&] { One("x float16[]").Write(int64_t{70000}, place); });
  EXPECT_EQ(FromNumber<float>("x float32[]", -HUGE_VAL), -HUGE_VALF);
  ExpectError(ErrorCode::kDataLoss, "256 is no uint8",
              [&] { One("x uint8[]").Write(int64_t{256}, place); });
  ExpectError(ErrorCode::kDataLoss, "2 is no bool",
              [&] { One("x bool[]").Write(int64_t{2}, place); });
}

TEST(Fields, NumberWordsByHashAndByVocabulary) {
  EXPECT_EQ(FromText<int64_t>("x int64[] hash=1000003", "word"),
            static_cast<int64_t>(XXH64("word", 4, 0) % 1000003));
  // The function is frozen: these numbers may be in models of users.
  EXPECT_EQ(FromText<int64_t>("x int64[] hash=1000003", "word"), 560383);
  EXPECT_EQ(FromText<int32_t>("x int32[] hash=1000", ""), 921);
  const TempFile words("words.txt", "the\r\nquick\n\nfox");
  const std::string vocabulary = " vocab=" + words.path();
  EXPECT_EQ(FromText<int64_t>("x int64[]" + vocabulary, "the"), 0);
  EXPECT_EQ(FromText<int64_t>("x int64[]" + vocabulary, "fox"), 3);
  EXPECT_EQ(FromText<int32_t>("x int32[] default=-1" + vocabulary, "dog"), -1);
  EXPECT_TRUE(One("x int64[]" + vocabulary).IsMissing("dog"));
  ExpectError(ErrorCode::kDataLoss, "'dog' is no word of its vocabulary",
              [&] { FromText<int64_t>("x int64[]" + vocabulary, "dog"); });
  // A CR alone ends a word, and the mark of UTF-8 is no part of the first one.
  const TempFile cr("cr.txt", "the\rquick\r\rfox\r");
  EXPECT_EQ(FromText<int64_t>("x int64[] vocab=" + cr.path(), "fox"), 3);
  EXPECT_EQ(FromText<int64_t>("x int64[] vocab=" + cr.path(), "quick"), 1);
  const TempFile marked("marked.txt",
                        "\xef\xbb\xbf"
                        "the\nfox\n");
  EXPECT_EQ(FromText<int64_t>("x int64[] vocab=" + marked.path(), "the"), 0);
  EXPECT_EQ(FromText<int64_t>("x int64[] vocab=" + marked.path(), "fox"), 1);
  const TempFile twice("twice.txt", "a\nb\na\n");
  ExpectError(ErrorCode::kDataLoss, "line 3: the word 'a' stands in line 1, too",
              [&] { One("x int64[] vocab=" + twice.path()); });
  ExpectError(ErrorCode::kIo, "nowhere.txt", [] { One("x int64[] vocab=/nowhere.txt"); });
}

TEST(Fields, KnowWhatStandsForMissingValues) {
  const Field field = One("x int32[] default=-1");
  EXPECT_EQ(field.missing, Field::Missing::kDefault);
  int32_t values[2] = {};
  field.WriteDefault(2, reinterpret_cast<char*>(values));
  EXPECT_EQ(values[0], -1);
  EXPECT_EQ(values[1], -1);
  EXPECT_TRUE(field.IsMissing(""));
  EXPECT_FALSE(One("x bytes").IsMissing(""));
  EXPECT_TRUE(AnySkips(ParseFields({"a int64[]", "b int64[] missing=skip"})));
  EXPECT_FALSE(AnySkips(ParseFields({"a int64[] missing=default"})));
}

}  // namespace
}  // namespace millhopper
