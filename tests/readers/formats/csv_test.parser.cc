// SPDX-License-Identifier: Apache-2.0
// Tables: the syntax of CSV and TSV, columns, missing values, errors with line and column, and real
// files with known truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/fields/fields.h"
#include "readers/sources/open_files.h"
#include "readers/support/text_file.h"
#include "tests/bytes.h"
#include "tests/files/index_files.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

Texts Csv(const std::string& content, const std::vector<std::string>& fields,
          const std::vector<std::pair<std::string, Attribute>>& attributes = {}) {
  return TextsIn("csv", content, fields, attributes);
}

std::pair<std::string, Attribute> Text(const std::string& name, const std::string& value) {
  return {name, value};
}

void ExpectCsvError(const std::string& content, const std::vector<std::string>& fields,
                    const std::string& words, ErrorCode code = ErrorCode::kDataLoss) {
  ExpectError(code, words, [&] { Csv(content, fields); });
}

TEST(Csv, ReadsColumnsByNameAndByNumber) {
  const std::string content = "id,price,name\n7,1.5,ab\n8,-2,\n";
  const Texts rows = {"1.5 | 7 | 'ab'", "-2.0 | 8 | ''"};
  EXPECT_EQ(Csv(content, {"price float32[]", "id int64[]", "name bytes"}), rows);
  EXPECT_EQ(Csv(content, {"#1 float32[]", "id int64[]", "#2 bytes"}), rows);
  EXPECT_EQ(Csv("7,1.5,ab\n8,-2,\n", {"#1 float32[]", "#0 int64[]", "#2 bytes"}), rows);
  EXPECT_EQ(Csv(content, {"#1 float32[]", "#0 int64[]", "#2 bytes"}, {Text("header", "yes")}),
            rows);
  EXPECT_EQ(Csv(content, {"id int64[]", "id float32[]"}), (Texts{"7 | 7.0", "8 | 8.0"}));
  EXPECT_EQ(Csv("a b,\"c,d\"\n1,2\n", {"\"a b\" int64[]", "c,d int64[]"}), (Texts{"1 | 2"}));
}

TEST(Csv, ReadsSeveralColumnsOrValuesAsOneTensor) {
  EXPECT_EQ(Csv("9,1,2,3\n8,4,5,6\n", {"#1-#3 float32[3]", "#0 int64[]"}),
            (Texts{"1.0 2.0 3.0 | 9", "4.0 5.0 6.0 | 8"}));
  EXPECT_EQ(Csv("1 2  3,4\n,5\n", {"#0 int64[-1]", "#1 int64[]"}), (Texts{"1 2 3 | 4", " | 5"}));
  EXPECT_EQ(Csv("1 2 3 4\n", {"#0 int64[2,2]"}), (Texts{"1 2 3 4"}));
  EXPECT_EQ(Csv("1;2\n", {"#0 int64[2]"}, {Text("separator", ";")}), (Texts{"1 2"}));
  EXPECT_EQ(
      Csv("the 7 7.5\n", {"#1 int64[]", "#2 float32[]", "#0 bytes"}, {Text("delimiter", " ")}),
      (Texts{"7 | 7.5 | 'the'"}));
  ExpectCsvError("1 2 3\n", {"#0 int64[2]"}, "column #0: it has 3 values, 2 are declared");
  ExpectCsvError("1 2 3\n", {"#0 int64[-1,2]"}, "its 3 values are not whole steps of 2");
}

TEST(Csv, ReadsColumnsForSeveralSlots) {
  const std::string rows = "1,2,3,4,5\n6,\"7\", 8 ,9,10\n";
  EXPECT_EQ(
      Csv(rows, {"#0-#3 int64[4]", "#2 bytes", "#1-#4 float32[4]", "#2-#3 int8[2]"}),
      (Texts{"1 2 3 4 | '3' | 2.0 3.0 4.0 5.0 | 3 4", "6 7 8 9 | ' 8 ' | 7.0 8.0 9.0 10.0 | 8 9"}));
  EXPECT_EQ(Csv("1,2,3\n4,,6\n,8,9\n", {"#0-#1 int64[2] missing=skip", "#2 int64[]"}),
            (Texts{"1 2 | 3"}));
}

TEST(Csv, KeepsTheSyntaxOfRfc4180) {
  EXPECT_EQ(Csv("\"a\",\"b \"\"c\"\"\",\"d,e\"\r\n\"line\nend\",\"\",x\r\n",
                {"#0 bytes", "#1 bytes", "#2 bytes"}),
            (Texts{"'a' | 'b \"c\"' | 'd,e'", "'line\nend' | '' | 'x'"}));
  // A quote within a cell that has none around it is text.
  EXPECT_EQ(Csv("5\" disk,1\n3'4\",2\n", {"#0 bytes", "#1 int64[]"}),
            (Texts{"'5\" disk' | 1", "'3'4\"' | 2"}));
  EXPECT_EQ(Csv("\"1\",\"2.5\"\n", {"#0 int64[]", "#1 float32[]"}), (Texts{"1 | 2.5"}));
  EXPECT_EQ(Csv("\"1\",\"2\"", {"#0 int64[]", "#1 int64[]"}), (Texts{"1 | 2"}));
  EXPECT_EQ(Csv("1,2\n\n\r\n3,4", {"#0 int64[]", "#1 int64[]"}), (Texts{"1 | 2", "3 | 4"}));
  EXPECT_EQ(Csv(" 1 , 2.5 \n", {"#0 int64[]", "#1 float32[]"}), (Texts{"1 | 2.5"}));
  EXPECT_EQ(Csv("", {"#0 int64[]"}), Texts{});
  EXPECT_EQ(Csv("a,b\n", {"a int64[]"}), Texts{});
}

TEST(Csv, KnowsCommentsAndTheMarkOfUtf8) {
  EXPECT_EQ(Csv("# \"it's\na,b\n#1,2\n3,4\n", {"a int64[]", "b int64[]"}, {Text("comment", "#")}),
            (Texts{"3 | 4"}));
  EXPECT_EQ(Csv("\xef\xbb\xbf"
                "1,2\n",
                {"#0 int64[]"}),
            (Texts{"1"}));
  EXPECT_EQ(Csv("\xef\xbb\xbf"
                "\"a,\n\",b\n1,2\n",
                {"\"a,\n\" int64[]"}),
            (Texts{"1"}));
  EXPECT_EQ(TextsIn("tsv",
                    "\xef\xbb\xbf"
                    "1\t2\n",
                    {"#0 int64[]"}),
            (Texts{"1"}));
}

// Texts in other encodings, told by their marks or by a name.
TEST(Csv, DecodesText) {
  const std::string utf8 = "n\u00e4me,t\n1,\u20ac \U0001F600\n2,\"x\ny\"\n";
  const Texts rows = {"1 | '\u20ac \U0001F600'", "2 | 'x\ny'"};
  const auto utf16 = [&](bool big_end, bool marked) {
    std::u16string units = u"n\u00e4me,t\n1,\u20ac \U0001F600\n2,\"x\ny\"\n";
    if (marked) units.insert(0, 1, u'\ufeff');
    std::string bytes;
    for (const char16_t unit : units) {
      const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
      bytes += big_end ? high : low;
      bytes += big_end ? low : high;
    }
    return bytes;
  };
  const auto encoding = [](const char* name) { return Text("encoding", name); };
  for (const bool big_end : {false, true}) {
    EXPECT_EQ(Csv(utf16(big_end, true), {}), rows);
    EXPECT_EQ(Csv(utf16(big_end, true), {"#0 int64[]", "t bytes"}), rows);
    const TempFile packed("a.csv.gz", Gzipped(utf16(big_end, true)));
    EXPECT_EQ(TextsOf(FieldReader("csv", packed.path(), {}).get()), rows);
    EXPECT_EQ(Csv(utf16(big_end, false), {}, {encoding(big_end ? "utf-16be" : "UTF-16LE")}), rows);
  }
  EXPECT_EQ(Csv(utf8, {}), rows);
  EXPECT_EQ(Csv("a\n\xe9\n", {}, {encoding("latin-1")}), Texts{"'\u00e9'"});
  EXPECT_EQ(Csv("a\n\x80\n", {}, {encoding("windows-1252")}), Texts{"'\u20ac'"});
  EXPECT_EQ(Csv("a\n\x83\x65\n", {"a bytes"}, {encoding("Shift_JIS")}), Texts{"'\u30c6'"});
  // What is no UTF-8 is an error where fields are inferred, and as it is where they are given.
  ExpectCsvError("a,b\n1,\xe9\n", {}, "byte 2 of the row is none of a text in UTF-8; encoding: ");
  ExpectCsvError("a,b\n1,\xe9\n", {}, "in line 2, which begins at byte 4");
  EXPECT_EQ(Csv("a\n\xe9\n", {"a bytes"}), Texts{"'\xe9'"});
  std::string large = "a\n";
  while (large.size() < (size_t{3} << 20)) large += "some text\n";
  ExpectCsvError(large + "\xe9\n" + large + large, {},
                 "byte 0 of the row is none of a text in UTF-8");
  ExpectError(ErrorCode::kDataLoss, "byte 6 is the first of a character that is cut off, in",
              [&] { Csv(utf16(false, true).substr(0, 7), {"#0 bytes"}); });
  ExpectError(ErrorCode::kDataLoss, "byte 4 is none of a text in", [&] {
    Csv(std::string("\xff\xfe"
                    "a\0"
                    "\0\xdc"
                    "b\0",
                    8),
        {"#0 bytes"});
  });
  ExpectError(ErrorCode::kInvalidArgument, "the encoding 'utf-17' is none that iconv knows",
              [&] { Csv("a\n1\n", {}, {encoding("utf-17")}); });
  // Errors count the lines of the text.
  std::string many;
  for (int i = 0; i < 100000; ++i) many += std::string("7\0\n\0", 4);
  ExpectError(ErrorCode::kDataLoss, "in line 100001, which begins at byte 200003",
              [&] { Csv("\xff\xfe" + many + std::string("x\0\n\0", 4), {"#0 int64[]"}); });
}

