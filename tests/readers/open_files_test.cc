// SPDX-License-Identifier: Apache-2.0
// Which reader open_files makes of which names.
#include "readers/open_files.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "tests/bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::string Idx(const std::string& values) {
  return FromHex("00000801") + BigEndian(values.size(), 4) + values;
}

std::string FirstSlot(const std::vector<ElementValue>& elements) {
  std::string bytes;
  for (const ElementValue& element : elements) bytes += element[0].bytes + " ";
  return bytes;
}

TEST(OpenFiles, NamesTellTheFormat) {
  EXPECT_EQ(FormatOf({"a.txt", "text:b", "c.txt.gz"}), FindFileFormat("text"));
  EXPECT_EQ(FormatOf({"text:a.idx"}), FindFileFormat("text"));
  EXPECT_EQ(FormatOf({"part-{0..9}.idx", "*-idx3-ubyte"}), FindFileFormat("idx"));
  EXPECT_EQ(FormatOf({"a", "b.bin", "http:c", "x/text:d"}), nullptr);
  EXPECT_EQ(FormatOf({}), nullptr);
}

TEST(OpenFiles, FilesOfOneReaderHaveOneFormat) {
  ExpectError(ErrorCode::kInvalidArgument, "that of 'a.txt' is text and that of 'b.idx' is idx",
              [] {
                FormatOf({"a.txt", "text:x", "b.idx"});
              });
  ExpectError(ErrorCode::kInvalidArgument, "that of 'a' is not named and that of 'b.txt' is text",
              [] {
                FormatOf({"a", "b.txt"});
              });
  const TempFile text("a.txt", "");
  const TempFile idx("b.idx", "");
  ExpectError(ErrorCode::kInvalidArgument, "is text and that of", [&] {
    OpenFiles({text.path(), idx.path()}, {}, {}, {});
  });
}

TEST(OpenFiles, PatternsAreExpandedAndPrefixesTaken) {
  const TempFile first("many", "1\n2\n");
  const TempFile second("many", "3\n");
  const std::string& a = first.path();
  const std::string& b = second.path();
  EXPECT_EQ(FirstSlot(ReadAll(OpenFiles({"text:{" + b + "," + a + "}"}, {}, {}, {}).get())),
            a < b ? "1 3 2 " : "3 1 2 ");
  EXPECT_EQ(FirstSlot(ReadAll(OpenFiles({"text:" + b, "text:" + a}, {}, {}, {}).get())), "3 1 2 ");
  ExpectError(ErrorCode::kInvalidArgument, "no file matches",
              [&] { OpenFiles({"text:" + a + "*no"}, {}, {}, {}); });
}

TEST(OpenFiles, SecondFilesArePairedByPosition) {
  const TempFile a("a.idx", Idx("ab"));
  const TempFile b("b.idx", Idx("c"));
  const TempFile la("la", Idx(std::string("\1\2", 2)));
  const TempFile lb("lb", Idx(std::string("\3", 1)));
  const auto reader = OpenFiles({a.path(), b.path()}, {la.path(), "idx:" + lb.path()}, {}, {});
  ASSERT_EQ(reader->slots().size(), 2u);
  std::vector<std::string> pairs;
  for (const ElementValue& element : ReadAll(reader.get())) {
    pairs.push_back(element[0].bytes + std::to_string(element[1].bytes[0]));
  }
  EXPECT_EQ(pairs, (std::vector<std::string>{"a1", "c3", "b2"}));
  ExpectError(ErrorCode::kInvalidArgument, "2 files, but 1 second files", [&] {
    OpenFiles({a.path(), b.path()}, {la.path()}, {}, {});
  });
  const TempFile fixed("a.bin", "");
  ExpectError(ErrorCode::kInvalidArgument, "files of the format fixed take no second file",
              [&] { OpenFiles({"fixed:" + fixed.path()}, {la.path()}, {}, {}); });
  ExpectError(ErrorCode::kIo, "no such",
              [&] { OpenFile(*FindFileFormat("idx"), a.path(), "no such", {}); });
}

TEST(OpenFiles, OneFileIsTakenLiterally) {
  const TempFile file("a{1,2}*[x]", "line");
  const FormatSchema& text = *FindFileFormat("text");
  EXPECT_EQ(FirstSlot(ReadAll(OpenFile(text, file.path(), "", {}).get())), "line ");
  EXPECT_EQ(FirstSlot(ReadAll(OpenFile(text, "text:" + file.path(), "", {}).get())), "line ");
  ExpectError(ErrorCode::kInvalidArgument, "is named a file of the format idx, but read as text",
              [&] { OpenFile(text, "idx:" + file.path(), "", {}); });
}

TEST(OpenFiles, ContentTellsWhatNamesDoNot) {
  const TempFile images("images", Gzipped(Idx("xyz")));
  const TempFile labels("labels", Idx("abc"));
  ExpectError(ErrorCode::kInvalidArgument, "the slots must be declared",
              [&] { OpenFiles({images.path()}, {}, {}, {}); });
  FormatArguments arguments;
  arguments.declared.resize(1);
  arguments.declared[0].dtype = DataType::kUint8;
  arguments.declared[0].dims = Dims{1};
  EXPECT_EQ(FirstSlot(ReadAll(OpenFiles({images.path(), labels.path()}, {}, arguments, {}).get())),
            "x a y b z c ");
  const TempFile nothing("nothing", "what is this");
  const auto reader = OpenFiles({nothing.path()}, {}, arguments, {});
  ExpectError(ErrorCode::kDataLoss, nothing.path() + ": neither the name nor the first bytes tell",
              [&] { reader->HasNext(); });
}

// Fields that are missing are looked for in the file: what is wrong with it would be wrong with
// any.
TEST(OpenFiles, DamageThatIsMetWhileFieldsAreLookedForIsTold) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"a.tar", "the member at byte 0: the checksum of its header is"},
      {"a.npz", "no zip file, or one that was cut off"},
      {"a.jsonl", "the record is no JSON"},
      {"a.csv", "the text is in UTF-16LE"}};
  for (const auto& [name, words] : kFiles) {
    const TempFile file(name, "\xff\xfe" + std::string(1000, 'x') + "\n");
    ExpectError(ErrorCode::kDataLoss, StrCat(file.path(), ": ", words),
                [&] { OpenFiles({file.path()}, {}, {}, {}); });
  }
}

TEST(OpenFiles, FilesOfThePluginForColumnsNameIt) {
  constexpr char kHint[] = "tools/build_parquet_plugin builds it, --plugin=";
  ExpectError(ErrorCode::kInvalidArgument, kHint, [] { FormatOf({"a.parquet"}); });
  ExpectError(ErrorCode::kInvalidArgument, kHint, [] { FormatOf({"a.arrow"}); });
  FormatArguments arguments;
  arguments.declared.resize(1);
  arguments.declared[0].dims = Dims{1};
  for (const char* content : {"PAR1 and so on", "ARROW1 and so on"}) {
    const TempFile file("columns", content);
    const auto reader = OpenFiles({file.path()}, {}, arguments, {});
    ExpectError(ErrorCode::kDataLoss, kHint, [&] { reader->HasNext(); });
  }
}

}  // namespace
}  // namespace millhopper
