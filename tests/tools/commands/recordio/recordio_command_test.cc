// SPDX-License-Identifier: Apache-2.0
// The recordio command, run as users run it. The labels are those of tests/faults.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tests/bytes.h"
#include "tests/child.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

using Words = std::vector<std::string>;

ChildResult RunRecordIO(const Words& arguments) {
  Words command = {"tools/recordio"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunChild(command);
}

void ExpectFailure(const Words& arguments, int exit_code, const std::string& words) {
  const ChildResult result = RunRecordIO(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("error: "));
  EXPECT_THAT(result.errors, HasSubstr(words));
}

// A folder that no other test uses.
std::string NewFolder() {
  std::string path = TempName("folder");
  EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
  return path;
}

// The elements of a file, in order, as the format reads them.
std::vector<ElementValue> ElementsOf(const std::string& tag, const FileEntry& file,
                                     const std::vector<SlotSpec>& slots = {},
                                     const std::string& content = "") {
  const FormatSchema* schema = FindFileFormat(tag);
  FormatArguments arguments;
  arguments.declared = slots;
  arguments.has_companions = !file.companion.empty();
  if (!content.empty()) arguments.attributes.Set("content", content);
  FileReader reader(schema->Make(arguments), file);
  return ReadAll(&reader);
}

std::vector<std::string> RecordsOf(const std::string& path) {
  std::vector<std::string> records;
  for (const ElementValue& element : ElementsOf("recordio", {path, ""}, {}, "bytes")) {
    records.push_back(element[0].bytes);
  }
  return records;
}

void WriteRecords(const std::string& path, const std::vector<std::string>& records,
                  uint32_t chunk_records) {
  RecordIOOptions options;
  options.chunk_records = chunk_records;
  RecordIOWriter writer(path, options);
  for (const std::string& record : records) writer.Write(record);
  writer.Close();
}

// Seven images of 2 x 3 pixels and their labels.
std::string ImageFile() {
  std::string bytes = FromHex("00000803 00000007 00000002 00000003");
  for (char i = 0; i < 42; ++i) bytes += i;
  return bytes;
}
std::string LabelFile() { return FromHex("00000801 00000007 09080706050403"); }

const std::vector<SlotSpec>& ImageSlots() {
  static const std::vector<SlotSpec> slots = {{DataType::kUint8, {1, 2, 3}, 0, true},
                                              {DataType::kInt64, {1, 1}, 0, true}};
  return slots;
}

TEST(RecordIOCommand, WritesElementsThatReadAsTheInputDoes) {
  const std::string folder = NewFolder();
  const std::string images = folder + "/images-idx3-ubyte";
  const std::string labels = folder + "/labels-idx1-ubyte";
  WriteFile(images, ImageFile());
  WriteFile(labels, LabelFile());
  const std::vector<ElementValue> expected = ElementsOf("idx", {images, labels});
  ASSERT_EQ(expected.size(), 7u);
  for (const char* dialect : {"fluid", "go", "crc32c"}) {
    for (const char* compressor : {"none", "snappy", "gzip"}) {
      SCOPED_TRACE(std::string(dialect) + " " + compressor);
      const std::string output = folder + "/" + dialect + "-" + compressor;
      const ChildResult result =
          RunRecordIO({"write", "--output=" + output, "--shards=3", "--label_filename=" + labels,
                       std::string("--dialect=") + dialect,
                       std::string("--compressor=") + compressor, "--chunk_bytes=200B", images});
      ASSERT_EQ(result.exit_code, 0) << result.errors;
      EXPECT_THAT(result.output, HasSubstr("-00000.recordio: 3 records, 2 chunks, "));
      std::vector<ElementValue> read(expected.size());
      for (size_t shard = 0; shard < 3; ++shard) {
        const std::vector<ElementValue> elements = ElementsOf(
            "recordio", {StrCat(output, "-0000", shard, ".recordio"), ""}, ImageSlots(), "tensors");
        for (size_t i = 0; i < elements.size(); ++i) read.at(3 * i + shard) = elements[i];
      }
      EXPECT_EQ(read, expected);
    }
  }
}

TEST(RecordIOCommand, WritesBytesOfTextAndOfFixedRecords) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/lines.txt", "one\n\nthree");
  WriteFile(folder + "/points", std::string("\1\0\2\0aa\3\0\4\0bb", 12));
  const std::string output = folder + "/out.recordio";
  ChildResult result = RunRecordIO(
      {"write", "--output", output, "--content=bytes", "text:" + folder + "/lines.txt"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(RecordsOf(output), (Words{"one", "", "three"}));
  result = RunRecordIO({"write", "--output", output, "--force", "--content=bytes",
                        "--slots=int16[1,2] uint8[1,2]", "fixed:" + folder + "/points"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(RecordsOf(output), (Words{std::string("\1\0\2\0aa", 6), std::string("\3\0\4\0bb", 6)}));
}

TEST(RecordIOCommand, WritesTextAsTensors) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/lines.txt", "one\n\nthree");
  const std::string output = folder + "/out.recordio";
  const ChildResult result =
      RunRecordIO({"write", "--output", output, "text:" + folder + "/lines.txt"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(ElementsOf("recordio", {output, ""}, {{DataType::kUint8, {-1}, 1, true}}, "tensors"),
            ElementsOf("text", {folder + "/lines.txt", ""}));
}

TEST(RecordIOCommand, WritesTheFieldsOfATable) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/rows.csv", "id,name\n7,ab\n8,\n");
  const std::string output = folder + "/out.recordio";
  ChildResult result = RunRecordIO({"write", "--output", output, "--field=name bytes",
                                    "--field=id int64[]", folder + "/rows.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::vector<ElementValue> elements =
      ElementsOf("recordio", {output, ""},
                 {{DataType::kUint8, {-1}, 1, true}, {DataType::kInt64, {1}, 0, true}}, "tensors");
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[0][0].bytes, "ab");
  EXPECT_EQ(elements[1][1].bytes, std::string("\10\0\0\0\0\0\0\0", 8));
}

// Without fields all columns are written, as the first file has them.
TEST(RecordIOCommand, WritesTheFieldsThatItInfers) {
  const TempFile first("first.csv", "id,name,x\n7,ab,1\n8,,2\n"),
      second("second.csv", "id,name,x\n1.5,a,3\n");
  const std::string output = TempName("out.recordio");
  ChildResult result = RunRecordIO({"write", "--output", output, first.path()});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(StoredSlots({output})->names,
            (std::vector<std::string>{"id", "name", "x", "name.valid"}));
  result = RunRecordIO({"write", "--output", output, "--force", "--attribute=exclude=x",
                        "--attribute=exclude=name", first.path()});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(StoredSlots({output})->names, std::vector<std::string>{"id"});
  result = RunRecordIO({"write", "--output", output, "--force", first.path(), second.path()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("'1.5' is no int64; float64[] reads it"));
}

// An index is of the file as readers without fields find it to be written.
TEST(RecordIOCommand, IndexesATableAsReadersFindIt) {
  const TempFile table("semicolons.csv", "a;b\n1;\"2;3\"\n4;5\n");
  ChildResult result = RunRecordIO({"index", table.path()});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::string output = "--output=" + TempName("out.recordio");
  result = RunRecordIO({"write", output, table.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr(": 2 records, "));
  ::unlink((table.path() + ".mhi").c_str());
}

TEST(RecordIOCommand, NamesAFileThatNoFieldsFit) {
  const TempFile empty("empty.csv", ""), damaged("damaged.jsonl", "{\"x\": 1}\n{\"x\": }\n");
  const std::string output = "--output=" + TempName("out.recordio");
  for (const auto& words : {std::vector<std::string>{"write", output}, {"index"}}) {
    std::vector<std::string> command = words;
    command.push_back(empty.path());
    ExpectFailure(command, 2,
                  StrCat("error: ", empty.path(),
                         ": the format needs --field for each slot, such as --field='label "
                         "int64[]'\n"));
  }
  ExpectFailure({"write", output, "fixed:" + empty.path()}, 2,
                StrCat("error: fixed:", empty.path(),
                       ": the files do not tell their slots; --slots does, such as --slots='"));
  const ChildResult result = RunRecordIO({"write", output, damaged.path()});
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("the record is no JSON"));
  EXPECT_THAT(result.errors, HasSubstr("error: " + damaged.path() + ": "));
}

TEST(RecordIOCommand, RefusesToSetTheContentOfRecordsThatItCopies) {
  const TempFile lines("lines.txt", "one\n");
  const std::string records = TempName("records.recordio");
  const ChildResult result = RunRecordIO({"write", "--output=" + records, lines.path()});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  ExpectFailure(
      {"write", "--output=" + TempName("out.recordio"), "--attribute=content=tensors", records}, 2,
      "--attribute=content is of no use here");
}

TEST(RecordIOCommand, SetsAttributesOfTheFormat) {
  const TempFile table("rows.csv", "id;price\n7;1,5\n8;2\n");
  const std::string output = "--output=" + TempName("out.recordio");
  ExpectFailure(
      {"write", output, "--field=#0 bytes", table.path()}, 3,
      "the row has 2 columns, the first row has 1; perhaps the attribute delimiter should be");
  const ChildResult result =
      RunRecordIO({"write", output, "--attribute=delimiter=;", "--field=id int64[]", table.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr(": 2 records, "));
  const auto refused = [&](const std::string& attribute, const std::string& words) {
    ExpectFailure({"write", output, "--attribute=" + attribute, table.path()}, 2,
                  StrCat("error: --attribute=", attribute, ": ", words));
  };
  refused("delimiter", "an attribute is NAME=VALUE, such as delimiter=';'");
  refused("delimeter=;", "the format csv has no attribute 'delimeter'; did you mean 'delimiter'?");
  refused("header=perhaps", "attribute 'header' is \"perhaps\"");
  ExpectFailure({"write", output, "--attribute=first_index=one", "libsvm:" + table.path()}, 2,
                "'one' is no INT");
  const TempFile unknown("rows.dat", "1\n");
  ExpectFailure({"write", output, "--attribute=delimiter=;", unknown.path()}, 2,
                "--attribute needs the format");
}

TEST(RecordIOCommand, RefusesFlagsOfOtherActions) {
  const TempFile lines("lines.txt", "a\nb\n");
  const std::string output = "--output=" + TempName("out.recordio");
  ExpectFailure({"write", output, lines.path(), "--count=1"}, 2,
                "write: --count is a flag of head (");
  ExpectFailure({"head", lines.path(), "--shards=1"}, 2, "head: --shards is a flag of write (");
  ExpectFailure({"inspect", lines.path(), "--field=x bytes"}, 2,
                "inspect: --field is a flag of write, convert, verify and index (");
}

TEST(RecordIOCommand, SaysThatAFileOfAnotherFormatIsNotDamaged) {
  const TempFile lines("lines.csv", "a,b\n1,2\n");
  for (const char* action : {"head", "inspect"}) {
    const ChildResult result = RunRecordIO({action, lines.path()});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(result.errors, StrCat("error: ", lines.path(), ": is a file of the format csv, not ",
                                    "RecordIO; millhopper-peek shows what it holds\n"));
  }
  // The bytes are what counts.
  const std::string named = TempName("records.csv");
  WriteRecords(named, {"a", "b"}, 1);
  EXPECT_EQ(RunRecordIO({"verify", named}).exit_code, 0);
}

TEST(RecordIOCommand, SaysHowFoldersAreRead) {
  const std::string folder = NewFolder();
  const std::string words =
      StrCat(folder, ": is a directory; '", folder,
             "/*' names the files in it, and image_folder:", folder, " reads");
  ExpectFailure({"write", "--output=" + TempName("out.recordio"), folder}, 4, words);
  ExpectFailure({"index", folder}, 4, words);
}

TEST(RecordIOCommand, CopiesRecordsOfRecordIOAsTheyAre) {
  const std::string folder = NewFolder();
  const Words records = {"a", "", "not tensors at all", "d"};
  // The name tells the kind of one file, the first bytes that of the other.
  WriteRecords(folder + "/a.recordio", records, 1);
  WriteRecords(folder + "/b", records, 100);
  const std::string output = folder + "/out.recordio";
  const ChildResult result =
      RunRecordIO({"write", "--output", output, "--dialect=go", "--compressor=gzip",
                   folder + "/a.recordio", folder + "/b"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  Words twice = records;
  twice.insert(twice.end(), records.begin(), records.end());
  EXPECT_EQ(RecordsOf(output), twice);
}

TEST(RecordIOCommand, WritesRecordsAnewThatSlotsDescribe) {
  const std::string folder = NewFolder();
  const std::string old_layout =
      FromHex("01000000 00000000 06000000 080510011002 0000803f00000040 0000000000000000");
  const std::string later_layout = FromHex(
      "01000000 00000000 0000000000000000 00000000 06000000 080510011002"
      "0000803f00000040");
  WriteRecords(folder + "/old.recordio", {old_layout}, 1);
  const std::string output = folder + "/new.recordio";
  const ChildResult result =
      RunRecordIO({"write", "--output", output, "--slots=float32[1,2]", folder + "/old.recordio"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(RecordsOf(output), Words{later_layout});
  ExpectFailure(
      {"write", "--output", output, "--force", "--slots=float32[1,3]", folder + "/old.recordio"}, 3,
      "slot 0: float32 [1, 3] is declared, float32 [1, 2] was found");
  // The file that was there before is still there.
  EXPECT_EQ(RecordsOf(output), Words{later_layout});
  EXPECT_NE(::access((output + ".partial").c_str(), F_OK), 0);
}

TEST(RecordIOCommand, RefusesElementsOfSeveralKinds) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/lines.txt", "one\n");
  WriteRecords(folder + "/a.recordio", {"a"}, 1);
  ExpectFailure({"write", "--output", folder + "/out", folder + "/a.recordio",
                 "text:" + folder + "/lines.txt"},
                2, "cannot be mixed");
  WriteFile(folder + "/images-idx3-ubyte", ImageFile());
  ExpectFailure({"write", "--output", folder + "/out", folder + "/images-idx3-ubyte",
                 "text:" + folder + "/lines.txt"},
                2, "one output holds elements of one kind");
  EXPECT_NE(::access((folder + "/out").c_str(), F_OK), 0);
}

TEST(RecordIOCommand, InspectsEveryChunk) {
  const std::string folder = NewFolder();
  const std::string path = folder + "/letters.recordio";
  WriteRecords(path, {"ABC", "BCD", "CDE"}, 2);
  const ChildResult result = RunRecordIO({"inspect", path});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            path +
                "\n"
                "   chunk          byte   records      stored    expanded  compressor  checksum\n"
                "       0             0         2          14          14  none        63c70471\n"
                "       1            34         1           7           7  none        4cfbc964\n"
                "  dialect fluid\n"
                "  2 chunks, 3 records, 61 bytes stored, 21 expanded\n");
}

TEST(RecordIOCommand, VerifiesAndNamesEveryDamagedChunk) {
  const std::string folder = NewFolder();
  const std::string path = folder + "/a.recordio";
  WriteRecords(path, {"ABC", "BCD", "CDE"}, 1);
  const std::string good = ReadFile(path);
  WriteFile(folder + "/b.recordio", good);
  ChildResult result = RunRecordIO({"verify", folder + "/*.recordio"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, HasSubstr("/a.recordio: whole, 3 chunks, 3 records, 81 bytes stored"));
  EXPECT_THAT(result.output, HasSubstr("2 files: 6 chunks, 6 records"));
  // The first and the last chunk are damaged. Further below, a header is damaged, and nothing
  // after it can be found.
  WriteFile(path, FlipBit(FlipBit(good, size_t{8} * 26), size_t{8} * 80));
  result = RunRecordIO({"verify", folder + "/*.recordio"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("error: " + path + ": chunk 0 at byte 0: payload checksum"));
  EXPECT_THAT(result.errors, HasSubstr("error: " + path + ": chunk 2 at byte 54: payload checks"));
  EXPECT_THAT(result.output, HasSubstr("/a.recordio: DAMAGED, 3 chunks, 1 record, "));
  EXPECT_THAT(result.output, HasSubstr("/b.recordio: whole, 3 chunks, 3 records"));
  WriteFile(path, FlipBit(good, size_t{8} * 27));
  result = RunRecordIO({"verify", path});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("error: " + path + ": chunk 1 at byte 27: it begins with"));
  EXPECT_THAT(result.output, HasSubstr("/a.recordio: DAMAGED, 1 chunk, 1 record, "));
  ExpectFailure({"verify", folder + "/none", path}, 4, "No such file");
}

// If a file was cut off exactly between two chunks, all its records are right. Only its manifest
// says that there should be more.
TEST(RecordIOCommand, LeavesAManifestThatTellsACutBetweenChunks) {
  const std::string folder = NewFolder();
  const std::string input = folder + "/input.txt";
  WriteFile(input, "a0\nb0\na1\nb1\na2\nb2\n");
  const Words write = {"write",
                       "--output=" + folder + "/set",
                       "--shards=2",
                       "--content=bytes",
                       "--chunk_bytes=6B",
                       "text:" + input};
  ASSERT_EQ(RunRecordIO(write).exit_code, 0);
  const std::string first = folder + "/set-00000.recordio";
  const std::string manifest = folder + "/set.recordio.manifest.json";
  EXPECT_EQ(ReadFile(manifest),
            "{\"format\": \"recordio-manifest\", \"version\": 1, \"files\": [\n"
            " {\"name\": \"set-00000.recordio\", \"bytes\": 78, \"chunks\": 3, \"records\": 3},\n"
            " {\"name\": \"set-00001.recordio\", \"bytes\": 78, \"chunks\": 3, \"records\": 3}\n"
            "]}\n");
  EXPECT_EQ(RunRecordIO({"verify", folder + "/set*"}).exit_code, 0);
  EXPECT_EQ(RecordsOf(first), (Words{"a0", "a1", "a2"}));
  WriteFile(folder + "/set-00002.recordio", "");
  ExpectFailure(write, 2, "set-00002.recordio is left from an earlier run with more than 2 shards");
  EXPECT_EQ(RecordsOf(first), (Words{"a0", "a1", "a2"}));
  std::remove((folder + "/set-00002.recordio").c_str());
  // Two of three chunks are left.
  ASSERT_EQ(::truncate(first.c_str(), 52), 0);
  ChildResult result = RunRecordIO({"verify", folder + "/set*"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("set-00000.recordio: DAMAGED, 2 chunks, 2 records"));
  EXPECT_THAT(result.errors,
              HasSubstr("error: " + first +
                        ": the file ends at byte 52 with 2 records in 2 chunks and 52 bytes, but "
                        "its manifest says 3 records in 3 chunks and 78 bytes (" +
                        manifest + ")"));
  ExpectFailure({"inspect", first}, 3, "its manifest says 3 records");
  // Other files of the set stay listed when one is written anew by itself.
  ASSERT_EQ(
      RunRecordIO({"write", "--output=" + first, "--force", "--content=bytes", "text:" + input})
          .exit_code,
      0);
  result = RunRecordIO({"verify", folder + "/set*"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(ReadFile(manifest), HasSubstr("\"bytes\": 56, \"chunks\": 1, \"records\": 6}"));
  EXPECT_THAT(ReadFile(manifest), HasSubstr("set-00001.recordio"));
  // A foreign file under this name is neither believed nor replaced.
  WriteFile(manifest, "{\"mine\": 1}");
  Words forced = write;
  forced.emplace_back("--force");
  ExpectFailure(forced, 3, manifest + ": no manifest of RecordIO files");
  EXPECT_EQ(ReadFile(manifest), "{\"mine\": 1}");
}

TEST(RecordIOCommand, WritesNoManifestThroughALinkToNothing) {
  const std::string folder = NewFolder();
  const std::string output = folder + "/set.recordio", link = output + ".manifest.json";
  WriteFile(folder + "/input.txt", "a\nb\n");
  ASSERT_EQ(::mkdir((folder + "/elsewhere").c_str(), 0755), 0);
  ASSERT_EQ(::symlink("elsewhere/manifest", link.c_str()), 0);
  ExpectFailure({"write", "--output=" + output, "text:" + folder + "/input.txt"}, 4,
                link + ": cannot write: it is a link to a file that does not exist");
  EXPECT_NE(::access((folder + "/elsewhere/manifest").c_str(), F_OK), 0);
  EXPECT_NE(::access(output.c_str(), F_OK), 0);
}

TEST(RecordIOCommand, NeverReplacesWhatItReads) {
  const std::string folder = NewFolder();
  const std::string data = folder + "/data.recordio", labels = folder + "/labels-idx1-ubyte";
  WriteFile(folder + "/images-idx3-ubyte", ImageFile());
  WriteFile(labels, LabelFile());
  WriteFile(data, "one\ntwo\n");
  ASSERT_EQ(::link(data.c_str(), (folder + "/hard").c_str()), 0);
  ASSERT_EQ(::symlink("data.recordio", (folder + "/soft").c_str()), 0);
  for (const char* name : {"/data.recordio", "/hard", "/soft"}) {
    for (const char* force : {"--force", "--noforce"}) {
      ExpectFailure(
          {"write", "--output=" + folder + name, force, "text:" + data}, 2,
          std::string(name) + ": cannot be written: this process reads the same file as data");
    }
  }
  ExpectFailure({"write", "--output=" + labels, "--force", "--label_filename=" + labels,
                 folder + "/images-idx3-ubyte"},
                2, "reads the same file as data");
  const std::string flags = folder + "/flags";
  WriteFile(flags, "--force\n");
  ExpectFailure({"write", "--output=" + flags, "--flagfile=" + flags, "text:" + data}, 2,
                "reads the same file as a file of flags");
  EXPECT_EQ(ReadFile(data), "one\ntwo\n");
  EXPECT_EQ(ReadFile(labels), LabelFile());
  EXPECT_EQ(ReadFile(flags), "--force\n");
  // A shard cannot be written because it is an input. The other shards leave nothing behind.
  ASSERT_EQ(::link(data.c_str(), (folder + "/s-00001.recordio").c_str()), 0);
  ExpectFailure({"write", "--output=" + folder + "/s", "--shards=2", "--force", "text:" + data}, 2,
                "s-00001.recordio: cannot be written");
  EXPECT_NE(::access((folder + "/s-00000.recordio.partial").c_str(), F_OK), 0);
}

TEST(RecordIOCommand, ReplacesFilesOnlyIfToldTo) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/in.txt", "one\ntwo\n");
  WriteFile(folder + "/mine.recordio", "mine");
  WriteFile(folder + "/s-00001.recordio", "mine");
  ExpectFailure({"write", "--output=" + folder + "/mine.recordio", "text:" + folder + "/in.txt"}, 4,
                "/mine.recordio: the file exists; --force replaces it");
  ExpectFailure({"write", "--output=" + folder + "/s", "--shards=2", "text:" + folder + "/in.txt"},
                4, "/s-00001.recordio: the file exists; --force replaces it");
  EXPECT_EQ(ReadFile(folder + "/mine.recordio"), "mine");
  EXPECT_EQ(ReadFile(folder + "/s-00001.recordio"), "mine");
  EXPECT_EQ(RunRecordIO({"write", "--output=" + folder + "/s", "--shards=2", "--force",
                         "--content=bytes", "text:" + folder + "/in.txt"})
                .exit_code,
            0);
  EXPECT_EQ(RecordsOf(folder + "/s-00001.recordio"), Words{"two"});
}

// If the output is a pipe, or a link to an open descriptor, the command writes the same bytes as to
// a file, and no other file beside it.
TEST(RecordIOCommand, WritesAStreamToAPipe) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/in.txt", "one\ntwo\n");
  const Words words = {"--content=bytes", "text:" + folder + "/in.txt"};
  ASSERT_EQ(RunRecordIO({"write", "--output=" + folder + "/out", words[0], words[1]}).exit_code, 0);
  const std::string expected = ReadFile(folder + "/out");
  const std::string write = "tools/recordio write " + words[0] + " " + words[1] + " --output=";
  const auto expect = [&](const std::string& script, const std::string& what) {
    ChildResult result = RunChild({"/bin/sh", "-c", script});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(ReadFile(folder + "/got"), what) << script;
    return result;
  };
  const std::string got = folder + "/got";
  // A link as /dev/stdout is one. No test may touch the real one.
  const std::string standard = folder + "/stdout", third = folder + "/third";
  ASSERT_EQ(::symlink("/proc/self/fd/1", standard.c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/fd/3", third.c_str()), 0);
  EXPECT_EQ(expect(write + standard + " >" + got, expected).errors,
            StrCat(standard, ": 2 records, 1 chunk, ", expected.size(), " bytes\n"));
  expect(write + standard + " | cat >" + got, expected);
  expect("echo before >" + got + "; " + write + third + " 3>>" + got, "before\n" + expected);
  EXPECT_NE(::access((standard + ".manifest.json").c_str(), F_OK), 0);
  expect("mkfifo " + folder + "/pipe; cat " + folder + "/pipe >" + got + " & " + write + folder +
             "/pipe; wait",
         expected);
  EXPECT_NE(::access((folder + "/pipe.manifest.json").c_str(), F_OK), 0);
  ExpectFailure({"write", "--output=" + folder, words[0], words[1]}, 4,
                "it is not a regular file but a directory");
  ASSERT_EQ(::mkfifo((folder + "/s-00000.recordio").c_str(), 0600), 0);
  ExpectFailure({"write", "--output=" + folder + "/s", "--shards=2", "--force", words[0], words[1]},
                4, "s-00000.recordio: cannot write: it is not a regular file but a named pipe");
}

TEST(RecordIOCommand, TellsOfAShardThatIsMissing) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/in.txt", "one\ntwo\nthree\n");
  ASSERT_EQ(RunRecordIO({"write", "--output=" + folder + "/s", "--shards=3", "--content=bytes",
                         "text:" + folder + "/in.txt"})
                .exit_code,
            0);
  ASSERT_EQ(::unlink((folder + "/s-00001.recordio").c_str()), 0);
  const std::string missing = "error: " + folder +
                              "/s-00001.recordio: is not there, but the manifest of its set lists "
                              "it (" +
                              folder + "/s.recordio.manifest.json)";
  for (const std::string& files : {folder + "/s-*.recordio", folder + "/s-00002.recordio"}) {
    const ChildResult result = RunRecordIO({"verify", files});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.errors, HasSubstr(missing));
    EXPECT_THAT(result.output, HasSubstr("s-00002.recordio: whole, 1 chunk, 1 record"));
  }
  ExpectFailure({"write", "--output=" + folder + "/copy", folder + "/s-*.recordio"}, 3,
                missing.substr(7));
  EXPECT_EQ(RunRecordIO({"write", "--output=" + folder + "/copy", folder + "/s-00000.recordio",
                         folder + "/s-00002.recordio"})
                .exit_code,
            0);
  EXPECT_EQ(RecordsOf(folder + "/copy"), (Words{"one", "three"}));
}

// F12: the system refuses to let a file grow beyond a limit (ulimit -f). No partial file is left.
TEST(RecordIOCommand, SaysThatAFileIsTooLargeAndLeavesNothing) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/in.txt", std::string(100000, 'x'));
  const std::string write = "tools/recordio write --content=bytes text:" + folder +
                            "/in.txt --output=" + folder + "/out.recordio";
  for (const char* force : {"", " --force"}) {
    // The shell counts in blocks of 512 or of 1024 bytes.
    const ChildResult result = RunChild({"/bin/sh", "-c", "ulimit -f 10; exec " + write + force});
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.errors, HasSubstr("out.recordio: cannot write: File too large"));
    EXPECT_NE(::access((folder + "/out.recordio.partial").c_str(), F_OK), 0);
    EXPECT_EQ(RunChild({"/bin/sh", "-c", write + force}).exit_code, 0);
    EXPECT_EQ(RunRecordIO({"verify", folder + "/out.recordio"}).exit_code, 0);
  }
}

class RecordIOCommandSignals : public ::testing::TestWithParam<int> {};

// F26: whichever signal stops the command, it leaves no partial file.
TEST_P(RecordIOCommandSignals, LeaveNoPartialFile) {
  const std::string folder = NewFolder();
  std::string lines;
  for (int i = 0; i < 100000; ++i) lines += "a line that says nothing\n";
  WriteFile(folder + "/in.txt", lines);
  Words command = {"tools/recordio", "write", "--output=" + folder + "/out", "--content=bytes"};
  command.insert(command.end(), 300, "text:" + folder + "/in.txt");
  Child child(command);
  while (::access((folder + "/out.partial").c_str(), F_OK) != 0) std::this_thread::yield();
  child.Signal(GetParam());
  EXPECT_EQ(child.Wait().exit_code, 128 + GetParam());
  EXPECT_NE(::access((folder + "/out.partial").c_str(), F_OK), 0);
  EXPECT_NE(::access((folder + "/out").c_str(), F_OK), 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, RecordIOCommandSignals,
                         ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGXCPU));

TEST(RecordIOCommand, ShowsTheFirstRecords) {
  const std::string path = NewFolder() + "/a.recordio";
  WriteRecords(path,
               {FromHex("01000000 00000000 0000000000000000 00000000 06000000 080510011002"
                        "0000803f0000c0ff"),
                "two"},
               1);
  const ChildResult result = RunRecordIO({"head", path, "--bytes=20"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            path +
                "\n"
                "record 0 of chunk 0 at byte 0: 38 bytes\n"
                "  00000000  01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  "
                "|................|\n"
                "  00000010  00 00 00 00                                      |....|\n"
                "  ... 18 more bytes\n"
                "  slot 0: float32 [1, 2]: 1.0 nan\n"
                "record 0 of chunk 1 at byte 62: 3 bytes\n"
                "  00000000  74 77 6f                                         |two|\n");
  EXPECT_EQ(RunRecordIO({"head", path, "--count=0"}).output, path + "\n");
}

// What the manifest of a file tells of its slots.
std::string StoredText(const std::string& file) {
  const std::optional<NamedSlots> stored = StoredSlots({file});
  return stored ? ToText(*stored) : "none";
}

TEST(RecordIOCommand, StoresSlotsAndNames) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/rides.csv", "id,\"user, name\"\n7,ab\n8,\n9,c\n");
  WriteFile(folder + "/none.csv", "id,user\n");
  WriteFile(folder + "/lines.txt", "one\n\nthree");
  WriteFile(folder + "/points", std::string("\1\0\2\0aa\3\0\4\0bb", 12));
  WriteFile(folder + "/images-idx3-ubyte", ImageFile());
  const std::string output = folder + "/out.recordio";
  const auto stored = [&](const Words& arguments) {
    Words command = {"write", "--output=" + output, "--force"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ChildResult result = RunRecordIO(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return StoredText(output);
  };
  const std::string user = "--field=\"user, name\" bytes";
  const std::string table = folder + "/rides.csv";
  EXPECT_EQ(stored({"--field=id int64[]", user, table}), "id int64[1] \"user, name\" uint8[-1]:1");
  EXPECT_EQ(stored({"--field=id int64[]", folder + "/none.csv"}), "id int64[1]");
  EXPECT_EQ(stored({folder + "/lines.txt"}), "uint8[-1]:1");
  EXPECT_EQ(stored({folder + "/images-idx3-ubyte"}), "uint8[1,2,3]");
  const std::string points = "fixed:" + folder + "/points";
  EXPECT_EQ(stored({"--slots=at int16[1,2] text uint8[1,2]", points}),
            "at int16[1,2] text uint8[1,2]");
  EXPECT_EQ(stored({"--slots=int16[1,2] uint8[1,2]", points}), "int16[1,2] uint8[1,2]");
  EXPECT_EQ(stored({"--slots=int16[1,2] uint8[1,2]", "--content=bytes", points}), "none");
}

TEST(RecordIOCommand, CopiesSlotsAndNamesWithTheRecords) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/rides.csv", "id,user\n7,ab\n8,\n9,c\n");
  const std::string first = folder + "/first.recordio", output = folder + "/out";
  ASSERT_EQ(RunRecordIO({"write", "--output=" + first, "--field=id int64[]", "--field=user bytes",
                         folder + "/rides.csv"})
                .exit_code,
            0);
  const std::string shard = output + "-00001.recordio";
  ASSERT_EQ(RunRecordIO({"write", "--output=" + output, "--shards=2", first, first}).exit_code, 0);
  EXPECT_EQ(StoredText(shard), "id int64[1] user uint8[-1]:1");
  // A file without its manifest has types and dims, and no names.
  const std::string copy = folder + "/copy.recordio";
  WriteFile(copy, ReadFile(first));
  const std::string force = "--force";
  ASSERT_EQ(
      RunRecordIO({"write", force, "--output=" + output, "--shards=2", first, copy}).exit_code, 0);
  EXPECT_EQ(StoredText(shard), "int64[1] uint8[-1]:1");
  // Records of other kinds side by side, and some that are no tensors.
  for (const std::string& other : {RecordOf({MakeTensor<float>({1}, {1})}), std::string("bytes")}) {
    WriteRecords(copy, {other, other}, 1);
    ASSERT_EQ(
        RunRecordIO({"write", force, "--output=" + output, "--shards=2", first, copy}).exit_code,
        0);
    EXPECT_EQ(StoredText(shard), "none");
  }
}

TEST(RecordIOCommand, ShowsNamesAndText) {
  const std::string folder = NewFolder();
  WriteFile(folder + "/rides.csv", "id,user\n7,ab\n");
  const std::string path = folder + "/a.recordio";
  ASSERT_EQ(RunRecordIO({"write", "--output=" + path, "--field=id int64[]", "--field=user bytes",
                         folder + "/rides.csv"})
                .exit_code,
            0);
  const std::string with_names =
      "  slot 0 (id): int64 [1]: 7\n"
      "  slot 1 (user): uint8 [2], lod [[0, 2]]: \"ab\"\n";
  ChildResult result = RunRecordIO({"head", path, "--bytes=0"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr(with_names));
  result = RunRecordIO({"head", path, "--bytes=0", "--json"});
  EXPECT_THAT(result.output, HasSubstr(R"("dtype":"int64","lod":[],"name":"id"})"));
  // A damaged manifest hides the names, not the records; `verify` tells of it.
  WriteFile(path + ".manifest.json", "{");
  result = RunRecordIO({"head", path, "--bytes=0"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("  slot 0: int64 [1]: 7\n"));
  ExpectFailure({"verify", path}, 3, "no manifest of RecordIO files");
}

TEST(RecordIOCommand, WritesIndexes) {
  const std::string folder = NewFolder();
  const auto length = [](const std::string& tag, const std::string& path,
                         const std::vector<std::string>& fields) {
    FormatArguments arguments;
    if (!fields.empty()) arguments.attributes.Set("fields", fields);
    if (tag == "recordio") arguments.attributes.Set("content", std::string("bytes"));
    FileReader reader(FindFileFormat(tag)->Make(arguments), FileEntry{path, ""});
    return reader.PassLength();
  };
  const std::string csv = folder + "/a.csv";
  WriteFile(csv, "n,text\n1,one\n2,\"two\nlines\"\n");
  const std::string text = folder + "/b.txt";
  WriteFile(text, "1\n2\n3");
  const std::string recordio = folder + "/c.recordio";
  WriteRecords(recordio, {"a", "b"}, 1);
  ChildResult result = RunRecordIO({"index", folder + "/*"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, StrCat(csv, ".mhi: 2 records, 1 chunk, 27 bytes\n", text,
                                  ".mhi: 3 records, 1 chunk, 5 bytes\n", recordio,
                                  ".mhi: 2 records, ", ReadFile(recordio).size(), " bytes\n"));
  EXPECT_EQ(length("csv", csv, {"text bytes"}), 2u);
  EXPECT_EQ(length("text", text, {}), 3u);
  EXPECT_EQ(length("recordio", recordio, {}), 2u);
  // A changed file: its index is made again, here in spite of what it says now.
  WriteFile(csv, "n,text\n1,one\n");
  WriteFile(text, "1\n");
  result = RunRecordIO({"index", "--json", "--field=n int64[]", csv});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, R"({"bytes":13,"chunks":1,"file":")" + csv + R"(","index":")" + csv +
                               R"(.mhi","records":1})" + "\n");
  EXPECT_EQ(length("csv", csv, {"text bytes"}), 1u);
  ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { length("text", text, {}); });
  // Without a header, by the fields that are given.
  ASSERT_EQ(RunRecordIO({"index", "--field=#0 bytes", csv}).exit_code, 0);
  EXPECT_EQ(length("csv", csv, {"#0 bytes"}), 2u);
  EXPECT_EQ(length("csv", csv, {"text bytes"}), std::nullopt);
  // Another file has the name of the index.
  WriteFile(text + ".mhi", "notes\n");
  ExpectFailure({"index", text}, 4, "is no index; delete it, or replace it with --force");
  EXPECT_EQ(ReadFile(text + ".mhi"), "notes\n");
  ASSERT_EQ(RunRecordIO({"index", "--force", text}).exit_code, 0);
  EXPECT_EQ(length("text", text, {}), 1u);
  ExpectFailure({"index", "https://127.0.0.1:1/a.txt"}, 2, "only files on local disks");
  ExpectFailure({"index", "text:" + folder + "/none"}, 4, "No such file");
  ExpectFailure({"index", "fixed:" + text}, 2, "no index for files of the format fixed");
  ExpectFailure({"index", "idx:" + text}, 2, "no index for files of the format idx");
  ExpectFailure({"index"}, 2, "no file is named");
}

// An index is for readers with the attributes that it was made with.
TEST(RecordIOCommand, WritesIndexesByAttributes) {
  const std::string path = NewFolder() + "/prices.csv";
  WriteFile(path, "n;text\n1;'one\nline'\n2;two\n");
  const auto length = [&](const std::string& delimiter) {
    FormatArguments arguments;
    arguments.attributes.Set("fields", std::vector<std::string>{"#0 bytes"});
    arguments.attributes.Set("header", std::string("yes"));
    arguments.attributes.Set("quote", std::string("'"));
    arguments.attributes.Set("delimiter", delimiter);
    FileReader reader(FindFileFormat("csv")->Make(arguments), FileEntry{path, ""});
    return reader.PassLength();
  };
  const ChildResult result =
      RunRecordIO({"index", "--attribute=delimiter=;", "--attribute=quote='", path});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, StrCat(path, ".mhi: 2 records, 1 chunk, 26 bytes\n"));
  EXPECT_EQ(length(";"), 2u);
  EXPECT_EQ(length(","), std::nullopt);
  ExpectFailure({"index", "--attribute=delimeter=;", path}, 2, "did you mean 'delimiter'?");
  ExpectFailure({"inspect", "--attribute=delimiter=;", path}, 2, "verify and index");
}

TEST(RecordIOCommand, SaysWhatIsWrongWithItsArguments) {
  const std::string folder = NewFolder();
  const std::string input = folder + "/a.recordio";
  WriteRecords(input, {"a"}, 1);
  ExpectFailure({}, 2, "write, convert, inspect, verify, head or index");
  ExpectFailure({"inspekt", input}, 2, "did you mean 'inspect'?");
  ExpectFailure({"inspect"}, 2, "no file is named");
  ExpectFailure({"write", input}, 2, "--output is missing");
  const auto expect = [&](const std::string& flag, const std::string& words) {
    ExpectFailure({"write", "--output=" + folder + "/out", flag, input}, 2, words);
  };
  expect("--shards=0", "--shards=0");
  expect("--compressor=zip", "known: none, snappy, gzip");
  expect("--dialect=rust", "known: fluid, go, crc32c");
  expect("--chunk_bytes=0", "are possible");
  expect("--chunk_bytes=4GiB", "are possible");
  expect("--chunk_bytes=many", "not a number of bytes");
  expect("--content=words", "tensors or bytes");
  expect("--slots=float[1]", "no type 'float'");
  expect("--slots=float32[1,2] int64", "'int64' is no slot");
  expect("--slots=float32[-2]", "an axis is -1 (any) or more");
  expect("--label_filename=" + input + "," + input, "2 files, but there are 1 inputs");
  ExpectFailure({"write", "--output=" + folder + "/out", folder + "/none.recordio"}, 4,
                "No such file");
  ExpectFailure({"write", "--output=" + folder + "/none/out", input}, 4, "No such file");
  ExpectFailure({"write", "--output=" + folder + "/out", "fixed:" + input}, 2, "--slots");
  EXPECT_NE(::access((folder + "/out").c_str(), F_OK), 0);
  const ChildResult help = RunRecordIO({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("recordio verify FILE..."));
  EXPECT_THAT(help.output, HasSubstr("--chunk_bytes"));
}

}  // namespace
}  // namespace millhopper