// Text in two or four bytes for each character, without the mark that tells so.
TEST(Csv, NamesTheEncodingOfOtherUnicode) {
  const auto wide = [](const std::string& text, size_t bytes, bool big_end) {
    std::string all;
    for (const char c : text) {
      std::string one(bytes, 0);
      one[big_end ? bytes - 1 : 0] = c;
      all += one;
    }
    return all;
  };
  const std::string text = "id,name\n1,x\n2,y\n";
  for (const size_t bytes : {2, 4}) {
    for (const bool big_end : {false, true}) {
      const TempFile file("wide.csv", wide(text, bytes, big_end));
      const FormatSchema& format = *FindFileFormat("csv");
      const std::string name = StrCat("utf-", 8 * bytes, big_end ? "be" : "le");
      ExpectError(ErrorCode::kDataLoss,
                  StrCat("bytes that are 0, as in ", name, "; encoding: \"", name, "\" reads it"),
                  [&] { format.guess_fields(file.path(), format.WithDefaults({})); });
      AttributeMap attributes;
      attributes.Set("encoding", name);
      const FittingFields found = format.guess_fields(file.path(), format.WithDefaults(attributes));
      EXPECT_EQ(found.entries, (Texts{"id int64[]", "name str"}));
    }
  }
}

TEST(Csv, ReadsEscapes) {
  const std::vector<std::pair<std::string, Attribute>> escape = {Text("escape", "\\")};
  EXPECT_EQ(Csv("a,b\n\"x \\\"y\\\" z\",1\nx\\,y,2\n\"\\\\\",3\n\"p\\\nq\",4\n", {}, escape),
            (Texts{"'x \"y\" z' | 1", "'x,y' | 2", "'\\' | 3", "'p\nq' | 4"}));
  EXPECT_EQ(Csv("a\tb\nx\\\ty\tz\\\nw\n", {"a bytes", "b bytes"},
                {Text("escape", "\\"), Text("quote", ""), Text("delimiter", "\t")}),
            (Texts{"'x\ty' | 'z\nw'"}));
  EXPECT_EQ(Csv("\"a \"\"b\"\"\",1\n", {"#0 bytes"}, escape), Texts{"'a \"b\"'"});
  ExpectCsvError("a,b\n\"x \\\"y\",1\n", {"b int64[]"},
                 "text follows the closing quote of a cell; escape: \"\\\\\" reads");
  ExpectError(ErrorCode::kDataLoss, "a quote that is not closed",
              [&] { Csv("\"a\\\"\n", {"#0 bytes"}, escape); });
  // At every place around the border of two blocks.
  for (size_t before = kReadBlockBytes - 4; before <= kReadBlockBytes + 1; ++before) {
    const std::string filler(before, 'f');
    EXPECT_TRUE(Csv(filler + ",1\n\\\"x\\,\\\n,2\n", {"#0 bytes", "#1 int64[]"}, escape) ==
                (Texts{"'" + filler + "' | 1", "'\"x,\n' | 2"}));
  }
}

TEST(Csv, ReadsDecimalCommas) {
  const std::vector<std::pair<std::string, Attribute>> comma = {Text("decimal", ","),
                                                                Text("delimiter", ";")};
  EXPECT_EQ(Csv("a;b;c\n1,5;2;x,y\n-0,25;;z\n", {}, comma),
            (Texts{"1.5 | 2 | 'x,y' | true", "-0.25 | 0 | 'z' | false"}));
  EXPECT_EQ(Csv("1,5;2,5\n", {"#0-#1 float32[2]"}, comma), Texts{"1.5 2.5"});
  ExpectError(ErrorCode::kDataLoss, "'1.5' has a point, and decimal is ','",
              [&] { Csv("1.5\n", {"#0 float64[]"}, comma); });
  EXPECT_EQ(Csv("a;b\n1.500,5;2\n", {}, comma), Texts{"'1.500,5' | 2"});
  ExpectError(ErrorCode::kInvalidArgument, "decimal and delimiter are both ','",
              [&] { Csv("1,5\n", {"#0 float64[]"}, {Text("decimal", ",")}); });
}

TEST(Csv, SkipsRowsAndTakesRaggedOnes) {
  const auto skip = [](int32_t rows) {
    return std::vector<std::pair<std::string, Attribute>>{{"skip_rows", rows}};
  };
  const std::string titles = "Report of 2024\n\na,b\n1,2\n3,4\n5,6\n";
  EXPECT_EQ(Csv(titles, {}, skip(1)), (Texts{"1 | 2", "3 | 4", "5 | 6"}));
  EXPECT_EQ(Csv(titles, {"b int64[]"}, skip(2)), (Texts{"2", "4", "6"}));
  EXPECT_EQ(Csv(titles, {"#0 int64[]"}, skip(3)), (Texts{"1", "3", "5"}));
  EXPECT_EQ(Csv(titles, {"#0 int64[]"}, skip(9)), Texts{});
  ExpectCsvError(titles, {},
                 "the first row has 1 cell, and most have 2; if rows before the table are "
                 "titles, skip_rows: 2 begins with the row 'a' ...");
  const std::string ragged = "a,b,c\n1,x\n2,y,3\n4,z,5,6\n";
  const auto rows = [&](const char* word, const Texts& fields = {}) {
    return Csv(ragged, fields, {Text("ragged_rows", word)});
  };
  EXPECT_EQ(rows("cut"),
            (Texts{"1 | 'x' | 0 | false", "2 | 'y' | 3 | true", "4 | 'z' | 5 | true"}));
  EXPECT_EQ(rows("cut", {"c int64[] missing=skip"}), (Texts{"3", "5"}));
  ExpectError(ErrorCode::kDataLoss, "the row has 4 columns, the header has 3; skip_rows leaves out",
              [&] { rows("fill"); });
  ExpectCsvError(ragged, {"a int64[]"},
                 "with ragged_rows \"fill\" the cells that it lacks are empty");
}

