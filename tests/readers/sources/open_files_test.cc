// SPDX-License-Identifier: Apache-2.0
// Which reader open_files makes of which names.
#include "readers/sources/open_files.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/output_file.h"
#include "framework/memory/place.h"
#include "framework/reader/position.h"
#include "framework/reader/reader_holder.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/map_reader.h"
#include "readers/decorate/take_reader.h"
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
  EXPECT_EQ(FormatOf({"A.TXT", "B.Txt"}), FindFileFormat("text"));
  EXPECT_EQ(FormatOf({"part-{0..9}.idx", "*-idx3-ubyte"}), FindFileFormat("idx"));
  EXPECT_EQ(FormatOf({"a", "b.bin", "http:c", "x/text:d"}), nullptr);
  EXPECT_EQ(FormatOf({}), nullptr);
  const FormatSchema* const images = FindFileFormat("image");
  ASSERT_NE(images, nullptr);
  EXPECT_EQ(FormatOf({"a.jpg", "b.jpeg"}), FindFileFormat("jpg"));
  EXPECT_EQ(FormatOf({"a.jpg", "b.jpg", "c.PNG", "d.webp", "e.jpg"}), images);
  EXPECT_EQ(FormatOf({"image:a", "b.tif", "image:c.txt"}), images);
  for (const std::vector<std::string>& names : {std::vector<std::string>{"a.jpg", "b.txt"},
                                                {"a.jpg", "b.png", "b.txt"},
                                                {"b.txt", "a.gif"},
                                                {"a.jpg", "b"}}) {
    ExpectError(ErrorCode::kInvalidArgument,
                "a pattern such as images/**/*.jpg finds those of one, and the prefix 'image:' "
                "takes all that it finds for images",
                [&] { FormatOf(names); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "a prefix such as 'recordio:' names it", [] {
    FormatOf({"a.csv", "b.txt"});
  });
}

TEST(OpenFiles, InfersFieldsFromPartsOrFromAllRecords) {
  const std::string row = ",0123456789012345678901234567\n";
  std::string first = "n,t\n";
  for (int i = 0; i < 200000; ++i) first += (i == 60000 ? "0.5" : "1") + row;
  const TempFile a("a.csv", first), b("b.csv", "n,t\n,x\n");
  const auto fields = [&](const std::string& infer, const std::vector<std::string>& names) {
    FormatArguments arguments;
    arguments.attributes.Set("infer", infer);
    return InferredFields(names, arguments).entries;
  };
  using Entries = std::vector<std::string>;
  EXPECT_EQ(fields("sample", {a.path(), b.path()}), (Entries{"n int64[]", "t str"}));
  EXPECT_EQ(fields("all", {a.path()}), (Entries{"n float64[]", "t str"}));
  EXPECT_EQ(fields("all", {a.path(), b.path()}), (Entries{"n float64[] default=nan", "t str"}));
  const TempFile damaged("c.jsonl", "{\"a\": 1}\n{\"a\": }\n");
  ExpectError(ErrorCode::kDataLoss, "in line 2, which begins at byte 9",
              [&] { fields("all", {damaged.path()}); });
}

TEST(OpenFiles, RefusesMoreSlotsThanAReaderHas) {
  std::string record = "{";
  for (size_t key = 0; key <= kMaxSlots / 2; ++key)
    record += StrCat(key > 0 ? "," : "", "\"k", key, "\":1");
  const TempFile file("a.jsonl", record + "}\n{}\n");
  ExpectError(ErrorCode::kResourceLimit,
              "what is in it makes 4098 slots, with the masks of nulls, and the limit is 4096; "
              "fields or exclude with names",
              [&] { InferredFields({file.path()}, FormatArguments()); });
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
  EXPECT_EQ(FirstSlot(ReadAll(OpenFiles({images.path()}, {}, {}, {}).get())), "x y z ");
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
  ExpectError(ErrorCode::kDataLoss, nothing.path() + ": neither the name nor the first bytes tell",
              [&] { OpenFiles({nothing.path()}, {}, {}, {}); });
}

// Fields that are missing are looked for in the file: what is wrong with it would be wrong with
// any.
TEST(OpenFiles, DamageIsToldWhereNoFieldsAreGiven) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"a.tar", "the member at byte 0: the checksum of its header is"},
      {"a.npz", "no zip file, or one that was cut off"},
      {"a.jsonl", "the record is no JSON"},
      {"a.csv", "byte 1002 is the first of a character that is cut off, in UTF-16LE"}};
  for (const auto& [name, words] : kFiles) {
    const TempFile file(name, "\xff\xfe" + std::string(1000, 'x') + "\n");
    ExpectError(ErrorCode::kDataLoss, StrCat(file.path(), ": ", words),
                [&] { ReadAll(OpenFiles({file.path()}, {}, {}, {}).get()); });
  }
}

