// SPDX-License-Identifier: Apache-2.0
// The peek command, run as a child process on the random generator and on lines of text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/position.h"
#include "readers/sources/random_data_reader.h"
#include "tests/child.h"
#include "tests/files/encoded_images.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

constexpr char kLines[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars {
    name: "lines"
    persistable: true
    type { type: READER reader { lod_tensor { tensor { data_type: UINT8 dims: -1 } lod_level: 1 } } }
  }
  ops {
    type: "create_text_file_reader"
    outputs { parameter: "Out" arguments: "lines" }
    attrs { name: "filename" s: "${file}" }
  }
  vars { name: "pairs" persistable: true type { type: READER } }
  ops {
    type: "create_batch_reader"
    inputs { parameter: "UnderlyingReader" arguments: "lines" }
    outputs { parameter: "Out" arguments: "pairs" }
    attrs { name: "batch_size" i: 2 }
  }
}
)";

constexpr char kImages[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars {
    name: "images"
    persistable: true
    type {
      type: READER
      reader {
        lod_tensor { tensor { data_type: FP32 dims: 1 dims: 3 dims: 8 dims: 6 } }
        lod_tensor { tensor { data_type: FP32 dims: 1 dims: 1 } }
      }
    }
  }
  ops {
    type: "create_random_data_generator"
    outputs { parameter: "Out" arguments: "images" }
    attrs { name: "count" i: ${count} }
  }
}
)";

class Peek : public ::testing::Test {
 protected:
  ChildResult PeekAtLines(const Words& flags) {
    Words command = {"tools/peek", "--startup=" + startup_.path(), "--set=file=" + text_.path()};
    command.insert(command.end(), flags.begin(), flags.end());
    return RunChild(command);
  }

  const TempFile startup_{"startup.pbtxt", kLines};
  const TempFile text_{"lines.txt", "ab\n\nc\nde"};
};

