// SPDX-License-Identifier: Apache-2.0
// Lists of images: how lines and paths are understood, errors, and a real list with known truth.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/listed_files.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/files/record_files.h"
#include "tests/readers/formats/labeled_records.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Reader(const std::string& list, const std::string& root = "") {
  FormatArguments arguments;
  if (!root.empty()) arguments.attributes.Set("root", root);
  return OpenFile(*FindFileFormat("image_list"), list, "", arguments);
}

LabeledRecords RecordsOf(const std::string& list, const std::string& root = "") {
  return LabeledRecordsOf(Reader(list, root).get());
}

// A folder with images whose content is their name, and a list.
class Folder {
 public:
  Folder() {
    for (const char* name : {"a.jpg", "b.png", "two words.jpg", "dir/c"}) {
      const std::string file = path(name);
      std::filesystem::create_directories(std::filesystem::path(file).parent_path());
      WriteFile(file, name);
    }
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string List(const std::string& content) const {
    WriteFile(path("list"), content);
    return path("list");
  }

 private:
  const std::string folder_ = NewFolder("image_list");
};

TEST(ImageList, HasAPathAndALabelInEachLine) {
  const Folder folder;
  const LabeledRecords wanted = {{"b.png", 7}, {"a.jpg", -3}, {"dir/c", 0}, {"b.png", 7}};
  for (const char* list :
       {"b.png 7\na.jpg -3\ndir/c 0\nb.png 7\n", "b.png\t7\na.jpg\t-3\ndir/c\t0\nb.png\t7",
        "b.png 7\r\n\r\n \t\na.jpg   -3\r\ndir/c\t 0 \r\nb.png \t 7 \n\n",
        "b.png 7\ra.jpg -3\r\rdir/c\t0\rb.png 7\r", "b.png 7\na.jpg -3\r\ndir/c 0\rb.png 7\r",
        ("\xef\xbb\xbf"
         "b.png 7\n./a.jpg -3\ndir/../dir/c 0\nb.png 7")}) {
    EXPECT_EQ(RecordsOf(folder.List(list)), wanted) << list;
  }
  EXPECT_EQ(RecordsOf(folder.List("")), LabeledRecords{});
  EXPECT_EQ(RecordsOf(folder.List("\n\n")), LabeledRecords{});
  EXPECT_EQ(RecordsOf(folder.List("two words.jpg 1\ntwo words.jpg\t1\n")),
            (LabeledRecords{{"two words.jpg", 1}, {"two words.jpg", 1}}));
  EXPECT_EQ(RecordsOf(folder.List("a.jpg 9223372036854775807\na.jpg -9223372036854775808")),
            (LabeledRecords{{"a.jpg", std::numeric_limits<int64_t>::max()},
                            {"a.jpg", std::numeric_limits<int64_t>::min()}}));
}

TEST(ImageList, TakesPathsFromItsFolderOrFromARoot) {
  const Folder folder;
  const std::string list = folder.List(StrCat("a.jpg 1\n", folder.path("b.png"), " 2\n"));
  EXPECT_EQ(RecordsOf(list), (LabeledRecords{{"a.jpg", 1}, {"b.png", 2}}));
  const std::string other = folder.path("dir/list");
  WriteFile(other, StrCat("c 1\n", folder.path("b.png"), " 2\n"));
  EXPECT_EQ(RecordsOf(other), (LabeledRecords{{"dir/c", 1}, {"b.png", 2}}));
  EXPECT_EQ(RecordsOf(list, folder.path("")), (LabeledRecords{{"a.jpg", 1}, {"b.png", 2}}));
  EXPECT_EQ(RecordsOf(folder.List("c 5"), folder.path("dir")), (LabeledRecords{{"dir/c", 5}}));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  EXPECT_EQ(RecordsOf("list", "dir"), (LabeledRecords{{"dir/c", 5}}));
  WriteFile("list", "a.jpg 4");
  EXPECT_EQ(RecordsOf("list"), (LabeledRecords{{"a.jpg", 4}}));
  std::filesystem::current_path(before);
}

TEST(ImageList, MayLieInAnotherFileSystem) {
  const Folder folder;
  MemoryFiles::Get().Write("memory://set/x/1", "one");
  MemoryFiles::Get().Write("memory://set/list", "x/1 1\n");
  EXPECT_EQ(RecordsOf("memory://set/list"), (LabeledRecords{{"one", 1}}));
  EXPECT_EQ(RecordsOf(folder.List("memory://set/x/1 1\na.jpg 2")),
            (LabeledRecords{{"one", 1}, {"a.jpg", 2}}));
  MemoryFiles::Get().Remove("memory://set/x/1");
  MemoryFiles::Get().Remove("memory://set/list");
}

// The author of a list must not be able to have files of the user's machine read.
TEST(ImageList, OfAServerNamesNoFileOfThisMachine) {
  const Folder folder;
  HttpServer server;
  server.Put("/lists/a", "one");
  server.Put("/b", "two");
  const auto list = [&](const std::string& content) {
    server.Put("/lists/list", content);
    return server.Url("/lists/list");
  };
  EXPECT_EQ(RecordsOf(list(StrCat("a 1\n../b 2\n", server.Url("/b"), " 3\n"))),
            (LabeledRecords{{"one", 1}, {"two", 2}, {"two", 3}}));
  // What a URL asks for after its name goes with the names beside it.
  EXPECT_EQ(RecordsOf(list("a 1") + "?X-Amz-Credential=k/1/2"), (LabeledRecords{{"one", 1}}));
  const std::string local = folder.path("a.jpg");
  for (const std::string& name : std::vector<std::string>{
           local, "/" + local, "file://" + local, "FILE://" + local, "none://host" + local,
           "HTTP://host/a", StrCat("pipe:cat ", local, " ://"), "-://"}) {
    ExpectError(ErrorCode::kInvalidArgument,
                StrCat("line 2, at byte 4, names '", name.substr(0, 60)),
                [&] { RecordsOf(list(StrCat("a 1\n", name, "\t2\n"))); });
  }
  // A folder that the user names may be one of this machine, and is not left.
  EXPECT_EQ(RecordsOf(list("a.jpg 1\ndir/../dir/c 2\n"), folder.path("")),
            (LabeledRecords{{"a.jpg", 1}, {"dir/c", 2}}));
  for (const std::string& name : std::vector<std::string>{"../x", "dir/../../x", "./..", local}) {
    ExpectError(ErrorCode::kInvalidArgument, "--allow_local_entries",
                [&] { RecordsOf(list(name + " 1"), folder.path("")); });
  }
  AllowLocalEntries();
  EXPECT_EQ(RecordsOf(list(StrCat("a 1\n", local, " 2\n"))),
            (LabeledRecords{{"one", 1}, {"a.jpg", 2}}));
  AllowLocalEntries(false);
}

// A list of several blocks, with lines that go on in the next one, and many chunks of images.
TEST(ImageList, OfManyLinesKeepsTheirOrderForAnyNumberOfThreads) {
  const Folder folder;
  std::string list;
  LabeledRecords wanted;
  for (int64_t i = 0; i < 3000; ++i) {
    const char* const name = i % 2 == 0 ? "a.jpg" : "two words.jpg";
    list += StrCat(std::string(static_cast<size_t>(1 + i % 997), '/'), folder.path(name), "\t", i,
                   "\n");
    wanted.emplace_back(name, i);
  }
  EXPECT_GT(list.size(), kReadBlockBytes);
  const std::string path = folder.List(list);
  const TempFile packed("list.gz", Gzipped(list));
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    EXPECT_TRUE(RecordsOf(path) == wanted) << threads;
    EXPECT_TRUE(RecordsOf(packed.path()) == wanted) << threads;
  }
  EXPECT_EQ(Reader(path)->PassLength(), 3000u);
  size_t shared = 0;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(path), 2, shard, ShardBy::kChunk);
    shared += LabeledRecordsOf(&reader).size();
  }
  EXPECT_EQ(shared, 3000u);
}