// Quotes that are text for the syntax, and the delimiters within them: nothing is to be cut off.
TEST(Csv, SaysWhatToDoAboutOtherQuotes) {
  const auto problem = [](const std::string& content, const std::string& quote = "\"") {
    try {
      Csv(content, {}, {Text("quote", quote)});
    } catch (const Error& error) {
      const std::string end_of_path = "a.csv: ";
      return error.message().substr(error.message().find(end_of_path) + end_of_path.size());
    }
    return std::string("no error");
  };
  const std::string single = "; quote: \"'\" makes one cell of what is in such quotes";
  const std::string spaces =
      "; a quote is one as the first character of its cell only, and here spaces stand before it: "
      "write the file without them, such as from what csv.reader(file, skipinitialspace=True) of "
      "Python reads";
  const std::string longer = "the row has 3 columns, the header has 2";
  const std::string later = "a,b\n1,'x'\n2,'it''s, z'\n";
  EXPECT_EQ(problem(later), longer + single);
  EXPECT_EQ(Csv(later, {}, {Text("quote", "'")}), (Texts{"1 | 'x'", "2 | 'it's, z'"}));
  const std::string most = "a,b\n'1,2',x\n'3,4','y'\n";
  EXPECT_EQ(problem(most), "the first row has 2 cells, and most have 3" + single);
  EXPECT_EQ(Csv(most, {}, {Text("quote", "'")}), (Texts{"'1,2' | 'x'", "'3,4' | 'y'"}));
  EXPECT_EQ(problem("a,b\n1, \"x\"\n2, \"y, z\"\n"), longer + spaces);
  EXPECT_EQ(problem("a,b\n1,x\n2, 'y, z'\n"), longer + single + spaces);
  EXPECT_EQ(problem("a,b\n1,x\n2,\"y, z\"\n", ""),
            longer + "; quote: \"\\\"\" makes one cell of what is in such quotes");
  EXPECT_EQ(problem("a, \"b, c\"\n1,2\n"),
            "column #2 ' c\"': the row has 2 columns, the header has 3" + spaces);
  // Quotes that go on across lines.
  const std::string shorter = "column #2 'c': the row has 2 columns, the header has 3";
  EXPECT_EQ(problem("a,b,c\n1,x,y\n1, \"x\ny\", z\n"), shorter + spaces);
  EXPECT_EQ(problem("a,b\n1,x\n1, \"x\ny\"\n"),
            "column #1 'b': the row has 1 column, the header has 2; its quote closes one of a row "
            "before it, perhaps, which spaces stand before, so that it opens no cell: write the "
            "file without these spaces");
  EXPECT_EQ(problem("a,b,c\n1,x,y\n1,\"x\"\n"),
            shorter + "; with ragged_rows \"fill\" the cells that it lacks are empty");
  for (const char* const row : {"1, \"x\",y", "'tis,it's,x", "1,5\",6\"", "1,x,'", "1,,"}) {
    EXPECT_EQ(problem(StrCat("a,b\n1,2\n3,4\n", row, "\n")),
              longer +
                  "; skip_rows leaves out rows before the table, and ragged_rows \"cut\" the cells "
                  "after those of the first row")
        << row;
  }
}

// The delimiter, quotes and header that a file is found to have, in print and in states.
TEST(Csv, FindsHowATableIsWritten) {
  const auto found = [](const std::string& tag, const std::string& content) {
    const TempFile file("guess." + tag, content);
    const FormatSchema& format = *FindFileFormat(tag);
    const FittingFields fields = format.guess_fields(file.path(), format.WithDefaults({}));
    std::string text;
    for (const auto& [name, value] : fields.attributes.values()) {
      if (name == kNumbers) continue;  // wherever there are some
      text += StrCat(name, "=", std::get<std::string>(value), " ");
    }
    for (const std::string& entry : fields.entries) text += StrCat(entry, "; ");
    return text;
  };
  const std::string two = "a int64[]; b str; ";
  EXPECT_EQ(found("csv", "a,b\n1,x;y\n"), "encoding=utf-8 " + two);
  EXPECT_EQ(found("csv", "a;b\n1;x\n2;y,z\n"), "delimiter=; encoding=utf-8 " + two);
  EXPECT_EQ(found("csv", "a\tb\n1\t\"x\ty\"\n"), "delimiter=\\t encoding=utf-8 " + two);
  EXPECT_EQ(found("csv", "a|b\n1|\"x\n\"\n"), "delimiter=| encoding=utf-8 " + two);
  EXPECT_EQ(found("csv", "1,5;2,5\n3,5;4,5\n"), "delimiter=; encoding=utf-8 #0 str; #1 str; ");
  EXPECT_EQ(found("csv", "text\nhello; you\ngood; bye\n"), "encoding=utf-8 text str; ");
  EXPECT_EQ(found("tsv", "a\tb\n1\t\"x\"\n"), "encoding=utf-8 quote=\" " + two);
  EXPECT_EQ(found("tsv", "a\tb\n1\t5\"\n"), "encoding=utf-8 " + two);
  EXPECT_EQ(found("csv", "x,x\n1,2\n"), "encoding=utf-8 header=yes #0 int64[]; #1 int64[]; ");
  // Names by which pandas writes an index and the columns of an array.
  EXPECT_EQ(found("csv", ",0,1\n0,1.5,2\n"),
            "encoding=utf-8 header=yes #0 int64[]; 0 float64[]; 1 int64[]; ");
  // Names above numbers that no type holds, beside names that could be values.
  EXPECT_EQ(found("csv", "id,true\n1119181625388860429282,x\n2,\n"),
            "encoding=utf-8 id str; true str missing=mask; ");
  EXPECT_EQ(found("csv", "sum,true\n\"1,000\",x\n,y\n"),
            "encoding=utf-8 sum str missing=mask; true str; ");
  EXPECT_EQ(found("csv", "id,true\n007x,x\n2,y\n"), "encoding=utf-8 #0 str; #1 str; ");
  EXPECT_EQ(found("csv", "0,1\n1.5,2.5\n"), "encoding=utf-8 0 float64[]; 1 float64[]; ");
  EXPECT_EQ(found("csv", "country,2019,2020\nFR,1,2\n"),
            "encoding=utf-8 country str; 2019 int64[]; 2020 int64[]; ");
  EXPECT_EQ(found("csv", "FR,1,2\nDE,3,4\n"), "encoding=utf-8 #0 str; #1 int64[]; #2 int64[]; ");
  EXPECT_EQ(Csv("#1,#0\n1,x\n", {}), Texts{"1 | 'x'"});  // names, not numbers
  // What is no name of a column is a value.
  EXPECT_EQ(found("csv", ",5\n1,2\n"), "encoding=utf-8 #0 int64[] missing=mask; #1 int64[]; ");
  EXPECT_EQ(found("csv", "NA,5\n3,4\n"),
            "encoding=utf-8 #0 int64[] null=NA missing=mask; #1 int64[]; ");
  EXPECT_EQ(found("csv", "007\n008\n"), "encoding=utf-8 #0 str; ");
  EXPECT_EQ(Csv("a;b\n1;x\n", {}), Texts{"1 | 'x'"});
  EXPECT_EQ(TextsIn("tsv", "a\tb\n1\t\"x\"\n", {}), Texts{"1 | 'x'"});
}

// "a,b" and 49 rows "i,i * i", with this end after each line but perhaps the last.
std::string Squares(const std::string& end, bool last_ends) {
  std::string content = "a,b";
  for (int i = 1; i < 50; ++i) content += StrCat(end, i, ",", i * i);
  return content + (last_ends ? end : "");
}

Texts SquareRows() {
  Texts rows;
  for (int i = 1; i < 50; ++i) rows.push_back(StrCat(i, " | '", i * i, "'"));
  return rows;
}

TEST(Csv, EndsRowsAtLfAndCrLfAndCrAlone) {
  const std::vector<std::string> fields = {"a int64[]", "b bytes"};
  for (const char* const end : {"\n", "\r\n", "\r", "\r\r", "\r\n\r", "\n\r"}) {
    for (const bool last_ends : {false, true}) {
      SCOPED_TRACE(StrCat(Escaped(end), last_ends));
      const std::string content = Squares(end, last_ends);
      for (const char* const quote : {"\"", ""}) {
        EXPECT_EQ(Csv(content, fields, {Text("quote", quote)}), SquareRows());
        const TempFile packed("a.csv.gz", Gzipped(content));
        EXPECT_EQ(TextsOf(FieldReader("csv", packed.path(), fields, {Text("quote", quote)}).get()),
                  SquareRows());
      }
    }
  }
  // One row with each end, and a last one that ends in CR without LF.
  EXPECT_EQ(Csv("a\r1\n2\r\n3\r4\r", {"a bytes"}), (Texts{"'1'", "'2'", "'3'", "'4'"}));
  EXPECT_EQ(Csv("a\nx\ny\r", {"a bytes"}), (Texts{"'x'", "'y'"}));
  EXPECT_EQ(TextsIn("tsv", "a\tb\r1\tx\r2\ty\r", {"a int64[]", "b bytes"}),
            (Texts{"1 | 'x'", "2 | 'y'"}));
  // In quotes a CR is text, and a comment ends with it.
  EXPECT_EQ(Csv("a,b\r\"x\ry\",\"1\"\r\"z\r\",2\r", {"a bytes", "b int64[]"}),
            (Texts{"'x\ry' | 1", "'z\r' | 2"}));
  EXPECT_EQ(Csv("a\r# it's \"no\" row\r1\r", {"a int64[]"}, {Text("comment", "#")}), (Texts{"1"}));
  ExpectCsvError("a\r1\r2\rx\r", {"a int64[]"}, "in line 4, which begins at byte 6");
  ExpectCsvError("a\r1\r\n\nx\r", {"a int64[]"}, "in line 4, which begins at byte 6");
  const TempFile file("a.csv", Squares("\r", true));
  EXPECT_EQ(FindFileFormat("csv")
                ->guess_fields(file.path(), FindFileFormat("csv")->WithDefaults({}))
                .entries,
            (Texts{"a int64[]", "b int64[]"}));
}

