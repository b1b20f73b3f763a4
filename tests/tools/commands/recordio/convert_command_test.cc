// SPDX-License-Identifier: Apache-2.0
// recordio convert and verify of files of other formats, run as users run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "framework/io/file_system.h"
#include "tests/bytes.h"
#include "tests/child.h"
#include "tests/files/tfrecords.h"
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

std::string Converted(const Words& arguments) {
  Words all = {"convert"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ChildResult result = RunRecordIO(all);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return result.output;
}

void ExpectFailure(const Words& arguments, int exit_code, const std::string& words) {
  const ChildResult result = RunRecordIO(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr(words));
}

std::string NewFolder() {
  std::string path = TempName("folder");
  EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
  return path;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
    names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

constexpr char kRows[] = "id,price,title\n1,0.5,a\n2,,\"b, c\"\n3,1.25,d\n";

TEST(ConvertCommand, WritesWhatWasRead) {
  const TempFile rows("rows.csv", kRows);
  const std::string folder = NewFolder();
  const std::string out = Converted({"--output=" + folder + "/x.jsonl", rows.path()});
  EXPECT_EQ(
      ReadFile(folder + "/x.jsonl"),
      "{\"id\":1,\"price\":0.5,\"title\":\"a\"}\n{\"id\":2,\"price\":null,\"title\":\"b, c\"}\n"
      "{\"id\":3,\"price\":1.25,\"title\":\"d\"}\n");
  EXPECT_THAT(out, HasSubstr(folder + "/x.jsonl: 3 records, 104 bytes\n"));
  EXPECT_THAT(out, HasSubstr("fields that read the same records:\n  [\"id int64[]\",\n"));
  // The way back, by standard output.
  EXPECT_EQ(Converted({"--output=csv:-", folder + "/x.jsonl"}),
            "id,price,title\n1,0.5,a\n2,,\"b, c\"\n3,1.25,d\n");
  const std::string json = Converted(
      {"--json", "--output=" + folder + "/x.tfrecord", "--field=id int32[]", rows.path()});
  EXPECT_THAT(json, HasSubstr("\"fields\":[\"id int32[]\"]"));
}

TEST(ConvertCommand, QuietSaysNothingOnStandardError) {
  const TempFile rows("rows.csv", kRows);
  const ChildResult result =
      RunRecordIO({"convert", "--quiet", "--output=" + NewFolder() + "/x.jsonl", rows.path()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.output, HasSubstr("/x.jsonl: 3 records"));
  ExpectFailure({"verify", "--quiet", rows.path()}, 2, "verify: --quiet is a flag of convert");
}

TEST(ConvertCommand, SaysHowAnnotationsOfCocoAreReadAsImages) {
  const TempFile set("set.json", R"({"images": [{"id": 1}], "annotations": [], "categories": []})");
  const Words convert = {"convert", "--output=jsonl:-", set.path()};
  const ChildResult result = RunRecordIO(convert);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors,
              HasSubstr("these are COCO's annotations: coco:" + set.path() + " is their images"));
  Words quiet = convert;
  quiet.push_back("--quiet");
  EXPECT_EQ(RunRecordIO(quiet).errors.find("COCO"), std::string::npos);
}

TEST(ConvertCommand, DividesRecordsIntoFilesAndParts) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "\n";
  const TempFile rows("rows.csv", text);
  const std::string folder = NewFolder();
  Converted({"--output=" + folder + "/x-{shard:02}.csv", "--shard_size=40", rows.path()});
  EXPECT_EQ(NamesIn(folder), (Words{"x-00.csv", "x-01.csv", "x-02.csv"}));
  EXPECT_EQ(ReadFile(folder + "/x-02.csv").substr(0, 8), "x\n80\n81\n");

  const std::string parts = NewFolder();
  Converted({"--output=" + parts + "/rows.csv", "--split=0.8,0.2", rows.path()});
  EXPECT_EQ(NamesIn(parts), (Words{"train-rows.csv", "val-rows.csv"}));
  const std::string train = ReadFile(parts + "/train-rows.csv").substr(2);
  const std::string val = ReadFile(parts + "/val-rows.csv").substr(2);
  EXPECT_EQ(train.size() + val.size(), text.size() - 2);
  EXPECT_GT(val.size(), 20u);
  EXPECT_LT(val.size(), 100u);

  const std::string named = NewFolder();
  Converted({"--output=" + named + "/{split}.csv", "--split=0.8,0.1,0.1", rows.path()});
  EXPECT_EQ(NamesIn(named), (Words{"test.csv", "train.csv", "val.csv"}));

  // A sample of the parts has its share of each.
  const std::string some = NewFolder();
  Converted({"--output=" + some + "/{split}.csv", "--split=0.5,0.5", "--sample=0.5", rows.path()});
  EXPECT_GT(ReadFile(some + "/train.csv").size(), 30u);
  EXPECT_GT(ReadFile(some + "/val.csv").size(), 30u);
}

TEST(ConvertCommand, Shuffles) {
  std::string text = "x\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "\n";
  const TempFile rows("rows.csv", text);
  const std::string plain = Converted({"--output=csv:-", rows.path()});
  EXPECT_EQ(plain, text);
  const std::string shuffled = Converted({"--output=csv:-", "--shuffle=7", rows.path()});
  EXPECT_EQ(shuffled.size(), text.size());
  EXPECT_NE(shuffled, text);
  EXPECT_EQ(Converted({"--output=csv:-", "--shuffle=7", "--threads=1", rows.path()}), shuffled);
  EXPECT_NE(Converted({"--output=csv:-", "--shuffle", rows.path()}), shuffled);
  const std::string near =
      Converted({"--output=csv:-", "--shuffle=7", "--shuffle_buffer=2", rows.path()});
  EXPECT_LT(near.find("\n1\n"), 20u);
}

TEST(ConvertCommand, WritesTheRecordsForWhichAConditionHolds) {
  const TempFile rows("rows.csv", kRows);
  EXPECT_EQ(Converted({"--output=csv:-", "--filter=id >= 2 and title != 'd'", rows.path()}),
            "id,price,title\n2,,\"b, c\"\n");
  EXPECT_EQ(Converted({"--output=csv:-", "--filter=not price is missing", "--field=id",
                       "--field=price", rows.path()}),
            "id,price\n1,0.5\n3,1.25\n");
  EXPECT_EQ(Converted({"--output=csv:-", "--filter=price < 1", rows.path()}),
            "id,price,title\n1,0.5,a\n");
  // Slots that have no names, and parts that have what is left.
  const TempFile bytes("bytes.fixed", "abcd");
  EXPECT_EQ(Converted({"--output=csv:-", "--slots=uint8[1]", "--filter=slot0 != 98",
                       "fixed:" + bytes.path()}),
            "slot0\n97\n99\n100\n");
  const std::string folder = NewFolder();
  Converted(
      {"--output=" + folder + "/{split}.csv", "--split=0.5,0.5", "--filter=id > 1", rows.path()});
  const std::string both = ReadFile(folder + "/train.csv") + ReadFile(folder + "/val.csv");
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 4);
  ExpectFailure({"convert", "--output=csv:-", "--filter=prize > 1", rows.path()}, 2,
                "there is no slot 'prize'; did you mean 'price'?");
  ExpectFailure({"convert", "--output=csv:-", "--filter=id > 1 or", rows.path()}, 2,
                "character 10: a slot, a number or a text in quotes is wanted, and it ends");
  ExpectFailure({"convert", "--output=csv:-", "--filter=title > 1", rows.path()}, 2,
                "slot 'title' is text, and '1' is a number");
}