// ---- Errors. ----

void ExpectProblem(const std::string& list, const std::string& words, const std::string& file,
                   int64_t offset) {
  try {
    RecordsOf(list);
    ADD_FAILURE() << "no error; wanted: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what() << "\nlacks: " << words;
    EXPECT_EQ(error.file(), file);
    EXPECT_EQ(error.offset(), offset);
  }
}

TEST(ImageList, SaysWhichLineIsWrong) {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"a.jpg 1.5", "has the label '1.5', but a label is one integer"},
      {"a.jpg 1e3", "has the label '1e3', but"},
      {"a.jpg +1", "has the label '+1', but"},
      {"a.jpg cat", "has the label 'cat', but"},
      {"a.jpg\t1\t2", "has the label '1\\t2', but a label is one integer"},
      {"a.jpg\t1 2", "has the label '1 2', but a label is one integer"},
      {"a.jpg 9223372036854775808", "has the label '9223372036854775808', but"},
      {"two words.jpg", "has the label 'words.jpg', but"},
      {"a.jpg", "is 'a.jpg', but a line is a path and a label"},
      {"a.jpg\t", "is 'a.jpg', but a line is a path and a label"},
      {"\t5", "is '\\t5', but a line is a path and a label"},
      {" 5", "is ' 5', but a line is a path and a label"},
      {std::string("\0\x1b", 2), "is '\\x00\\x1b', but a line is a path and a label"},
      {std::string(100, 'x'), "is '" + std::string(60, 'x') + "...', but"},
  };
  for (const auto& [line, words] : lines) {
    const std::string list = folder.List("a.jpg 1\n\n" + line + "\na.jpg 2\n");
    ExpectProblem(list, StrCat(list, ": line 3, at byte 9, ", words), list, 9);
    ExpectProblem(folder.List("a.jpg 1\r\r" + line + "\ra.jpg 2\r"),
                  StrCat(list, ": line 3, at byte 9, ", words), list, 9);
    const TempFile packed("list.gz", Gzipped("a.jpg 1\n\n" + line));
    ExpectProblem(packed.path(), "line 3, at byte 9 of the decompressed content, ", packed.path(),
                  9);
  }
}