// Every place of a line end around the border of two blocks, and of two chunks of a plain file.
TEST(Csv, EndsRowsAtAnyBorderOfBlocks) {
  const TempFile numbers("numbers.tsv", [] {
    std::string rows;
    while (rows.size() < 2 * kReadBlockBytes) rows += "1\n";
    return rows;
  }());
  uint64_t stretch = 0;  // where the second chunk of a plain file begins
  const auto many = FieldReader("tsv", numbers.path(), {"#0 bytes"});
  for (TicketRun run; stretch == 0; run.Clear()) {
    ASSERT_GT(many->Plan(1000, &run), 0u);
    stretch = run.tickets.back().id.chunk;
  }
  for (const std::string end : {"\r", "\r\n", "\r\r\n", "\n\r"}) {
    for (const size_t border : {stretch, uint64_t{kReadBlockBytes}}) {
      for (size_t before = border - 6; before <= border + 3; ++before) {
        SCOPED_TRACE(StrCat(Escaped(end), " ", border, " ", before));
        const std::string filler(before, 'f'), begin = StrCat(filler.substr(2), "\r2");
        const Texts rows = {"'" + filler.substr(2) + "'", "'2'", "'x'", "'" + filler + "'", "'y'"};
        const std::string content = StrCat(begin, end, "x", end, filler, end, "y", end);
        const TempFile plain("a.csv", content), packed("a.csv.gz", Gzipped(content));
        for (const std::string& path : {plain.path(), packed.path()}) {
          for (const char* const quote : {"\"", ""}) {
            ASSERT_TRUE(
                TextsOf(FieldReader("csv", path, {"#0 bytes"}, {Text("quote", quote)}).get()) ==
                rows);
          }
        }
      }
    }
  }
}