TEST(OpenFiles, FilesOfThePluginForColumnsNameIt) {
  constexpr char kHint[] = "tools/build_parquet_plugin builds it, --plugin=";
  ExpectError(ErrorCode::kInvalidArgument, kHint, [] { FormatOf({"a.parquet"}); });
  ExpectError(ErrorCode::kInvalidArgument, kHint, [] { FormatOf({"a.arrow"}); });
  ExpectError(ErrorCode::kInvalidArgument, "pip install 'millhopper[parquet]'",
              [] { FormatOf({"A.PARQ"}); });
  const TempFile table("a.csv", "PAR1 and so on");
  ExpectError(ErrorCode::kDataLoss, kHint, [&] { OpenFiles({table.path()}, {}, {}, {}); });
  FormatArguments arguments;
  arguments.declared.resize(1);
  arguments.declared[0].dims = Dims{1};
  for (const char* content : {"PAR1 and so on", "ARROW1 and so on"}) {
    const TempFile file("columns", content);
    const auto reader = OpenFiles({file.path()}, {}, arguments, {});
    ExpectError(ErrorCode::kDataLoss, kHint, [&] { reader->HasNext(); });
  }
}

// ---- Files that this process replaces. ----

// As all outputs are written: the new file takes the name of the old one.
void Replace(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.Write(content);
  file.Publish();
}

void ExpectHeld(const std::string& path) {
  ExpectError(ErrorCode::kInvalidArgument, "this process reads the same file as data",
              [&] { Replace(path, "other\n"); });
}

void ExpectToEnd(ReaderBase* reader, const std::string& values) {
  EXPECT_EQ(FirstSlot(ReadAll(reader)), values);
  EXPECT_FALSE(reader->HasNext());
}

// Readers whose chunks are found and fetched in every way that there is.
std::vector<std::pair<const char*, MultiFileOptions>> WaysToRead() {
  std::vector<std::pair<const char*, MultiFileOptions>> ways = {
      {"in turn", {}}, {"one after another", {}}, {"as they get ready", {}}, {"chunks", {}}};
  ways[1].second.cycle_length = 1;
  ways[2].second.deterministic = false;
  ways[3].second.shuffle_chunks = true;
  return ways;
}

TEST(ReplacedFiles, AreHeldByAReaderFromTheBeginningToTheEndOfAPass) {
  for (const int workers : {0, 3}) {
    const PoolSize pool(workers);
    for (const auto& [name, options] : WaysToRead()) {
      SCOPED_TRACE(name);
      const TempFile file("file.txt", "1\n2\n3\n");
      const auto reader = OpenFiles({file.path()}, {}, {}, options);
      ExpectHeld(file.path());  // it is about to be read
      ExpectToEnd(reader.get(), "1 2 3 ");
      Replace(file.path(), "4\n5\n6\n7\n");
      reader->ReInit();
      Replace(file.path(), "8\n9\n");  // and it is not read yet again
      EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
      ExpectHeld(file.path());  // by its new name
      ExpectToEnd(reader.get(), "9 ");
      Replace(file.path(), "0\n");
      reader->ReInit();
      ExpectToEnd(reader.get(), "0 ");
    }
  }
}

TEST(ReplacedFiles, AreNotHeldByAReaderThatOthersHaveEnded) {
  for (const int workers : {0, 3}) {
    const PoolSize pool(workers);
    const TempFile file("file.txt", "1\n2\n3\n");
    // A pass that ends within the file,
    std::unique_ptr<ReaderBase> reader = std::make_unique<TakeReader>(
        std::make_unique<DoubleBufferReader>(OpenFiles({file.path()}, {}, {}, {}), Place(), 2), 1);
    ExpectToEnd(reader.get(), "1 ");
    Replace(file.path(), "4\n5\n");
    reader->ReInit();
    ExpectToEnd(reader.get(), "4 ");
    Replace(file.path(), "6\n7\n");
    // one that an error ends,
    std::unique_ptr<ReaderBase> below = OpenFiles({file.path()}, {}, {}, {});
    std::vector<SlotSpec> slots = below->slots();
    reader = std::make_unique<MapReader>(std::move(below), slots,
                                         [](const RecordId&, auto*, auto*, Rows*) {
                                           Throw(ErrorCode::kInvalidArgument, "not this one");
                                         });
    ExpectError(ErrorCode::kInvalidArgument, "not this one", [&] { ReadAll(reader.get()); });
    Replace(file.path(), "8\n");
    // and one that is left before its end.
    reader = OpenFiles({file.path()}, {}, {}, {});
    EXPECT_TRUE(reader->HasNext());
    ExpectHeld(file.path());
    reader->ReInit();
    Replace(file.path(), "9\n");
    ExpectToEnd(reader.get(), "9 ");
  }
}