TEST(ImageList, NamesTheImageAndItsLine) {
  const Folder folder;
  const std::string list = folder.List("a.jpg 1\n\na.jpg 2 3\n");
  const std::string image = folder.path("a.jpg 2");
  ExpectProblem(list, image + ": cannot open: No such file", image, -1);
  ExpectProblem(list, StrCat("named in line 3 of ", list), image, -1);
  ExpectProblem(list, "while reading record 1 of", image, -1);
  WriteFile(image, "");
  // The record is wrong, and not what is read with it.
  ExpectProblem(list, StrCat("the file is empty\n  in ", image, ", named in line 3 of ", list),
                list, 0);
  ExpectProblem(list, "while reading record 1 of", list, 0);
  ExpectProblem(folder.List("path label\na.jpg 1\n"), "a list has no header", list, 0);
  ExpectProblem(folder.List("dir 1"), "is not a regular file", folder.path("dir"), -1);
  ExpectProblem(folder.List(std::string("a\0b 1", 5)), "a name with a zero byte",
                folder.path(std::string("a\0b", 3)), -1);
}

TEST(ImageList, BelievesNoLength) {
  const Folder folder;
  const TempFile endless("list.gz", Gzipped("a.jpg 1\n" + std::string(kMaxLineBytes * 2, 'x')));
  ExpectProblem(endless.path(),
                StrCat("line 2, at byte 8 of the decompressed content, has more "
                       "than ",
                       kMaxLineBytes, " bytes"),
                endless.path(), 8);
}

TEST(ImageList, ReadsARealList) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::map<std::string, SizeAndDigest> truth = TruthOf("jpeg_photos/dali/");
  const std::string list = TestData() + "/jpeg_photos/dali/image_list.txt";
  const LabeledRecords records =
      LabeledRecordsOf(OpenFiles({"image_list:" + list}, {}, {}, {}).get());
  std::istringstream lines(ReadFile(list));
  std::string name;
  int64_t label = 0;
  size_t i = 0;
  for (; lines >> name >> label; ++i) {
    ASSERT_LT(i, records.size());
    EXPECT_EQ(SizeAndDigestOf(records[i].first), truth.at(name)) << name;
    EXPECT_EQ(records[i].second, label) << name;
  }
  EXPECT_EQ(i, records.size());
  EXPECT_EQ(i, 47u);
}

}  // namespace
}  // namespace millhopper