// Large files of each kind of line end, with an index and without, for any number of threads.
TEST(Csv, GivesTheSameRowsWhateverEndsThem) {
  for (const std::string end : {"\r", "\r\n"}) {
    std::string content = "id\tx" + end;
    Texts expected;
    for (int i = 0; content.size() < 3 * kReadBlockBytes; ++i) {
      const std::string text(static_cast<size_t>(i % 89), 'x');
      content += StrCat(i, "\t", text, end);
      expected.push_back(StrCat(i, " | '", text, "'"));
    }
    const TempFile plain("rows.tsv", content), packed("rows.tsv.gz", Gzipped(content));
    const std::vector<std::string> fields = {"id int64[]", "x bytes"};
    const auto read = [&](const std::string& path) {
      return TextsOf(FieldReader("tsv", path, fields).get());
    };
    for (const int workers : {0, 1, 7}) {
      const PoolSize size(workers);
      EXPECT_TRUE(read(plain.path()) == expected) << workers;
      EXPECT_TRUE(read(packed.path()) == expected) << workers;
    }
    WriteIndex("tsv", plain.path(), fields);
    EXPECT_EQ(FieldReader("tsv", plain.path(), fields)->PassLength(), expected.size());
    EXPECT_TRUE(read(plain.path()) == expected);
    Texts parts;
    for (const int64_t shard : {0, 1}) {
      ShardReader reader(FieldReader("tsv", plain.path(), fields), 2, shard, ShardBy::kChunk);
      for (std::string& text : TextsOf(&reader)) parts.push_back(std::move(text));
    }
    std::sort(parts.begin(), parts.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(parts == expected);
  }
}

TEST(Csv, HasDefaultsForMissingValues) {
  const std::string content = "a,b\n1,x\n,y\n3,z\n";
  EXPECT_EQ(Csv(content, {"a int64[] default=-1", "b bytes"}),
            (Texts{"1 | 'x'", "-1 | 'y'", "3 | 'z'"}));
  EXPECT_EQ(Csv(content, {"a float32[] missing=default"}), (Texts{"1.0", "0.0", "3.0"}));
  EXPECT_EQ(Csv(content, {"a int64[] missing=skip", "b bytes"}), (Texts{"1 | 'x'", "3 | 'z'"}));
  ExpectCsvError(content, {"a int64[]"},
                 "column #0 'a': the cell is empty (default=, missing=mask or missing=skip");
  const TempFile words("words.txt", "y\nz\n");
  EXPECT_EQ(Csv(content, {"b int64[] missing=skip vocab=" + words.path()}), (Texts{"0", "1"}));
  EXPECT_EQ(Csv(content, {"b int64[] default=9 vocab=" + words.path()}), (Texts{"9", "0", "1"}));
}

TEST(Csv, TellsByMasksWhereValuesAre) {
  const std::string content = "a,b,c,d\n1,x,1 2,7\n,,,8\nNA,NA,3,9\n4,y,5 6,\n";
  EXPECT_EQ(Csv(content, {"a int64[] missing=mask null=NA", "b bytes missing=mask null=NA",
                          "c int64[-1] missing=mask"}),
            (Texts{"1 | 'x' | 1 2 | true | true | true", "0 | '' |  | false | false | false",
                   "0 | '' | 3 | false | false | true", "4 | 'y' | 5 6 | true | true | true"}));
  EXPECT_EQ(TextsInFiles("csv", {content, "a,b,c,d,e\n,,,1,0.5\n"},
                         {"d int64[]  missing=mask default=-1", "e float32[] missing=mask"}),
            (Texts{"7 | 0.0 | true | false", "8 | 0.0 | true | false", "9 | 0.0 | true | false",
                   "-1 | 0.0 | false | false", "1 | 0.5 | true | true"}));
  EXPECT_EQ(Csv("1,2\n,4\n5,\n6,7\n", {"#0-#1 int64[2] missing=mask"}),
            (Texts{"1 2 | true", "0 4 | false", "5 0 | false", "6 7 | true"}));
}

TEST(Csv, ReadsTimestamps) {
  const std::string content =
      "t,n\n2024-01-31 12:00:05,1\n\"2024-01-31T13:00:05+01:00\",2\n2024-01-31,3\n";
  EXPECT_EQ(Csv(content, {"t int64[] decode=timestamp", "n int64[]"}),
            (Texts{"1706702405 | 1", "1706702405 | 2", "1706659200 | 3"}));
  EXPECT_EQ(
      Csv("2024-01-31;2024-02-01 00:00:01.5|1970-01-01 00:00:00.001\n",
          {"#0 int64[] decode=timestamp", "#1 int64[-1] decode=timestamp unit=ms separator=|"},
          {Text("delimiter", ";")}),
      (Texts{"1706659200 | 1706745601500 1"}));
  EXPECT_EQ(TextsIn("tsv", "2024-01-31\t\n\t1970-01-02\n",
                    {"#0-#1 int64[2] decode=timestamp default=-1"}),
            (Texts{"1706659200 -1", "-1 86400"}));
  ExpectCsvError("t\n2024-01-31\n2023-02-29\n", {"t int64[] decode=timestamp"},
                 "column #0 't': '2023-02-29' is no timestamp: there is no such day");
  ExpectCsvError("t\n2024-01-31\n2023-02-29\n", {"t int64[] decode=timestamp"},
                 "in line 3, which begins at byte 13");
  const std::string format = "#1 int64[] decode=timestamp format=\"%B %d, %Y %I:%M %p\"";
  EXPECT_EQ(Csv("1,\"November 5, 2019 9:05 PM\"\n2,\"May 15, 2020  12:05 am\"\n", {format}),
            (Texts{"1572987900", "1589501100"}));
  ExpectCsvError("1,\"May 5, 2019 9:05 PM\"\n2,2019-11-05\n", {format},
                 "column #1: '2019-11-05' is no timestamp of format=\"%B %d, %Y %I:%M %p\": it has "
                 "another form");
  ExpectError(ErrorCode::kInvalidArgument, "cells take decode=timestamp alone; they are text",
              [] { Csv("1\n", {"#0 int64[] decode=text"}); });
}

TEST(Csv, KnowsTextsThatAreNoValue) {
  const std::string content = "a,b,c\n1,x,1 2\nNULL,NA,3 NA\n3,,NULL\n";
  const std::string nulls = " null=NULL,NA ";
  EXPECT_EQ(Csv(content, {"a int64[]" + nulls + "default=-1", "b bytes" + nulls + "missing=default",
                          "c int64[-1]" + nulls + "missing=default"}),
            (Texts{"1 | 'x' | 1 2", "-1 | '' | 3 0", "3 | '' | "}));
  EXPECT_EQ(Csv(content, {"c bytes[-1]" + nulls + "missing=default"}), (Texts{"49 50", "51", ""}));
  EXPECT_EQ(Csv(content, {"a int64[]" + nulls + "missing=skip"}), (Texts{"1", "3"}));
  EXPECT_EQ(Csv(content, {"a int64[]" + nulls + "default=0", "b bytes" + nulls + "missing=skip"}),
            (Texts{"1 | 'x'"}));
  EXPECT_EQ(Csv(content, {"c int64[-1]" + nulls + "missing=skip"}), (Texts{"1 2"}));
  EXPECT_EQ(Csv("1,nan,\"nan\"\n", {"#0-#2 float32[3] null=nan default=-1"}),
            (Texts{"1.0 -1.0 -1.0"}));
  ExpectCsvError(
      content, {"a int64[] null=NULL"},
      "column #0 'a': 'NULL' is no value, as null= says (default=, missing=mask or missing=skip");
  ExpectCsvError(content, {"b bytes null=NA"}, "column #1 'b': 'NA' is no value, as null= says");
  ExpectCsvError(content, {"c int64[-1] null=NA"}, "column #2 'c': 'NA' is no value");
}

TEST(Csv, TellsTheOptionWithWhichATextIsAValue) {
  ExpectCsvError("n\n1\nNA\n", {"n int64[]"},
                 "'NA' is no int64; null=NA after the field says that it is no value");
  ExpectCsvError("n\n1 NULL\n", {"n int64[-1]"},
                 "'NULL' is no int64; null=NULL after the field says that it is no value");
  ExpectCsvError("t\n2024-01-31 12:00\n", {"t int64[]"},
                 "is no int64; int64[] decode=timestamp unit=us reads it");
  ExpectCsvError("n\n1.0\n", {"n int64[]"},
                 "'1.0' is no int64; float64[] reads it, and cast makes integers of that");
  ExpectCsvError("t\nNULL\n", {"t int64[] decode=timestamp"},
                 "; null=NULL after the field says that it is no value; without types, infer");
  ExpectCsvError("t\nsoon\n", {"t int64[] decode=timestamp unit=d"},
                 "; str reads it; without types, infer \"all\"");
  ExpectCsvError("t\n2024-01-31\n", {"t int64[] decode=timestamp unit=d format=%d.%m.%Y"},
                 "; str reads it; without types, infer \"all\"");
  ExpectCsvError("t,u\n,1\n", {"t int64[] decode=timestamp"},
                 "after the field allow that); without types, infer \"all\"");
  ExpectCsvError("t\nNULL\n", {"t int64[] null=NULL"},
                 "'NULL' is no value, as null= says (default=, missing=mask or missing=skip after "
                 "the field allow "
                 "that)");
}

// As where fields are inferred.
TEST(Csv, ExactNumbersGiveBackWhatIsWritten) {
  const std::vector<std::pair<std::string, Attribute>> exact = {Text("numbers", "exact")};
  const std::string content = "0,-0,+7,0.5,1e22,12345678901234567\n";
  EXPECT_EQ(Csv(content, {"#0-#2 int64[3]", "#3 float64[]", "#4 float64[]", "#5 uint64[]"}, exact),
            Csv(content, {"#0-#2 int64[3]", "#3 float64[]", "#4 float64[]", "#5 uint64[]"}));
  EXPECT_EQ(Csv("007,00.5,0.1234567890123456789\n", {"#0 int64[]", "#1-#2 float64[2]"}).size(), 1u);
  for (const auto& [text, type] :
       std::vector<std::pair<std::string, std::string>>{{"007", "int64"},
                                                        {"-07", "int64"},
                                                        {"00", "uint64"},
                                                        {"00.5", "float64"},
                                                        {"0.1234567890123456789", "float64"},
                                                        {"9007199254740993", "float64"}}) {
    ExpectError(
        ErrorCode::kDataLoss,
        "column #0: '" + text + "' is no " + type +
            " that gives it back as it is, as numbers \"exact\" asks and \"nearest\" does not; " +
            (text == "9007199254740993" ? "int64[]" : "str") + " reads it",
        [&, text = text, type = type] { Csv("1\n" + text + "\n", {"#0 " + type + "[]"}, exact); });
  }
  ExpectError(ErrorCode::kDataLoss, "'x' is no int64; str reads it",
              [&] { Csv("x\n", {"#0 int64[]"}, exact); });
  // Other floats give back fewer digits, and what is scaled is another number anyway.
  EXPECT_EQ(Csv("0.1,16777216,0.5,3\n",
                {"#0 float32[]", "#1 float32[]", "#2 float16[]", "#3 bfloat16[]"}, exact),
            (Texts{"0.1 | 16777216.0 | 0.5 | 3.0"}));
  for (const char* const text : {"16777217", "0.123456789", "1e-50", "007"}) {
    EXPECT_EQ(Csv(std::string(text) + "\n", {"#0 float32[]"}).size(), 1u);
    ExpectError(ErrorCode::kDataLoss, "is no float32 that gives it back as it is",
                [&] { Csv(std::string(text) + "\n", {"#0 float32[]"}, exact); });
  }
  EXPECT_EQ(Csv("10\n", {"#0 float32[] scale=1/255"}, exact),
            Csv("10\n", {"#0 float32[] scale=1/255"}));
  ExpectError(ErrorCode::kDataLoss, "'1e-400' is no float64 that gives it back as it is",
              [&] { Csv("1e-400\n", {"#0 float64[]"}, exact); });
  // An entry decides for itself.
  EXPECT_EQ(Csv("007\n", {"#0 int64[] numbers=nearest"}, exact), (Texts{"7"}));
  ExpectError(ErrorCode::kDataLoss, "'007' is no int64 that gives it back as it is",
              [] { Csv("007\n", {"#0 int64[] numbers=exact default=1"}); });
}

// What a column of words for true and false shows is what is read.
TEST(Csv, ExactBoolsAreOfOneKindOfWords) {
  const std::vector<std::pair<std::string, Attribute>> exact = {Text("numbers", "exact")};
  EXPECT_EQ(Csv("true\nFALSE\n", {"#0 bool[]"}, exact), (Texts{"true", "false"}));
  EXPECT_EQ(Csv("yes\nNO\n", {"#0 bool[] format=yes/no"}, exact), (Texts{"true", "false"}));
  EXPECT_EQ(Csv("yes\n0\nt\n", {"#0 bool[]"}), (Texts{"true", "false", "true"}));
  for (const char* const text : {"yes", "1", "t", "n"}) {
    ExpectError(ErrorCode::kDataLoss,
                "is no bool that gives it back as it is, as numbers \"exact\" asks and "
                "\"nearest\" does not; str reads it",
                [&] { Csv(std::string(text) + "\n", {"#0 bool[]"}, exact); });
  }
  for (const char* const text : {"true", "y", "1", "T"}) {
    ExpectError(ErrorCode::kDataLoss, "is no bool",
                [&] { Csv(std::string(text) + "\n", {"#0 bool[] format=yes/no"}); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "format=yes; it is one of true/false, yes/no, t/f, y/n",
              [] { Csv("yes\n", {"#0 bool[] format=yes"}); });
}

// What is inferred is exact, what is declared beside it is not, and reads as it does alone.
TEST(Csv, DeclaredFieldsBesideInferredOnesStayAsTheyAre) {
  const std::string content = "id,p,n\n1,10,007\n2,20,08\n";
  EXPECT_EQ(Csv(content, {"id", "p float32[] scale=1/10", "n int64[]"}),
            (Texts{"1 | 1.0 | 7", "2 | 2.0 | 8"}));
  ExpectError(ErrorCode::kDataLoss, "'007' is no int64 that gives it back as it is", [&] {
    Csv(content, {"id", "n int64[]"}, {Text("numbers", "exact")});
  });
  ExpectError(ErrorCode::kDataLoss, "'007' is no int64 that gives it back as it is", [&] {
    Csv(content, {"id", "n int64[] numbers=exact"});
  });
}

TEST(Csv, HasASeparatorForEachField) {
  EXPECT_EQ(
      Csv("1|2,3;4,5 6\n", {"#0 int64[-1] separator=|", "#1 int64[2] separator=;", "#2 int64[-1]"}),
      (Texts{"1 2 | 3 4 | 5 6"}));
  EXPECT_EQ(
      Csv("1|2,3;4\n", {"#0 int64[-1] separator=|", "#1 int64[-1]"}, {Text("separator", ";")}),
      (Texts{"1 2 | 3 4"}));
}

TEST(Csv, GuessesFields) {
  const auto guess = [](const std::string& content) {
    const TempFile file("guess.csv", content);
    const FormatSchema& csv = *FindFileFormat("csv");
    return csv.guess_fields(file.path(), csv.WithDefaults({})).entries;
  };
  EXPECT_EQ(guess("user,genres,age,seen\n7,Action|Crime,NULL,2024-01-31 12:00:05\n8,Drama,31,\n"),
            (Texts{"user int64[]", "genres str", "age int64[] null=NULL missing=mask",
                   "seen int64[] decode=timestamp unit=us "
                   "default=-9223372036854775808 missing=mask"}));
  EXPECT_EQ(guess("a b\nc d\n"), (Texts{"\"a b\" str"}));
  EXPECT_EQ(guess("a,b\n"), (Texts{"a str", "b str"}));
  EXPECT_EQ(guess("1,b\n"), (Texts{"#0 int64[]", "#1 str"}));
  // As numbers are written that there are none of; in a header they may be names.
  EXPECT_EQ(guess("a,b,c\nNaN,nan,NaN\nnan,,NA\n"),
            (Texts{"a float64[]", "b float64[] default=nan", "c str"}));
  EXPECT_EQ(guess("a,nan\nb,c\n"), (Texts{"a str", "nan str"}));
  // A word for true, or for no value, above others is one of them.
  EXPECT_EQ(guess("Y,1\nN,2\n"), (Texts{"#0 bool[] format=y/n", "#1 int64[]"}));
  EXPECT_EQ(guess("Y,NA\nN,2\n"),
            (Texts{"#0 bool[] format=y/n", "#1 int64[] null=NA missing=mask"}));
  EXPECT_EQ(guess("x,NULL\ny,true\n"), (Texts{"#0 str", "#1 bool[] null=NULL missing=mask"}));
  EXPECT_EQ(guess("y,x\nyes,1\nno,2\n"), (Texts{"y bool[] format=yes/no", "x int64[]"}));
  EXPECT_EQ(guess("x,NA\nbob,2\n").front(), "#0 str");
  EXPECT_EQ(guess("id,NA\n1,2\n"), (Texts{"id int64[]", "NA int64[]"}));
  // pandas' index has no name, and a name may stand there twice.
  EXPECT_EQ(guess(",x,x,y\n0,1,2,3\n"),
            (Texts{"#0 int64[]", "#1 int64[]", "#2 int64[]", "y int64[]"}));
}

TEST(Csv, InfersFieldsWithoutAny) {
  EXPECT_EQ(Csv("id,w,ok,t\n7,0.5,true,x\n8,,False,\n", {}),
            (Texts{"7 | 0.5 | true | 'x' | true", "8 | nan | false | '' | false"}));
  EXPECT_EQ(Csv("1,2\n3,4\n", {}), (Texts{"1 | 2", "3 | 4"}));
  EXPECT_EQ(Csv("a,b\n1,2\n", {}, {Text("header", "no")}), (Texts{"'a' | 'b'", "'1' | '2'"}));
  ExpectError(ErrorCode::kInvalidArgument,
              "needs the attribute fields, such as fields: ", [] { Csv("", {}); });
  ExpectError(ErrorCode::kInvalidArgument, " is empty", [] { Csv("", {}); });
  ExpectError(ErrorCode::kInvalidArgument, " has no record in it", [] { Csv("\n\n", {}); });
}

// What does not fit what was inferred is an error at its place, which says what reads it.
TEST(Csv, RefusesWhatDoesNotFitInferredFields) {
  const auto read = [](const std::string& cell) {
    std::string rows = "a,b\n";
    for (int i = 0; i < 200000; ++i) rows += "12345,12345\n";
    const TempFile file("a.csv", rows + "1," + cell + "\n" + rows.substr(4, 11 * 200000));
    TextsOf(FieldReader("csv", file.path(), {}).get());
  };
  ExpectError(ErrorCode::kDataLoss, "column #1 'b': '0.5' is no int64; float64[] reads it",
              [&] { read("0.5"); });
  ExpectError(ErrorCode::kDataLoss, "'x' is no int64; str reads it", [&] { read("x"); });
  ExpectError(ErrorCode::kDataLoss, "'007' is no int64 that gives it back as it is",
              [&] { read("007"); });
  ExpectError(ErrorCode::kDataLoss, "the cell is empty (default=, missing=mask or missing=skip",
              [&] { read(""); });
}

// What stands in the middle and at the end of a file counts, too.
TEST(Csv, GuessesFieldsByMoreThanTheFirstRows) {
  const auto rows = [](size_t n) {
    std::string rows;
    for (size_t i = 0; i < n; ++i) rows += StrCat(i, ",1,1\n");
    return rows;
  };
  const std::string half = rows(150000);
  const TempFile file("guess.csv", "a,b,c\n" + half + "1,0.5,1\n" + half + "2,2,x\n");
  const FormatSchema& csv = *FindFileFormat("csv");
  EXPECT_EQ(csv.guess_fields(file.path(), csv.WithDefaults({})).entries,
            (Texts{"a int64[]", "b float64[]", "c str"}));
}

// A header and a row of more than 1 MiB each.
TEST(Csv, GuessesFieldsOfManyColumns) {
  constexpr int kColumns = 80000;
  std::string header, row;
  Texts fields;
  for (int i = 0; i < kColumns; ++i) {
    header += StrCat(i > 0 ? "," : "", "column_", i);
    row += StrCat(i > 0 ? "," : "", 10000 + i);
    fields.push_back(StrCat("column_", i, " int64[]"));
  }
  const TempFile file("guess.csv", header + "\n" + row + "\n");
  const FormatSchema& csv = *FindFileFormat("csv");
  EXPECT_EQ(csv.guess_fields(file.path(), csv.WithDefaults({})).entries, fields);
}

TEST(Csv, TellsLineColumnAndText) {
  const std::string content = "a,b\n1,2\n3,4\n5,six\n";
  ExpectCsvError(content, {"b int64[]"}, "column #1 'b': 'six' is no int64");
  ExpectCsvError(content, {"b int64[]"}, "in line 4, which begins at byte 12");
  ExpectCsvError("a,b\n\"x\ny\",2\n5,six\n", {"b int64[]"}, "in line 4, which begins at byte 12");
  ExpectCsvError("1,2\n1\n", {"#0 int64[]"}, "the row has 1 column, the first row has 2");
  ExpectCsvError("1,2\n1\n", {"#1 int64[]"}, "the row has 1 column, the first row has 2");
  ExpectCsvError("1,2\n1,2,3\n", {"#0 int64[]"}, "the row has 3 columns, the first row has 2");
  ExpectCsvError("1,300\n", {"#1 uint8[]"}, "column #1: '300' is no uint8");
  ExpectCsvError("a,b\n1,2\n", {"c int64[]"}, "no column is named 'c'; the header has a, b");
  ExpectCsvError("a,a\n1,2\n", {"a int64[]"}, "two columns are named 'a'; #0 names the first");
  ExpectCsvError("1,2\n", {"#2 int64[]"}, "there is no column #2: the first row has 2 columns");
  ExpectCsvError("", {"a int64[]"}, "the file has no header");
  const std::string hint = "; quote: \"\" reads quotes as any other character";
  ExpectCsvError("1,\"2\n3\n", {"#0 int64[]"}, "that is not closed before the file ends" + hint);
  ExpectCsvError("1,2\n1,\"2\"x\n", {"#1 bytes"},
                 "text follows the closing quote of a cell" + hint);
}

// A shuffle copies records of any size and lets their chunks go.
TEST(Csv, TellsTheLineOfAShuffledRow) {
  for (const size_t size : {size_t{1}, size_t{10000}}) {
    std::string content = "a,b\n";
    for (int i = 0; i < 50; ++i) {
      content += std::string(size, 'x') + (i == 17 ? ",six\n" : ",6\n");
    }
    const std::string place =
        "in line 19, which begins at byte " + std::to_string(4 + 17 * (size + 3));
    const TempFile plain("a.csv", content), compressed("a.csv.gz", Gzipped(content));
    for (const std::string& path : {plain.path(), compressed.path()}) {
      ShuffleReader reader(FieldReader("csv", path, {"a bytes", "b int64[]"}), 20,
                           RandomKey(1, 0, ""));
      ExpectError(ErrorCode::kDataLoss, place, [&] { TextsOf(&reader); });
    }
  }
}

TEST(Csv, RefusesWrongSettings) {
  const ErrorCode code = ErrorCode::kInvalidArgument;
  ExpectError(code, "3 columns do not give the values of float32 [1, 2]",
              [] { Csv("1\n", {"#0-#2 float32[2]"}); });
  ExpectError(code, "run backwards", [] { Csv("1\n", {"#2-#0 float32[3]"}); });
  ExpectError(code, "header is \"no\"", [] { Csv("1\n", {"a int64[]"}, {Text("header", "no")}); });
  ExpectError(code, "delimiter is one character",
              [] { Csv("1\n", {"#0 int64[]"}, {Text("delimiter", "ab")}); });
  ExpectError(code, "could be a part of a number",
              [] { Csv("1\n", {"#0 int64[]"}, {Text("delimiter", "e")}); });
}

TEST(Csv, OfAllFilesMustHaveTheSameHeader) {
  const std::string differs = "its header differs from that of the files before it: ",
                    way_out =
                        "; missing=mask, or another missing=, after fields of these names reads "
                        "files with and without them";
  const auto expect = [&](const std::string& second, const Texts& fields,
                          const std::string& words) {
    SCOPED_TRACE(second);
    ExpectError(ErrorCode::kDataLoss, differs + words, [&] {
      TextsInFiles("csv", {"a,b\n1,2\n", second}, fields);
    });
  };
  expect("b,a\n3,4\n", {"a int64[]", "#1 int64[]"},
         "the same names stand in another order, or another number of times; fields that name "
         "columns, and do not number them, take any order; a reader of its own");
  expect("a,a,b\n3,4,5\n", {"b int64[]"},
         "the same names stand in it another number of times; a reader of its own");
  expect("a\n3\n", {"a int64[]"}, "it lacks 'b'" + way_out);
  expect("a\n3\n", {}, "it lacks 'b'" + way_out);
  expect("a,b,c\n3,4,5\n", {"a int64[]"}, "it has 'c'" + way_out);
  expect("a,c\n3,4\n", {"#0 int64[]", "a int64[]"},
         "it lacks 'b', and it has 'c'" + way_out + ", if no field names a column by its number");
  const Texts read = {"a int64[]", "b int64[] missing=mask", "c str missing=mask"};
  EXPECT_EQ(TextsInFiles("csv", {"a,b\n1,2\n", "a,c\n3,4\n"}, read),
            (Texts{"1 | 2 | '' | true | false", "3 | 0 | '4' | false | true"}));
}

TEST(Csv, TakesAColumnThatAFileLacksAsMissing) {
  const std::string all = "a,b,c\n1,x,2 3\n,,\n", some = "a\n4\n";
  const Texts fields = {"b bytes missing=default", "c int64[-1] missing=default",
                        "a int64[] default=-1"};
  const Texts first = {"'x' | 2 3 | 1", "'' |  | -1"}, second = {"'' |  | 4"};
  EXPECT_EQ(TextsInFiles("csv", {all, some}, fields), (Texts{first[0], first[1], second[0]}));
  EXPECT_EQ(TextsInFiles("csv", {some, all}, fields), (Texts{second[0], first[0], first[1]}));
  EXPECT_EQ(TextsInFiles("csv", {"b,a\ny,5\n", some, "c,a\n6,7\n"}, fields),
            (Texts{"'y' |  | 5", second[0], "'' | 6 | 7"}));
  const std::string two = "a,b\n1,x\n,\n";
  EXPECT_EQ(TextsInFiles("csv", {two, some}, {"a int64[] default=0", "b bytes missing=skip"}),
            (Texts{"1 | 'x'"}));
  EXPECT_EQ(
      TextsInFiles("csv", {some, two}, {"a int64[] default=9", "b int64[-1] hash=10 default=7"}),
      (Texts{"4 | 7", StrCat("1 | ", HashBucket("x", 10)), "9 | 7"}));
  EXPECT_EQ(TextsInFiles("csv", {some, "x,a\n,5\n"},
                         {"x float32[2] default=0.5", "a int64[] missing=skip"}),
            (Texts{"0.5 0.5 | 4", "0.5 0.5 | 5"}));
  // A file without rows has the columns of its header, and those that are there are the same.
  EXPECT_EQ(TextsInFiles("csv", {"a\n", "a,b\n1,x\n2,\n"}, {"b bytes missing=skip", "a int64[]"}),
            (Texts{"'x' | 1"}));
  EXPECT_EQ(TextsInFiles("csv", {"a,c,b\n1,2,x\n", "c,a\n3,4\n"},
                         {"a int64[]", "b bytes missing=default"}),
            (Texts{"1 | 'x'", "4 | ''"}));
  ExpectError(ErrorCode::kDataLoss, "its header differs from that of the files before it", [&] {
    TextsInFiles("csv", {all, "a,b\n1,x\n"}, {"b bytes missing=skip", "a int64[]"});
  });
  ExpectError(ErrorCode::kDataLoss, "no column is named 'b'; the header has a", [&] {
    TextsInFiles("csv", {some}, {"b bytes", "a int64[]"});
  });
  // A row of numbers is no header, and numbers of columns name those of all files.
  ExpectError(ErrorCode::kDataLoss, "no column is named 'b'; the header has 1, 2",
              [&] { TextsInFiles("csv", {"1,2\n3,4\n"}, {"b int64[] default=0"}); });
  ExpectError(ErrorCode::kDataLoss, "there is no column #1: the first row has 1 columns",
              [&] { TextsInFiles("csv", {"1\n"}, {"#1 int64[] missing=default"}); });
  ExpectError(ErrorCode::kDataLoss, "its header differs from that of the files before it", [&] {
    TextsInFiles("csv", {all, some}, {"#0 int64[] missing=skip", "b bytes missing=default"});
  });
}

TEST(Csv, RefusesANameThatNoFileHas) {
  const std::string file = "km,fare\n2,3\n", other = "fares,km,fare\n8,4,5\n";
  const std::string words =
      "no column is named 'fares'; the header has km, fare; did you mean 'fare'?; the columns of a "
      "file without a header are #0, #1 ...; missing= and default= are for columns that some of "
      "the files have, and none has this one";
  for (const char* option : {"missing=mask", "missing=default", "missing=skip", "default=0"}) {
    SCOPED_TRACE(option);
    const Texts fields = {"km int64[]", StrCat("fares int64[] ", option)};
    for (const Texts& files : {Texts{file}, Texts{file, file, file}}) {
      ExpectError(ErrorCode::kDataLoss, words, [&] { TextsInFiles("csv", files, fields); });
    }
    EXPECT_EQ(TextsInFiles("csv", {file, file, other}, fields).back().substr(0, 5), "4 | 8");
  }
}

TEST(Csv, TakesColumnsByNameInAnyOrder) {
  const Texts files = {"a,b,c\n1,x,2\n", "c,a,b\n3,4,y\n", "b,c,a\nz,5,6\n"};
  const Texts expected = {"1 | 'x' | 2", "4 | 'y' | 3", "6 | 'z' | 5"};
  EXPECT_EQ(TextsInFiles("csv", files, {"a int64[]", "b bytes", "c int64[]"}), expected);
  EXPECT_EQ(TextsInFiles("csv", files, {}), expected);
}

TEST(Csv, ReadsARangeOfNamesAsValues) {
  const std::string file = "p0,p1,y,p2,p3\n1,2,9,3,4\n5,,8,7,\n";
  EXPECT_EQ(Csv(file, {"x = p0-p3 int64[4] default=-1", "y int64[]"}),
            (Texts{"1 2 3 4 | 9", "5 -1 7 -1 | 8"}));
  EXPECT_EQ(Csv(file, {"p0-p3 int64[2, 2] default=0"}), (Texts{"1 2 3 4", "5 0 7 0"}));
  EXPECT_EQ(Csv(file, {"*", "x = p0-p3 int64[4] default=-1"}),
            (Texts{"9 | 1 2 3 4", "8 | 5 -1 7 -1"}));
  EXPECT_EQ(Csv("p0-p1,p0,p1\n7 8,1,2\n", {"p0-p1 int64[2]"}), (Texts{"7 8"}));
  EXPECT_EQ(TextsInFiles("csv", {"a1,a2\n1,2\n", "y\n3\n", "y,a1,a2\n4,5,6\n"},
                         {"a1-a2 int64[2] default=0", "y int64[] default=0"}),
            (Texts{"1 2 | 0", "0 0 | 3", "5 6 | 4"}));
  ExpectCsvError(file, {"p0-p4 int64[5] default=0"},
                 "the range 'p0-p4' has 5 names, and 4 of them are columns of the file");
  ExpectCsvError(file, {"p0-p3 int64[3]"},
                 "the range 'p0-p3' has 4 columns, which do not give the values of int64 [1, 3]");
  ExpectCsvError("p1,p0\n1,2\n", {"p0-p1 int64[2]"},
                 "the range 'p0-p1' stands in another order in the file; a field for each");
  ExpectCsvError(file, {"q0-q3 int64[4] default=0"}, "no column is named 'q0-q3'");
  ExpectCsvError(file, {"p0-p3 int64[] default=0"}, "no column is named 'p0-p3'");
}

// Rows with line ends in quotes at every place around the ends of blocks.
TEST(Csv, GivesTheSameRowsForAnyNumberOfThreads) {
  std::string content = "id,text\n";
  Texts expected;
  for (int i = 0; content.size() < 3 * kReadBlockBytes; ++i) {
    const std::string text = std::string(static_cast<size_t>(i % 97), 'x') + "\n,y";
    content += std::to_string(i) + ",\"" + text + "\"\n";
    expected.push_back(std::to_string(i) + " | '" + text + "'");
  }
  const TempFile plain("rows.csv", content);
  const TempFile compressed("rows.csv.gz", Gzipped(content));
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize size(workers);
    for (const std::string& path : {plain.path(), compressed.path()}) {
      EXPECT_EQ(TextsOf(FieldReader("csv", path, {"id int64[]", "text bytes"}).get()), expected);
    }
  }
}

TEST(Csv, ReadsARowOfManyBlocksAndRefusesOneThatIsTooLong) {
  const std::string large(2 * kReadBlockBytes + 17, 'x');
  EXPECT_EQ(Csv("1,\"" + large + "\"\n2,b\n", {"#1 bytes"}), (Texts{"'" + large + "'", "'b'"}));
  const std::string endless = "1,\"" + std::string(kMaxLineBytes + 100, 'x');
  ExpectCsvError(endless, {"#1 bytes"}, "is a quote not closed?", ErrorCode::kResourceLimit);
}

// 12 edge cases of csv-spectrum; the truth is the JSON beside them.
TEST(Csv, ReadsTheRealEdgeCases) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::string folder = TestData() + "/csv/spectrum/csvs/";
  const auto read = [&](const std::string& name, const std::vector<std::string>& columns) {
    std::vector<std::string> fields;
    fields.reserve(columns.size());
    for (const std::string& column : columns) fields.push_back("\"" + column + "\" bytes");
    return TextsOf(FieldReader("csv", folder + name, fields).get());
  };
  EXPECT_EQ(read("comma_in_quotes.csv", {"first", "last", "address", "city", "zip"}),
            (Texts{"'John' | 'Doe' | '120 any st.' | 'Anytown, WW' | '08123'"}));
  for (const char* name : {"empty.csv", "empty_crlf.csv"}) {
    EXPECT_EQ(read(name, {"a", "b", "c"}), (Texts{"'1' | '' | ''", "'2' | '3' | '4'"}));
  }
  EXPECT_EQ(read("escaped_quotes.csv", {"a", "b"}), (Texts{"'1' | 'ha \"ha\" ha'", "'3' | '4'"}));
  EXPECT_EQ(read("json.csv", {"key", "val"}),
            (Texts{"'1' | '{\"type\": \"Point\", \"coordinates\": [102.0, 0.5]}'"}));
  EXPECT_EQ(read("newlines.csv", {"a", "b", "c"}),
            (Texts{"'1' | '2' | '3'", "'Once upon \na time' | '5' | '6'", "'7' | '8' | '9'"}));
  EXPECT_EQ(read("newlines_crlf.csv", {"a", "b", "c"}),
            (Texts{"'1' | '2' | '3'", "'Once upon \r\na time' | '5' | '6'", "'7' | '8' | '9'"}));
  EXPECT_EQ(read("quotes_and_newlines.csv", {"a", "b"}),
            (Texts{"'1' | 'ha \n\"ha\" \nha'", "'3' | '4'"}));
  for (const char* name : {"simple.csv", "simple_crlf.csv"}) {
    EXPECT_EQ(read(name, {"a", "b", "c"}), (Texts{"'1' | '2' | '3'"}));
  }
  EXPECT_EQ(read("utf8.csv", {"a", "b", "c"}), (Texts{"'1' | '2' | '3'", "'4' | '5' | '\u02a4'"}));
}

// The sum of all values of a slot.
double SumOf(ReaderBase* reader, size_t slot) {
  double sum = 0;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    for (int64_t i = 0; i < element[slot].numel(); ++i) sum += ValueAt(element[slot], i);
  }
  return sum;
}