TEST(ConvertCommand, RefusesBeforeAnythingIsWritten) {
  const TempFile rows("rows.jsonl", "{\"x\": [1, 2], \"y\": 1}\n{\"x\": [1], \"y\": 2}\n");
  const std::string folder = NewFolder();
  ExpectFailure({"convert", "--output=" + folder + "/x.csv", rows.path()}, 2,
                "csv cannot hold slot 'x', int64 [-1] with 1 level of detail");
  ExpectFailure({"convert", "--output=" + folder + "/x.npy", rows.path()}, 2,
                "npy cannot hold slot 'y'");
  ExpectFailure({"convert", "--output=" + folder + "/x.webp", rows.path()}, 2,
                "files of the format webp cannot be written; ");
  ExpectFailure({"convert", rows.path()}, 2, "--output is missing");
  ExpectFailure({"convert", "--output=" + folder + "/{split}.jsonl", rows.path()}, 2,
                "{split} is the name of a part");
  ExpectFailure({"convert", "--output=" + folder + "/x.jsonl", "--shard_size=0", rows.path()}, 2,
                "--shard_size=0");
  ExpectFailure({"convert", "--output=" + folder + "/x.jsonl", "--split=1", rows.path()}, 2,
                "--split=1");
  ExpectFailure({"convert", "--output=" + folder + "/x.jsonl", "--split=0.5,0.6", rows.path()}, 2,
                "shares");
  ExpectFailure({"convert", "--output=" + folder + "/x.mds", "--split=0.5,0.5", rows.path()}, 2,
                "{split}/");
  ExpectFailure({"convert", "--output=" + folder + "/x.jsonl", "--sample=0", rows.path()}, 2,
                "--sample=0");
  ExpectFailure({"convert", "--output=" + rows.path(), "--force", rows.path()}, 2, rows.path());
  ExpectFailure({"write", "--output=" + folder + "/x.recordio", "--split=0.5,0.5", rows.path()}, 2,
                "--split is a flag of convert");
  EXPECT_TRUE(NamesIn(folder).empty());
}