TEST(ReplacedFiles, AreHeldUntilAllWhoShareTheirReaderHaveEnded) {
  const TempFile file("file.txt", "1\n2\n3\n4\n");
  ReaderHolder source;
  source.Reset(OpenFiles({file.path()}, {}, {}, {}));
  TakeReader first(source.NewHandle(), 1), second(source.NewHandle(), 1);
  auto third = std::make_unique<TakeReader>(source.NewHandle(), 1);
  ExpectToEnd(&first, "1 ");
  ExpectToEnd(&second, "2 ");
  ExpectHeld(file.path());
  third.reset();
  Replace(file.path(), "5\n6\n7\n8\n");
  first.ReInit();
  ExpectToEnd(&first, "5 ");
  Replace(file.path(), "9\n10\n11\n");  // the second one has not begun another pass
  first.ReInit();
  second.ReInit();
  EXPECT_TRUE(first.HasNext());
  ExpectToEnd(&second, "10 ");
  ExpectHeld(file.path());
  ExpectToEnd(&first, "9 ");
  Replace(file.path(), "0\n");
}

TEST(ReplacedFiles, AreNotReadWhileTheyAreWritten) {
  const TempFile file("file.txt", "1\n2\n3\n");
  const auto reader = OpenFiles({file.path()}, {}, {}, {});
  ExpectToEnd(reader.get(), "1 2 3 ");
  {
    OutputFile output(file.path());
    output.Write("4\n");
    reader->ReInit();
    ExpectError(ErrorCode::kInvalidArgument, "this process is writing a new file of this name",
                [&] { reader->HasNext(); });
    output.Publish();
  }
  reader->ReInit();
  ExpectToEnd(reader.get(), "4 ");
}

// An open file is read to its end, even if its name is given to another file.
TEST(ReplacedFiles, AreReadToTheirEndByAReaderThatHasThemOpen) {
  for (const BufferType type : {BufferType::kMemory, BufferType::kMmap}) {
    for (const int workers : {0, 3}) {
      const PoolSize pool(workers);
      const TempFile file("file.txt", "1\n2\n3\n"), other("other.txt", "4\n5\n6\n7\n");
      FormatArguments arguments;
      arguments.buffer_type = type;
      const auto reader = OpenFiles({file.path()}, {}, arguments, {});
      EXPECT_EQ(FirstSlot(ReadSome(reader.get(), 1)), "1 ");
      ASSERT_EQ(::rename(other.path().c_str(), file.path().c_str()), 0);
      ExpectToEnd(reader.get(), "2 3 ");
      reader->ReInit();
      ExpectToEnd(reader.get(), "4 5 6 7 ");
      WriteFile(other.path(), "");
    }
  }
}

TEST(ReplacedFiles, AreThoseOfThePositionsThatAreSavedLater) {
  const TempFile file("file.txt", "1\n2\n3\n");
  const auto make = [&] { return OpenFiles({file.path()}, {}, {}, {}); };
  const auto reader = make();
  reader->ExpectSave();
  ExpectToEnd(reader.get(), "1 2 3 ");
  Replace(file.path(), "4\n5\n6\n7\n");
  reader->ReInit();
  EXPECT_EQ(FirstSlot(ReadSome(reader.get(), 2)), "4 5 ");
  const auto other = make();
  other->Restore(Position::Parse(reader->Save().Serialize()));
  ExpectToEnd(other.get(), "6 7 ");
  ExpectHeld(file.path());  // by the first reader
  ExpectToEnd(reader.get(), "6 7 ");
  const auto ended = make();
  ended->Restore(reader->Save());
  Replace(file.path(), "8\n");
  EXPECT_FALSE(ended->HasNext());
}

}  // namespace
}  // namespace millhopper