TEST(Csv, ReadsRealFiles) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::string folder = TestData() + "/csv/duckdb/";
  const Texts titanic = TextsOf(FieldReader("csv", folder + "titanic.csv",
                                            {"PassengerId int64[]", "Survived bool[]",
                                             "Age float32[] default=-1", "Name bytes"})
                                    .get());
  ASSERT_EQ(titanic.size(), 891u);
  EXPECT_EQ(titanic[0], "1 | false | 22.0 | 'Braund, Mr. Owen Harris'");
  EXPECT_EQ(titanic[5], "6 | false | -1.0 | 'Moran, Mr. James'");
  EXPECT_EQ(
      TextsOf(FieldReader("csv", folder + "nullbyte.csv", {"col2 bytes"}, {Text("delimiter", "|")})
                  .get()),
      (Texts{std::string("'val\0002'", 7)}));
  EXPECT_EQ(TextsOf(FieldReader("csv", folder + "quoted_newline.csv", {"col1 bytes"}).get()),
            (Texts{"'cell with\nnewline'"}));
  EXPECT_EQ(TextsOf(FieldReader("csv", folder + "mixed_new_line.csv", {"#0-#2 int64[3]"}).get()),
            (Texts{"1 2 3", "4 5 6", "7 8 9"}));
  EXPECT_EQ(TextsOf(FieldReader("csv", folder + "header_only.csv", {"abs_file_name bytes"}).get()),
            Texts{});
  EXPECT_EQ(TextsOf(FieldReader("csv", folder + "invalid_utf8.csv", {"#0 bytes"}).get()),
            (Texts{"'bla'", "'bla'", "'\ufffd'"}));
  for (const char* name : {"encodings/utf16.csv", "encodings/utf16.csv.gz"}) {
    EXPECT_EQ(TextsOf(FieldReader("csv", folder + name, {}).get()).at(1), "'M\u00fcller' | 25");
  }
  EXPECT_EQ(
      TextsOf(FieldReader("csv", folder + "encodings/latin1.csv", {}, {Text("encoding", "latin-1")})
                  .get())
          .at(1),
      "'M\u00fcller' | 25");
  EXPECT_EQ(SumOf(FieldReader("csv", folder + "broken/test.csv.zst", {"pos int64[]"}).get(), 0),
            1773442671);
}