TEST(PeekAtFiles, ProposesFieldsAndShowsWhatTheyGive) {
  const TempFile file("rows.csv", "id,user name\n7,ab\n8,\n");
  ChildResult result = RunChild({"tools/peek", file.path(), "--count=1"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            "fields that fit the first records:\n"
            "  [\"id int64[]\",\n"
            "   '\"user name\" str missing=mask']\n"
            "with the attributes:\n"
            "  encoding: \"utf-8\"\n"
            "  numbers: \"exact\"\n" +
                file.path() +
                ": csv\n"
                "reader 'files' (open_files, peek: operator 0 of block 0)\n"
                "  slot 0 (id) is declared int64 [1]\n"
                "  slot 1 (user name) is declared uint8 [-1] with 1 level of detail\n"
                "  slot 2 (user name.valid) is declared bool [1]\n"
                "element 0\n"
                "  slot 0 (id): int64 [1]\n"
                "    7\n"
                "  slot 1 (user name): uint8 [2], lod [[0, 2]]\n"
                "    \"ab\"\n"
                "  slot 2 (user name.valid): bool [1]\n"
                "    true\n"
                "and more elements\n");
  result = RunChild({"tools/peek", file.path(), "--field=name = user name", "--count=0"});
  EXPECT_EQ(result.output, file.path() +
                               ": csv\n"
                               "reader 'files' (open_files, peek: operator 0 of block 0)\n"
                               "  slot 0 (name) is declared uint8 [-1] with 1 level of detail\n"
                               "  slot 1 (name.valid) is declared bool [1]\n"
                               "and more elements\n");
  result = RunChild({"tools/peek", file.path(), "--attribute=exclude=user name", "--count=0"});
  EXPECT_EQ(result.output,
            "fields that fit the first records:\n"
            "  [\"id int64[]\"]\n"
            "with the attributes:\n"
            "  encoding: \"utf-8\"\n"
            "  numbers: \"exact\"\n" +
                file.path() +
                ": csv\n"
                "reader 'files' (open_files, peek: operator 0 of block 0)\n"
                "  slot 0 (id) is declared int64 [1]\n"
                "and more elements\n");
  result = RunChild({"tools/peek", file.path(), "--field=user name", "--json", "--count=1"});
  EXPECT_EQ(result.output,
            "{\"slots\":[{\"name\":\"user name\",\"dtype\":\"uint8\",\"dims\":[2],\"lod\":[[0,2]],"
            "\"data\":[97,98],\"text\":\"ab\"},{\"name\":\"user name.valid\",\"dtype\":\"bool\","
            "\"dims\":[1],\"lod\":[],\"data\":[true]}]}\n");
  result = RunChild({"tools/peek", file.path(), "--field=ids"});
  EXPECT_EQ(result.errors,
            StrCat("error: ", file.path(), ": there is no 'ids'; did you mean 'id'?; ",
                   "there are 'id', 'user name'\n"));
  result = RunChild({"tools/peek", file.path(), "--field=id int32[]", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(
      result.output,
      "{\"slots\":[{\"name\":\"id\",\"dtype\":\"int32\",\"dims\":[1],\"lod\":[],\"data\":[7]}]}\n"
      "{\"slots\":[{\"name\":\"id\",\"dtype\":\"int32\",\"dims\":[1],\"lod\":[],\"data\":[8]}]}\n");
  result = RunChild({"tools/peek", file.path(), "--all"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("\nslot 1 (user name): uint8 [0], uint8 [2]\n"), std::string::npos)
      << result.output;
}

TEST(PeekAtFiles, SaysHowFoldersAndProgramsAreShown) {
  const std::string folder = TempName("folder");
  std::filesystem::create_directory(folder);
  ChildResult result = RunChild({"tools/peek", folder});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.errors.rfind(StrCat("error: ", folder, ": is a directory; '", folder,
                                       "/*' names the files in it, and image_folder:", folder),
                                0),
            0u)
      << result.errors;
  const TempFile program("startup.pbtxt", kLines);
  result = RunChild({"tools/peek", program.path()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, StrCat("error: ", program.path(), ": is a program; --startup=",
                                  program.path(), " shows what its reader yields\n"));
}

TEST(PeekAtFiles, SaysThatAFileIsEmpty) {
  const TempFile file("rows.csv", "");
  const ChildResult result = RunChild({"tools/peek", file.path()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find(StrCat("; ", file.path(), " is empty\n")), std::string::npos)
      << result.errors;
}

TEST(PeekAtFiles, SetsAttributesOfTheFormat) {
  const TempFile table("rows.csv", "7\t0.5\n8\t2.5\n");
  const ChildResult rows = RunChild({"tools/peek", "--attribute", "delimiter=\\t", table.path()});
  EXPECT_EQ(rows.exit_code, 0) << rows.errors;
  EXPECT_EQ(rows.output.rfind("fields that fit the first records:\n"
                              "  [\"#0 int64[]\",\n   \"#1 float64[]\"]\n",
                              0),
            0u)
      << rows.output;
  const TempFile bytes("bytes", "abc");
  const std::vector<std::string> pairs = {"tools/peek", "--slots=uint8[1,2]", "--json",
                                          "fixed:" + bytes.path()};
  std::vector<std::string> whole = pairs;
  whole.push_back("--attribute=drop_last=true");
  EXPECT_EQ(RunChild(pairs).exit_code, 3);
  const ChildResult pair = RunChild(whole);
  EXPECT_EQ(pair.exit_code, 0) << pair.errors;
  EXPECT_NE(pair.output.find("\"data\":[97,98]"), std::string::npos) << pair.output;
  whole.back() = "--attribute=drop_last=yes";
  EXPECT_NE(RunChild(whole).errors.find("'yes' is not true or false"), std::string::npos);
  const TempFile values("values.libsvm", "1 0:0.5\n");
  const ChildResult zero = RunChild({"tools/peek", "--attribute=first_index=0",
                                     "--field=dense float32[2]", "--json", values.path()});
  EXPECT_EQ(zero.exit_code, 0) << zero.errors;
  EXPECT_NE(zero.output.find("\"data\":[0.5,0.0]"), std::string::npos) << zero.output;
}

TEST(PeekAtFiles, PrintsElementsBeforeTheErrorThatFollowsThem) {
  const TempFile rows("rows.csv", "a,b\n1,2\n3,\n");
  const ChildResult result = RunChild(
      {"/bin/bash", "-c", "tools/peek --field='b int64[]' " + rows.path() + " 2>&1 | tail -n 4"});
  EXPECT_EQ(result.output.rfind("    2\nerror: ", 0), 0u) << result.output;
}

TEST(PeekAtFiles, DrawsImagesAsFilesHaveThem) {
  // Two pictures of one colour each, of different sizes, the second one larger than a sheet takes
  // whole, one of too many pixels, and two that end early.
  PngImage red, blue, huge;
  red.height = 8;
  red.width = 6;
  blue.height = 100;
  blue.width = 4500;
  huge.height = 8193;
  huge.width = 8192;
  huge.depth = 1;
  huge.colors = 0;
  huge.rows.resize(size_t{8193} * 8192 / 8);
  for (int i = 0; i < 8 * 6; ++i) red.rows += std::string("\xff\0\0", 3);
  for (int i = 0; i < 100 * 4500; ++i) blue.rows += std::string("\0\0\xff", 3);
  const std::string folder = TempName("pictures");
  std::filesystem::create_directory(folder);
  WriteFile(folder + "/0.png", EncodePng(red).substr(0, 20));
  WriteFile(folder + "/1.png", EncodePng(red));
  WriteFile(folder + "/2.png", EncodePng(red).substr(0, EncodePng(red).size() - 20));
  WriteFile(folder + "/3.png", EncodePng(huge));
  WriteFile(folder + "/4.png", EncodePng(blue));
  const std::string png = TempName("sheet.png");
  const ChildResult result = RunChild({"tools/peek", folder + "/*.png", "--png=" + png});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, png + ": images of 5 elements\n");
  const std::string rows = ReadPng(ReadFile(png)).rows;
  EXPECT_NE(rows.find(std::string("\xff\0\0\xff\0\0", 6)), std::string::npos);
  EXPECT_NE(rows.find(std::string("\0\0\xff\0\0\xff", 6)), std::string::npos);
}

// The largest number is white: depths fill no more than a part of 16 bits.
TEST(PeekAtFiles, DrawsNumbersOf16Bits) {
  std::string bytes;
  for (int i = 0; i < 64; ++i) bytes += std::string(i == 0 ? "\xE8\x03" : "\xF4\x01", 2);
  const TempFile file("depths.bin", bytes);
  const std::string png = TempName("sheet.png");
  const ChildResult result =
      RunChild({"tools/peek", "--slots=uint16[1,8,8,1]", "--png=" + png, "fixed:" + file.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, png + ": images of 1 element\n");
  const std::string rows = ReadPng(ReadFile(png)).rows;
  EXPECT_NE(rows.find(std::string(4 * 3, '\xFF') + std::string(4 * 3, '\x80')), std::string::npos);
}

TEST(PeekAtFiles, ShowsTextAsText) {
  const std::string umlauts(63, 'u');
  const TempFile file("lines.txt", "to be\tor\n\n\x01\n\xff\n" + umlauts + "\xc3\xbc!\n");
  const ChildResult result = RunChild({"tools/peek", file.path(), "--count=5"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string elements = result.output.substr(result.output.find("element 0"));
  EXPECT_EQ(elements,
            "element 0\n  slot 0: uint8 [8], lod [[0, 8]]\n    \"to be\\tor\"\n"
            "element 1\n  slot 0: uint8 [0], lod [[0, 0]]\n    \"\"\n"
            "element 2\n  slot 0: uint8 [1], lod [[0, 1]]\n    1\n"
            "element 3\n  slot 0: uint8 [1], lod [[0, 1]]\n    255\n"
            "element 4\n  slot 0: uint8 [66], lod [[0, 66]]\n    \"" +
                umlauts + "\"...\nno more elements\n");
}

TEST(PeekAtFiles, TakesSlotsOfAFormatThatTellsNone) {
  const TempFile file("points", std::string("\x01\x02\x03\x04\x05\x06", 6));
  ChildResult result =
      RunChild({"tools/peek", "--slots=uint8[1,1] uint8[1,2]", "fixed:" + file.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("element 1\n"
                               "  slot 0: uint8 [1, 1]\n"
                               "    4\n"
                               "  slot 1: uint8 [1, 2], 5 to 6\n"
                               "    5 6\n"
                               "no more elements\n"),
            std::string::npos)
      << result.output;
  EXPECT_EQ(RunChild({"tools/peek", "--slots=uint8", "fixed:" + file.path()}).exit_code, 2);
  EXPECT_EQ(RunChild({"tools/peek", "--slots=uint8[1]", "--startup=x"}).exit_code, 2);
}

TEST(PeekAtFiles, SaysWhatToTypeWhereFilesDoNotTellTheirSlots) {
  const TempFile file("records", "ab"), empty("empty.csv", ""), tar("empty.tar", "");
  const auto said = [](const std::string& words) {
    const ChildResult result = RunChild({"tools/peek", words});
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_EQ(result.output, "");
    return result.errors;
  };
  EXPECT_EQ(said("fixed:" + file.path()),
            StrCat("error: fixed:", file.path(),
                   ": the files do not tell their slots; --slots does, such as --slots='uint8[1,1] "
                   "uint8[1,3,32,32]' for a label and an image in each record\n"));
  EXPECT_EQ(said(empty.path()),
            StrCat("error: ", empty.path(),
                   ": the format needs --field for each slot, such as --field='label int64[]'; ",
                   empty.path(), " is empty\n"));
  EXPECT_EQ(said(tar.path()),
            StrCat("error: ", tar.path(),
                   ": the format needs --field for each slot, such as --field='jpg;jpeg;png bytes' "
                   "--field='cls int64[] decode=text'; ",
                   tar.path(), " is empty\n"));
}

TEST(PeekAtFiles, NamesTheSlotsOfRecordsAsItsFlagDoes) {
  const TempFile records("points", "abcdef");
  const std::string written = TempName("points.recordio");
  ASSERT_EQ(RunChild({"tools/recordio", "write", "--output=" + written, "--slots=point uint8[1,2]",
                      "fixed:" + records.path()})
                .exit_code,
            0);
  const ChildResult result = RunChild({"tools/peek", "--slots=int64[1]", written});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.errors.find("; its records have --slots='point uint8[1,2]'\n"),
            std::string::npos)
      << result.errors;
}

TEST(PeekAtFiles, ShowsLinesOfSlots) {
  const TempFile multislot("lines", "1 7 2 0.5 1.5\n");
  const ChildResult result = RunChild({"tools/peek", "multislot:" + multislot.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output.rfind("fields that fit the first records:\n"
                                "  [\"#0 int64[]\",\n"
                                "   \"#1 float64[2]\"]\n"
                                "with the attributes:\n"
                                "  others: \"error\"\n",
                                0),
            0u)
      << result.output;
}

TEST(PeekAtPositions, PrintsOneAsJson) {
  SlotSpec slot;
  slot.dims = {1, 2};
  RandomDataReader reader({slot}, 0, 1, 5, RandomKey(1, 2, "noise"));
  reader.set_origin("reader 'noise'", "create_random_data_generator", "noise");
  ReadSome(&reader, 3);
  const std::string saved = reader.Save().Serialize();
  const TempFile file("saved.position", saved);
  const ChildResult result = RunChild({"tools/peek", "--json", "--state=" + file.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  const auto& noise = json.at("readers").at(0);
  EXPECT_EQ(noise.at("kind"), "create_random_data_generator");
  EXPECT_EQ(noise.at("name"), "noise");
  EXPECT_EQ(noise.at("settings").at("slots"), "float32 [1, 2]");
  EXPECT_EQ(noise.at("numbers").at("sample"), "3");
  const TempFile cut("cut.position", saved.substr(0, saved.size() / 2));
  const ChildResult failed = RunChild({"tools/peek", "--state=" + cut.path()});
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_NE(failed.errors.find("cut.position"), std::string::npos) << failed.errors;
  EXPECT_NE(failed.errors.find("this is no position"), std::string::npos) << failed.errors;
  EXPECT_EQ(RunChild({"tools/peek", "--state=" + file.path(), "--startup=x"}).exit_code, 2);
}

TEST(PeekAtFiles, KnowsFormatsByNameAndByContent) {
  const TempFile text("lines.txt", "ab\n");
  EXPECT_EQ(RunChild({"tools/peek", text.path()}).exit_code, 0);
  const TempFile unknown("unknown", "ab\n");
  EXPECT_EQ(RunChild({"tools/peek", unknown.path()}).exit_code, 3);
  EXPECT_EQ(RunChild({"tools/peek", "text:" + unknown.path()}).exit_code, 0);
  EXPECT_EQ(RunChild({"tools/peek", "text:" + unknown.path(), "--field=a int64[]"}).exit_code, 2);
  EXPECT_EQ(RunChild({"tools/peek"}).exit_code, 2);
  EXPECT_EQ(RunChild({"tools/peek", text.path(), "--startup=x"}).exit_code, 2);
}

TEST(PeekAtFiles, FindsTheSlotsOfRecordsOfTensors) {
  const TempFile table("points.csv", "x,label\n0.5,3\n1.5,4\n");
  const std::string file = TempName("points.recordio");
  ASSERT_EQ(RunChild({"tools/recordio", "write", "--output=" + file, "--field=x float32[]",
                      "--field=label int64[]", table.path()})
                .exit_code,
            0);
  const ChildResult result = RunChild({"tools/peek", file});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output.rfind(
                "slots that are stored beside the files, for recordio write:\n"
                "  --slots='x float32[1] label int64[1]'\n"
                "for a program:\n"
                "  type { type: READER reader { lod_tensor { tensor { data_type: FP32 dims: 1 } } "
                "lod_tensor { tensor { data_type: INT64 dims: 1 } } } }\n"
                "for Python:\n"
                "  slots={\"x\": (\"float32\", [1]), \"label\": (\"int64\", [1])}, in layers "
                "shapes=[[1], [1]], dtypes=[\"float32\", \"int64\"]\n",
                0),
            0u)
      << result.output;
  EXPECT_NE(result.output.find("slot 1 (label): int64 [1]\n    3\n"), std::string::npos)
      << result.output;
  // Without the manifest the records tell the same, except for the names.
  const std::string copy = TempName("copy.recordio");
  WriteFile(copy, ReadFile(file));
  const ChildResult nameless = RunChild({"tools/peek", copy});
  EXPECT_EQ(nameless.exit_code, 0) << nameless.errors;
  EXPECT_EQ(nameless.output.rfind("slots that fit the first records, for recordio write:\n"
                                  "  --slots='float32[1] int64[1]'\n",
                                  0),
            0u)
      << nameless.output;
  EXPECT_NE(nameless.output.find("slots={\"slot0\": (\"float32\", [1]), \"slot1\": "),
            std::string::npos)
      << nameless.output;
  EXPECT_NE(nameless.output.find("slot 1: int64 [1]\n    3\n"), std::string::npos)
      << nameless.output;
  // What it prints for a program is taken by one.
  const std::string declared = "  type { type: READER reader {";
  const size_t begin = result.output.find(declared);
  ASSERT_NE(begin, std::string::npos) << result.output;
  const std::string type = result.output.substr(begin, result.output.find('\n', begin) - begin);
  const TempFile startup(
      "startup.pbtxt", "blocks { idx: 0 parent_idx: -1 vars { name: \"points\" persistable: true " +
                           type +
                           " } ops { type: \"create_recordio_file_reader\" outputs { parameter: "
                           "\"Out\" arguments: \"points\" } attrs { name: \"filename\" s: \"" +
                           file + "\" } } }");
  const ChildResult same = RunChild({"tools/peek", "--startup=" + startup.path(), "--digest"});
  EXPECT_EQ(same.exit_code, 0) << same.errors;
  EXPECT_EQ(same.output, RunChild({"tools/peek", file, "--digest"}).output);
}

const std::string kNamed =
    BlockText(
        0, -1,
        {CreatedReaderText("points", "open_files", {}, {{"file_names", "strings: '${points}'"}}),
         CreatedReaderText("shuffled", "create_shuffle_reader", {"points"},
                           {{"buffer_size", "i: 9"}}),
         CreatedReaderText("rows", "create_csv_file_reader", {},
                           {{"filename", "s: '${table}'"},
                            {"fields", "strings: ['label int64[]', '\"user name\" bytes']"}}),
         CreatedReaderText("both", "create_zip_reader", {"shuffled", "rows"},
                           {{"check_alignment", "b: false"}}),
         CreatedReaderText("later", "create_skip_reader", {"points"}, {{"count", "i: 0"}}),
         CreatedReaderText("pairs", "create_zip_reader", {"shuffled", "later"},
                           {{"check_alignment", "b: false"}}),
         CreatedReaderText("doubled", "create_custom_reader", {"points"},
                           {{"sub_block", "block_idx: 1"},
                            {"source_var_names", "strings: ['a', 'b']"},
                            {"sink_var_names", "strings: ['b', 'twice_a']"}}),
         CreatedReaderText(
             "random", "create_random_data_generator", {},
             {{"shape_concat", "ints: [1, 2]"}, {"ranks", "ints: 2"}, {"count", "i: 1"}})}) +
    BlockText(1, 0,
              {TensorsText({"a", "b", "twice_a"}),
               OpText("scale", {{"X", {"a"}}}, {{"Out", {"twice_a"}}}, {{"scale", "f: 2"}})});

TEST(PeekAtPrograms, ShowsTheNamesThatFilesAndProgramsTell) {
  const TempFile table("points.csv", "x,label,user name\n0.5,3,ab\n");
  const std::string points = TempName("points.recordio");
  ASSERT_EQ(RunChild({"tools/recordio", "write", "--output=" + points, "--field=x float32[]",
                      "--field=label int64[]", table.path()})
                .exit_code,
            0);
  const TempFile startup("startup.pbtxt", kNamed);
  const auto peek = [&](const std::string& reader, const Words& flags = {}) {
    Words command = {"tools/peek", "--startup=" + startup.path(), "--reader=" + reader,
                     "--set=points=" + points, "--set=table=" + table.path()};
    command.insert(command.end(), flags.begin(), flags.end());
    const ChildResult result = RunChild(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  };
  using testing::HasSubstr;
  for (const char* reader : {"points", "shuffled"}) {
    const std::string output = peek(reader);
    EXPECT_THAT(output, HasSubstr("  slot 0 (x) is declared float32 [1]\n"
                                  "  slot 1 (label) is declared int64 [1]\n"));
    EXPECT_THAT(output, HasSubstr("  slot 1 (label): int64 [1]\n    3\n"));
  }
  EXPECT_THAT(peek("rows"), HasSubstr("  slot 1 (user name): uint8 [2], lod [[0, 2]]\n"));
  EXPECT_THAT(peek("both"), HasSubstr("  slot 2 (label): int64 [1]\n    3\n"));
  EXPECT_THAT(peek("pairs"), HasSubstr("  slot 1 (label) is declared int64 [1]\n"
                                       "  slot 2 (x) is declared float32 [1]\n"));
  EXPECT_THAT(peek("doubled"), HasSubstr("  slot 0 (b): int64 [1]\n    3\n"
                                         "  slot 1 (twice_a): float32 [1]\n    1.0\n"));
  EXPECT_THAT(peek("random"), HasSubstr("  slot 0: float32 [1, 2]"));
  EXPECT_THAT(peek("points", {"--all"}), HasSubstr("slot 1 (label):"));
  EXPECT_EQ(peek("points", {"--json"}),
            "{\"slots\":[{\"name\":\"x\",\"dtype\":\"float32\",\"dims\":[1],\"lod\":[],"
            "\"data\":[0.5]},{\"name\":\"label\",\"dtype\":\"int64\",\"dims\":[1],\"lod\":[],"
            "\"data\":[3]}]}\n");
}

TEST_F(Peek, ShowsFirstElementsOfTheReaderCreatedLast) {
  const ChildResult result = PeekAtLines({"--count=1"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_NE(result.output.find("'pairs' (create_batch_reader, " + startup_.path() + ":"),
            std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("slot 0: uint8 [2], lod [[0, 2, 2]]\n    \"ab\" \"\"\n"
                               "and more elements\n"),
            std::string::npos)
      << result.output;
}

TEST_F(Peek, ShowsTheReaderThatIsNamed) {
  const ChildResult result = PeekAtLines({"--reader=lines", "--count=9"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("element 3\n"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\nno more elements\n"), std::string::npos) << result.output;
}

TEST_F(Peek, SuggestsTheReaderThatWasMeant) {
  const ChildResult result = PeekAtLines({"--reader=linse"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("did you mean 'lines'?"), std::string::npos) << result.errors;
}

TEST_F(Peek, SaysWhatEachReaderHasDone) {
  const ChildResult plain = PeekAtLines({"--digest"});
  const ChildResult result = PeekAtLines({"--digest", "--stats"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, plain.output);
  EXPECT_EQ(result.errors.substr(0, 7), "reader ");
  EXPECT_NE(
      result.errors.find("\npairs (create_batch_reader)               2        2           0"),
      std::string::npos)
      << result.errors;
  EXPECT_NE(result.errors.find("\n  lines (create_text_file_reader)         4        4 "),
            std::string::npos)
      << result.errors;
}

TEST_F(Peek, PrintsAnElementALineAsJson) {
  const ChildResult result = PeekAtLines({"--json"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            "{\"slots\":[{\"dtype\":\"uint8\",\"dims\":[2],\"lod\":[[0,2,2]],\"data\":[97,98],"
            "\"text\":[\"ab\",\"\"]}]}\n"
            "{\"slots\":[{\"dtype\":\"uint8\",\"dims\":[3],\"lod\":[[0,1,3]],"
            "\"data\":[99,100,101],\"text\":[\"c\",\"de\"]}]}\n");
}

TEST_F(Peek, PrintsDigestsForAnyNumberOfThreads) {
  const ChildResult one = PeekAtLines({"--digest", "--reader=lines", "--threads=1"});
  EXPECT_EQ(one.exit_code, 0) << one.errors;
  const std::vector<ElementValue> elements = {
      {{DataType::kUint8, {2}, {{0, 2}}, "ab"}},
      {{DataType::kUint8, {0}, {{0, 0}}, ""}},
      {{DataType::kUint8, {1}, {{0, 1}}, "c"}},
      {{DataType::kUint8, {2}, {{0, 2}}, "de"}},
  };
  std::string expected;
  for (size_t i = 0; i < elements.size(); ++i) {
    expected += std::to_string(i) + " " + DigestOf(elements[i]) + "\n";
  }
  EXPECT_EQ(one.output, expected + "stream " + DigestOf(elements) + " 4\n");
  EXPECT_EQ(PeekAtLines({"--digest", "--reader=lines", "--threads=7"}).output, one.output);

  const ChildResult two = PeekAtLines({"--digest", "--reader=lines", "--count=2"});
  EXPECT_EQ(two.output,
            expected.substr(0, expected.find("2 ")) + "stream " +
                DigestOf(std::vector<ElementValue>(elements.begin(), elements.begin() + 2)) +
                " 2\n");
}

TEST_F(Peek, GivesStatisticsOfAll) {
  const ChildResult result = PeekAtLines({"--all"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  for (const char* words :
       {"2 elements\n", "slot 0: uint8 [2], uint8 [3]\n",
        "  values: 5, 97 to 101, mean 99, deviation 1.41421\n    97 █████ 101\n",
        "  length of axis 0: 2 to 3, mean 2.5\n",
        "  sequences: 4, of length 0 to 2, mean 1.25\n"}) {
    EXPECT_NE(result.output.find(words), std::string::npos) << words << "\n" << result.output;
  }
}

TEST_F(Peek, RefusesSlotsThatAreNoImages) {
  const ChildResult result = PeekAtLines({"--png=" + TempName("none.png")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "error: --png: no slot of this reader looks like an image\n");
}

TEST_F(Peek, DrawsImages) {
  const TempFile startup("images.pbtxt", kImages);
  const std::string png = TempName("sheet.png");
  const ChildResult result =
      RunChild({"tools/peek", "--startup=" + startup.path(), "--set=count=5", "--png=" + png});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, png + ": images of 5 elements\n");
  const std::string bytes = ReadFile(png);
  ASSERT_GT(bytes.size(), 24u);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  // 5 images of 8 x 6, four times as large, in 2 rows of 3, 2 pixels around each.
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\0\x50\0\0\0\x46", 8));

  // What 5 passes make of the first image, on a sheet of the same size, but not the same images.
  const ChildResult passes = RunChild({"tools/peek", "--startup=" + startup.path(), "--set=count=5",
                                       "--png=" + png, "--passes=5", "--force"});
  EXPECT_EQ(passes.output, png + ": an image as 5 passes make it\n") << passes.errors;
  EXPECT_EQ(ReadFile(png).substr(16, 8), bytes.substr(16, 8));
  EXPECT_NE(ReadFile(png), bytes);
  const ChildResult many = RunChild({"tools/peek", "--startup=" + startup.path(), "--set=count=5",
                                     "--png=" + png, "--passes=2000000000", "--force"});
  EXPECT_EQ(many.output, png + ": an image as 100 passes make it\n") << many.errors;

  const ChildResult histograms = RunChild({"tools/peek", "--startup=" + startup.path(),
                                           "--set=count=5", "--png=" + png, "--all", "--force"});
  EXPECT_EQ(histograms.output,
            png + ": histograms of the values, then the lengths, of every slot of 5 elements\n");
  EXPECT_EQ(ReadFile(png).substr(0, 8), bytes.substr(0, 8));
}

TEST_F(Peek, NamesSlotsAsTheirFormatDoes) {
  const std::string folder = NewFolder("named");
  std::filesystem::create_directories(folder + "/all");
  WriteFile(folder + "/all/1.jpg", "\xff\xd8\xff\xd9");
  WriteFile(folder + "/unnamed", "\xff\xd8\xff\xd9");
  WriteFile(folder + "/list", "all/1.jpg 7\n");
  WriteFile(folder + "/table.csv", "age;city\n7;Rom\n");
  const TempFile startup(
      "startup.pbtxt",
      BlockText(0, -1,
                {CreatedReaderText("files", "create_image_folder_file_reader", {},
                                   {{"filename", "s: '${data}'"}}),
                 CreatedReaderText("opened", "open_files", {},
                                   {{"file_names", "strings: 'image_folder:${data}'"}}),
                 CreatedReaderText("unnamed", "open_files", {},
                                   {{"file_names", "strings: '${data}/unnamed'"}}),
                 CreatedReaderText(
                     "table", "open_files", {},
                     {{"file_names", "strings: '${data}/table.csv'"}, {"delimiter", "s: ';'"}})}));
  const auto peek = [&](Words command) {
    command.insert(command.begin(), "tools/peek");
    const ChildResult result = RunChild(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  };
  const auto both = testing::HasSubstr(
      "  slot 0 (image) is declared uint8 [-1] with 1 level of detail\n"
      "  slot 1 (label) is declared int64 [1]\n");
  EXPECT_THAT(peek({"image_folder:" + folder}), both);
  EXPECT_THAT(peek({"image_list:" + folder + "/list"}), both);
  const auto read = [&](const std::string& reader) {
    return peek({"--startup=" + startup.path(), "--set=data=" + folder, "--reader=" + reader});
  };
  for (const char* const reader : {"files", "opened"}) EXPECT_THAT(read(reader), both);
  EXPECT_THAT(read("unnamed"), testing::HasSubstr("  slot 0 (image) is declared uint8"));
  EXPECT_THAT(read("table"), testing::HasSubstr("  slot 0 (age) is declared int64 [1]\n"
                                                "  slot 1 (city) is declared uint8 [-1]"));
  for (const char* const file : {"/all/1.jpg", "/unnamed"}) {
    EXPECT_THAT(peek({folder + file}), testing::HasSubstr("  slot 0 (image) is declared uint8"));
    EXPECT_THAT(peek({folder + file, "--json"}), testing::HasSubstr("{\"name\":\"image\","));
  }
}

// Images of one color each, shuffled, mirrored, in batches, and loaded ahead.
const std::string kShuffledColors =
    BlockText(
        0, -1,
        {CreatedReaderText("files", "create_image_folder_file_reader", {},
                           {{"filename", "s: '${data}'"}}),
         CreatedReaderText("shuffled", "create_shuffle_reader", {"files"},
                           {{"buffer_size", "i: 100"}}),
         CreatedReaderText("decoded", "create_custom_reader", {"shuffled"},
                           {{"sub_block", "block_idx: 1"},
                            {"source_var_names", "strings: ['bytes', 'label']"},
                            {"sink_var_names", "strings: ['image', 'label']"}}),
         CreatedReaderText("batches", "create_batch_reader", {"decoded"}, {{"batch_size", "i: 7"}}),
         CreatedReaderText("ahead", "create_double_buffer_reader", {"batches"})}) +
    BlockText(
        1, 0,
        {TensorsText({"bytes", "label", "pixels", "image"}),
         OpText("decode_image", {{"X", {"bytes"}}}, {{"Out", {"pixels"}}}, {{"channels", "i: 3"}}),
         OpText("random_crop", {{"X", {"pixels"}}}, {{"Out", {"image"}}},
                {{"size", "ints: [6, 6]"}})});

// The upper half of each image has one color, the lower half another one.
TEST_F(Peek, DrawsOneImageAsPassesMakeIt) {
  const std::string folder = NewFolder("colors");
  std::filesystem::create_directories(folder + "/all");
  constexpr uint8_t kStep = 5;
  for (uint8_t i = 0; i < 25; ++i) {
    PngImage image;
    image.height = 20;
    image.width = 8;
    for (int row = 0; row < 20; ++row) {
      const uint8_t blue = row < 10 ? 255 : 128;
      for (int column = 0; column < 8; ++column) {
        image.rows += static_cast<char>(kStep * i);
        image.rows += static_cast<char>(255 - kStep * i);
        image.rows += static_cast<char>(blue);
      }
    }
    WriteFile(StrCat(folder, "/all/", int{i}, ".png"), EncodePng(image));
  }
  const TempFile startup("colors.pbtxt", kShuffledColors);
  const std::string png = TempName("sheet.png");
  const auto colors = [&](const std::string& more) {
    const ChildResult result = RunChild({"tools/peek", "--startup=" + startup.path(),
                                         "--set=data=" + folder, "--png=" + png, "--force", more});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const std::string rows = ReadPng(ReadFile(png)).rows;
    std::set<std::string> found;
    for (size_t at = 0; at + 3 <= rows.size(); at += 3) found.insert(rows.substr(at, 3));
    return found;
  };
  // The two colors of one image, and that of the sheet; of a batch there are more.
  EXPECT_EQ(colors("--passes=16").size(), 3u);
  EXPECT_GT(colors("--count=1").size(), 7u);
}

TEST_F(Peek, ReplacesAPictureOnlyIfToldTo) {
  const TempFile startup("images.pbtxt", kImages), png("sheet.png", "a picture of mine");
  const Words command = {"tools/peek", "--startup=" + startup.path(), "--set=count=5",
                         "--png=" + png.path()};
  const ChildResult refused = RunChild(command);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_EQ(refused.errors, "error: " + png.path() + ": the file exists; --force replaces it\n");
  EXPECT_EQ(ReadFile(png.path()), "a picture of mine");
  Words forced = command;
  forced.emplace_back("--force");
  EXPECT_EQ(RunChild(forced).exit_code, 0);
  EXPECT_EQ(ReadFile(png.path()).substr(1, 3), "PNG");
  // The program and the data are not replaced, under whatever name.
  for (const std::string& input : {startup.path(), png.path() + ".link"}) {
    if (input != startup.path()) std::filesystem::create_hard_link(startup.path(), input);
    const ChildResult result = RunChild({"tools/peek", "--startup=" + startup.path(),
                                         "--set=count=5", "--force", "--png=" + input});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.errors, "error: " + input +
                                 ": cannot be written: this process reads the same file as a "
                                 "program; write to another name\n");
    EXPECT_EQ(ReadFile(startup.path()), kImages);
  }
  std::filesystem::remove(png.path() + ".link");
}

TEST_F(Peek, DrawsIntoAPipe) {
  const TempFile startup("images.pbtxt", kImages);
  const std::string link = TempName("stdout");  // a link as /dev/stdout is one
  std::filesystem::create_symlink("/proc/self/fd/1", link);
  const ChildResult result = RunChild(
      {"/bin/sh", "-c",
       "tools/peek --startup=" + startup.path() + " --set=count=5 --png=" + link + " | cat"});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  std::filesystem::remove(link);
  EXPECT_EQ(result.output.substr(1, 3), "PNG");
  EXPECT_EQ(result.output.find("images of"), std::string::npos);
  EXPECT_EQ(result.errors, link + ": images of 5 elements\n");
}

TEST_F(Peek, RefusesCountsThatMeanNothing) {
  const ChildResult result = PeekAtLines({"--count=-2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("--count=-2: 0 or more are possible"), std::string::npos);
}

// The same program is read by a loop here and by the command; test_vision.py compares the command
// with Python.
TEST_F(Peek, PrintsTheDigestsOfAugmentedImagesForAnyNumberOfThreads) {
  const std::string folder = NewFolder("augmented");
  std::filesystem::create_directories(folder + "/photos/all");
  for (const uint32_t number : {1, 2, 3, 4, 5}) {
    const ImageShape shape{40 + 3 * number, 55 - 2 * number, 3};
    WriteFile(StrCat(folder, "/photos/all/", number, ".jpg"),
              EncodeJpeg(SomePixels(shape, number), shape));
  }
  const std::string startup = "tests/programs/augmented_images/startup.pbtxt";
  std::string first;
  for (const int threads : {1, 2, 7, 16}) {
    const PoolSize pool(threads);
    ProgramRunner runner({{"data", folder}});
    runner.Startup(ReadFile(startup));
    const std::vector<ElementValue> batches = runner.ReadAllOf("batches");
    ASSERT_EQ(batches.size(), 3u);
    std::string expected;
    for (size_t i = 0; i < batches.size(); ++i) {
      expected += StrCat(i, " ", DigestOf(batches[i]), "\n");
    }
    const ChildResult result = RunChild({"tools/peek", "--startup=" + startup, "--digest",
                                         "--set=data=" + folder, StrCat("--threads=", threads)});
    EXPECT_EQ(result.output, expected + "stream " + DigestOf(batches) + " 3\n") << result.errors;
    if (first.empty()) first = result.output;
    EXPECT_EQ(result.output, first) << threads << " threads";
  }
}

TEST_F(Peek, StopsDrawingAnEndlessStream) {
  const TempFile startup("images.pbtxt", kImages);
  const std::string png = TempName("sheet.png");
  const ChildResult result =
      RunChild({"tools/peek", "--startup=" + startup.path(), "--set=count=0", "--png=" + png});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, png + ": images of 100 elements\n");
}

TEST_F(Peek, SeedsDecideWhatIsRandom) {
  const TempFile startup("images.pbtxt", kImages);
  const auto digest = [&startup](const std::string& seed) {
    return RunChild({"tools/peek", "--startup=" + startup.path(), "--set=count=3", "--digest",
                     "--seed=" + seed})
        .output;
  };
  EXPECT_EQ(digest("1"), digest("1"));
  EXPECT_NE(digest("1"), digest("2"));
}

const std::string kPackedAndMixed = BlockText(
    0, -1,
    {CreatedReaderText("lines", "create_text_file_reader", {}, {{"filename", "s: '${file}'"}}),
     CreatedReaderText("fewer", "create_text_file_reader", {}, {{"filename", "s: '${file}'"}}),
     CreatedReaderText("part", "create_take_reader", {"fewer"}, {{"count", "i: 1"}}),
     CreatedReaderText("mixed", "create_mix_reader", {"lines", "part"},
                       {{"weights", "float64s: [3, 1]"}, {"when_exhausted", "s: 'continue'"}}),
     CreatedReaderText("packed", "create_pack_reader", {"mixed"}, {{"length", "i: 8"}}),
     CreatedReaderText("batches", "create_batch_reader", {"packed"}, {{"batch_size", "i: 2"}})});

// Lines of 3, 2 and 5 bytes, and the first of them once more: 3, 2 and 3 fill a row.
TEST(PeekCommand, ShowsHowFullPackedRowsAreAndTheSharesOfAMix) {
  const TempFile startup("packed.pbtxt", kPackedAndMixed);
  const TempFile lines("packed.txt", "one\nto\nthree\n");
  const Words command = {"tools/peek", "--startup=" + startup.path(), "--set=file=" + lines.path(),
                         "--all"};
  const ChildResult shown = RunChild(command);
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  const size_t at = shown.output.find("packed rows");
  ASSERT_NE(at, std::string::npos) << shown.output;
  EXPECT_EQ(shown.output.substr(at),
            "packed rows: 2, 13 of 16 steps filled, padding 18.8 %\n"
            "  filled steps of a row: 5 to 8, mean 6.5\n"
            "    5 █  █ 8\n"
            "mix 'mixed':\n"
            "  'lines' ███████████████       75.0 %  3\n"
            "  'part'  █████                 25.0 %  1\n");
  const std::string png = TempName("packed.png");
  Words drawing = command;
  drawing.push_back("--png=" + png);
  const ChildResult drawn = RunChild(drawing);
  EXPECT_EQ(drawn.output, png +
                              ": histograms of the values, then the lengths, of every slot, then "
                              "of the filled steps of packed rows, then the shares of mix 'mixed' "
                              "of 1 element\n")
      << drawn.errors;
  // Three slots without lengths, packed rows and the mix, one below another: width and height.
  EXPECT_EQ(ReadFile(png).substr(16, 8), std::string("\0\0\x02\x20\0\0\x03\x80", 8));
  std::filesystem::remove(png);
}

}  // namespace
}  // namespace millhopper