TEST(ConvertCommand, ARecordThatTheFormatCannotHoldLeavesNothing) {
  const TempFile rows("rows.csv", "title\na\n\"b\tc\"\n");
  const std::string folder = NewFolder();
  ExpectFailure({"convert", "--output=" + folder + "/x.tsv", rows.path()}, 2,
                "slot 'title': tsv has no quotes");
  EXPECT_TRUE(NamesIn(folder).empty());
}

TEST(VerifyCommand, MdsIsVerifiedByTheIndexThatConvertWrites) {
  const TempFile rows("rows.csv", kRows);
  const std::string folder = NewFolder();
  Converted({"--output=" + folder + "/x{shard}.mds", "--shard_size=2", rows.path()});
  EXPECT_EQ(NamesIn(folder), (Words{"index.json", "x0.mds", "x1.mds"}));
  const ChildResult result = RunRecordIO({"verify", folder + "/index.json"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, folder + "/index.json: whole, mds, 3 records\n");
  ExpectFailure(
      {"verify", folder + "/x0.mds"}, 2,
      "a shard of MDS, which is read by the index beside it: '" + folder + "/index.json'");
  ExpectFailure({"verify", folder}, 4,
                "is a directory; mds:" + folder + "/index.json reads it: the index.json of");
}

// A file of npy has no name for its slot.
TEST(ConvertCommand, SaysHowTheNameOfAnArrayIsGivenBack) {
  const TempFile rows("rows.csv", "id\n1\n2\n");
  const std::string folder = NewFolder();
  EXPECT_THAT(Converted({"--output=" + folder + "/x.npy", rows.path()}),
              HasSubstr("slots that read the same records:\n  --slots='id int64[1]'\n"));
  EXPECT_EQ(Converted({"--output=csv:-", "--slots=id int64[1]", folder + "/x.npy"}), "id\n1\n2\n");
}

// What it writes says which slots are text, and the reader shows them as such.
TEST(ConvertCommand, RecordIOKeepsWhatIsText) {
  const TempFile rows("rows.csv", "title,id\na,1\n\"b \u00e9\",2\n");
  const std::string folder = NewFolder();
  Converted({"--output=" + folder + "/x.recordio", rows.path()});
  const std::string back = Converted({"--output=" + folder + "/x.csv", folder + "/x.recordio"});
  EXPECT_THAT(back, HasSubstr("[\"title str\",\n"));
}

// It has no records, as where it is read with fields that need no header.
TEST(VerifyCommand, AFileWithoutRecordsIsWhole) {
  const auto expect_whole = [](const std::string& name, const std::string& content) {
    const TempFile empty(name, content);
    const ChildResult result = RunRecordIO({"verify", empty.path()});
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.errors;
    EXPECT_THAT(result.output, HasSubstr(", 0 records\n"));
  };
  for (const char* const name :
       {"a.csv", "a.tsv", "a.jsonl", "a.json", "a.tar", "a.tfrecord", "a.svm", "a.ffm"}) {
    expect_whole(name, "");
    expect_whole(StrCat(name, ".gz"), Gzipped(""));
  }
  expect_whole("blank.jsonl", "\n \n\n");
  expect_whole("blank.csv", "\n\n");
  expect_whole("zeros.tar", std::string(10240, '\0'));
  const TempFile table("a.csv", "");
  for (const char* const flag : {"--field=x int64[]", "--attribute=header=yes"}) {
    ExpectFailure({"verify", flag, table.path()}, 3,
                  "the file has no header: there is no row in it");
  }
}

TEST(VerifyCommand, ListsEveryBadRecordOfAnyFormat) {
  const TempFile rows("rows.csv", "x,y\n1,2\n3,4\nfive,6\n7,8\n9\n10,11\n");
  const ChildResult result =
      RunRecordIO({"verify", "--field=x int64[]", "--field=y int64[]", rows.path()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("in line 4"));
  EXPECT_THAT(result.errors, HasSubstr("in line 6"));
  EXPECT_THAT(result.output, HasSubstr(rows.path() + ": DAMAGED, csv, 4 records, 2 errors\n"));
  const TempFile whole("whole.jsonl", "{\"x\": 1}\n{\"x\": 2}\n");
  const ChildResult right = RunRecordIO({"verify", whole.path()});
  EXPECT_EQ(right.exit_code, 0) << right.errors;
  EXPECT_EQ(right.output, whole.path() + ": whole, jsonl, 2 records\n");
  const ChildResult json = RunRecordIO({"verify", "--json", whole.path()});
  EXPECT_THAT(json.output, HasSubstr("\"bad\":0"));
  EXPECT_THAT(json.output, HasSubstr("\"format\":\"jsonl\""));
}

TEST(VerifyCommand, SaysThatNoFieldsWereFound) {
  const TempFile rows("rows.jsonl", "{\"x\": 1}\n{bad\n{\"x\": 2}\n");
  const ChildResult result = RunRecordIO({"verify", rows.path()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("DAMAGED, jsonl, 1 error, before its fields were found; "
                                       "with --field all records are checked\n"));
  const ChildResult json = RunRecordIO({"verify", "--json", rows.path()});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_THAT(json.output, HasSubstr("\"whole\":false"));
}

TEST(VerifyCommand, FindsDamageInOtherFiles) {
  std::string records = TFRecords({"one", "two", "three"});
  records[TFRecords({"one"}).size() + 13] ^= 1;  // in the second record
  const TempFile damaged("damaged.tfrecord", records);
  const ChildResult result = RunRecordIO({"verify", "--slots=uint8[-1]:1", damaged.path()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("the checksum of its 3 bytes"));
  EXPECT_THAT(result.output, HasSubstr("DAMAGED, tfrecord, 1 record"));
}

}  // namespace
}  // namespace millhopper