// 3,000 rows of Criteo's advertisements: a label, 13 numbers, 26 hexadecimal categories. The sums
// were computed by Python's csv module.
TEST(Tsv, ReadsCriteo) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const auto rows = FieldReader(
      "tsv", TestData() + "/ctr/pytorch_data/day_11_first_3k_rows_original.tsv",
      {"#0 int64[]", "#1-#13 float32[13] default=0", "#14-#39 int64[26] base=16 default=0"});
  EXPECT_EQ(ReadAll(rows.get()).size(), 3000u);
  const double sums[] = {92, 64080942, 154048006973151};
  for (size_t slot = 0; slot < 3; ++slot) {
    rows->ReInit();
    EXPECT_EQ(SumOf(rows.get(), slot), sums[slot]);
  }
  const auto table =
      FieldReader("csv", TestData() + "/ctr/criteo_sample.txt",
                  {"label int64[]", "I2 float32[] default=0", "C1 int64[] base=16 default=0"});
  EXPECT_EQ(ReadAll(table.get()).size(), 200u);
  const double table_sums[] = {49, 20738, 231562219697};
  for (size_t slot = 0; slot < 3; ++slot) {
    table->ReInit();
    EXPECT_EQ(SumOf(table.get(), slot), table_sums[slot]);
  }
}

}  // namespace
}  // namespace millhopper
