// SPDX-License-Identifier: Apache-2.0
// Folders of images: the classes and the order of torchvision's ImageFolder, links, errors, and a
// real folder with known truth.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file_system.h"
#include "framework/io/files_in_use.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/record_files.h"
#include "tests/readers/formats/labeled_records.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

std::unique_ptr<ReaderBase> Reader(const std::string& folder) {
  return OpenFile(*FindFileFormat("image_folder"), folder, "", {});
}

LabeledRecords RecordsIn(const std::string& folder) {
  return LabeledRecordsOf(Reader(folder).get());
}

// Writes files whose content is their name.
std::string FolderOf(const Strings& names) {
  std::string folder = NewFolder("image_folder");
  for (const std::string& name : names) {
    const std::string path = StrCat(folder, "/", name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteFile(path, name);
  }
  return folder;
}

// The error of reading the folder.
Error ProblemOf(const std::string& folder) {
  try {
    RecordsIn(folder);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::kInternal, "");
}

void ExpectProblem(const std::string& folder, const std::string& words, const std::string& file) {
  const Error error = ProblemOf(folder);
  EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  EXPECT_EQ(error.file(), file);
}

// The order is that of make_dataset in torchvision/datasets/folder.py: sorted(os.walk(...)) of each
// class compares the paths of folders as text, in which '-' comes before '/'.
TEST(ImageFolder, HasTheClassesAndTheOrderOfTorchvision) {
  const std::string folder = FolderOf({
      "dog/b.jpg",
      "dog/a.PNG",
      "dog/notes.txt",
      "dog/jpg",  // not images: the last two
      "Zebra/1.webp",
      ".ipynb_checkpoints/x.tiff",  // hidden folders are no classes, and lie in none
      "__MACOSX/cat/._2.bmp",
      "cat/.hidden/x.bmp",
      "cat/more/__MACOSX/x.bmp",
      "cat/._10.ppm",  // what macOS leaves beside images is none
      "cat/.DS_Store",
      "._loose/x.bmp",
      "cat/10.ppm",
      "cat/2.bmp",  // names are sorted as bytes
      "cat/more/deep/x.tif",
      "cat/more-kinds/y.pgm",
      "cat/more/z.JPeG",
      "cat/.jpg",
      "loose.jpg",
  });
  std::filesystem::create_directories(folder + "/cat/empty/also empty");
  const LabeledRecords wanted = {
      {"Zebra/1.webp", 0},        {"cat/.jpg", 1},        {"cat/10.ppm", 1},
      {"cat/2.bmp", 1},           {"cat/more/z.JPeG", 1}, {"cat/more-kinds/y.pgm", 1},
      {"cat/more/deep/x.tif", 1}, {"dog/a.PNG", 2},       {"dog/b.jpg", 2},
  };
  EXPECT_EQ(RecordsIn(folder), wanted);
  EXPECT_EQ(RecordsIn(folder + "/"), wanted);
  EXPECT_EQ(LabeledRecordsOf(OpenFiles({"image_folder:" + folder}, {}, {}, {}).get()), wanted);
  // The folder itself may be hidden.
  const std::string hidden = FolderOf({".set/cat/1.png"}) + "/.set";
  EXPECT_EQ(RecordsIn(hidden), (LabeledRecords{{".set/cat/1.png", 0}}));
}

// Files of many sizes: in chunks of many, and larger than a chunk.
TEST(ImageFolder, KeepsTheOrderForAnyNumberOfThreads) {
  const std::string folder = NewFolder("image_folder");
  LabeledRecords wanted;
  for (int label = 0; label < 3; ++label) {
    const std::string name = StrCat(folder, "/class", label);
    std::filesystem::create_directories(name);
    for (int i = 100; i < 300; ++i) {
      const size_t size = i == 200 ? 2 * kReadBlockBytes + 3 : 1 + i * 7919 % 20011;
      wanted.emplace_back(std::string(size, static_cast<char>(i)), label);
      WriteFile(StrCat(name, "/", i, ".jpg"), wanted.back().first);
    }
  }
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    const auto reader = Reader(folder);
    EXPECT_TRUE(LabeledRecordsOf(reader.get()) == wanted) << threads;
    reader->ReInit();
    EXPECT_TRUE(LabeledRecordsOf(reader.get()) == wanted) << threads;
  }
  EXPECT_EQ(Reader(folder)->PassLength(), wanted.size());
  LabeledRecords shared;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(folder), 2, shard, ShardBy::kChunk);
    const LabeledRecords some = LabeledRecordsOf(&reader);
    EXPECT_LT(some.size(), wanted.size());
    shared.insert(shared.end(), some.begin(), some.end());
  }
  std::sort(shared.begin(), shared.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_TRUE(shared == wanted);
}

TEST(ImageFolder, FollowsLinks) {
  const std::string folder = FolderOf({"a/1.jpg", "b/2.jpg"});
  std::filesystem::create_directory_symlink(folder + "/a", folder + "/c");
  std::filesystem::create_directory_symlink("../a", folder + "/b/again");
  std::filesystem::create_symlink("2.jpg", folder + "/b/3.jpg");
  EXPECT_EQ(RecordsIn(folder),
            (LabeledRecords{
                {"a/1.jpg", 0}, {"b/2.jpg", 1}, {"b/2.jpg", 1}, {"a/1.jpg", 1}, {"a/1.jpg", 2}}));
}

TEST(ImageFolder, RefusesLinksThatLeadBack) {
  const std::string folder = FolderOf({"a/1.jpg", "b/2.jpg"});
  std::filesystem::create_directory_symlink(folder, folder + "/b/first");
  std::filesystem::create_directory_symlink("..", folder + "/b/second");
  const Error error = ProblemOf(folder);
  EXPECT_NE(error.message().find("a symbolic link to a folder above it?"), std::string::npos)
      << error.what();
  EXPECT_EQ(error.file().rfind(folder + "/b/first/b/first/b/", 0), 0u) << error.file();
}

TEST(ImageFolder, NamesAnImageThatCannotBeRead) {
  const std::string folder = FolderOf({"a/1.jpg", "a/2.jpg", "b/3.jpg"});
  std::filesystem::create_symlink("gone", folder + "/a/15.jpg");
  const auto reader = Reader(folder);
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  const std::optional<Thrown> missing = ErrorOf([&] { reader->HasNext(); });
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->text.find(folder + "/a/15.jpg: cannot open: No such file"), 0u)
      << missing->text;
  EXPECT_NE(missing->text.find("while reading record 1 of"), std::string::npos);
  std::filesystem::remove(folder + "/a/15.jpg");
  ASSERT_EQ(mkfifo((folder + "/b/0.png").c_str(), 0600), 0);
  ExpectProblem(folder, "can be read once only", folder + "/b/0.png");
  std::filesystem::remove(folder + "/b/0.png");
  WriteFile(folder + "/b/0.png", "");
  ExpectProblem(folder, "the file is empty", folder);
  ExpectProblem(folder, folder + "/b/0.png", folder);
  std::filesystem::resize_file(folder + "/b/0.png", kMaxRecordBytes + 1);  // a file of holes
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  ExpectProblem(folder,
                StrCat("the file has ", kMaxRecordBytes + 1, " bytes; the limit of a record"),
                folder + "/b/0.png");
  std::filesystem::resize_file(folder + "/b/0.png", kMaxRecordBytes);  // its label is read, too
  ExpectProblem(folder, "all that is read for this file is too large; the limit of a record is",
                folder + "/b/0.png");
  EXPECT_EQ(BufferPool::At(Place()).in_use_bytes(), before);
}

TEST(ImageFolder, RefusesFoldersThatAreNone) {
  const std::string folder = FolderOf({"a/1.jpg", "b/notes.txt", "c'\n/2.jpeg/3"});
  ExpectProblem(folder, "no image lies in the class folders 'b', 'c'\\n'; remove them", folder);
  ExpectProblem(folder + "/a", "the folder has no folders; each class", folder + "/a");
  ExpectError(ErrorCode::kIo, "is not a directory", [&] { Reader(folder + "/a/1.jpg"); });
  ExpectError(ErrorCode::kIo, "No such file", [&] { Reader(folder + "/none"); });
  ExpectError(ErrorCode::kIo, "is a directory",
              [&] { OpenFile(*FindFileFormat("jpg"), folder, "", {}); });
  FormatArguments mapped;
  mapped.buffer_type = BufferType::kMmap;
  ExpectError(ErrorCode::kInvalidArgument, "many small ones are read with \"memory\"",
              [&] { OpenFile(*FindFileFormat("image_folder"), folder, "", mapped); });
}

TEST(ImageFolder, RefusesAFolderThatCannotBeListed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may list every folder";
  const std::string folder = FolderOf({"a/1.jpg", "a/more/2.jpg"});
  std::filesystem::permissions(folder + "/a/more", std::filesystem::perms::none);
  ExpectProblem(folder, "cannot list the folder: Permission denied", folder + "/a/more");
  std::filesystem::permissions(folder + "/a/more", std::filesystem::perms::owner_all);
}

TEST(ImageFolder, RefusesTooManyFoldersInOneAnother) {
  std::string name = "a";
  for (int i = 0; i < kMaxFolderDepth; ++i) name += "/a";
  const std::string folder = FolderOf({name + "/1.jpg"});
  const Error error = ProblemOf(folder);
  EXPECT_EQ(error.code(), ErrorCode::kResourceLimit);
  EXPECT_EQ(error.file(), folder + "/" + name);
}

TEST(ImageFolder, TakesAtMostHalfOfTheMemoryLimitForNames) {
  Strings names;
  for (int i = 0; i < 2500; ++i) names.push_back(StrCat("a/", std::string(200, 'x'), i, ".jpg"));
  const std::string folder = FolderOf(names);
  const LimitInForce limit(1 << 20);
  const Error error = ProblemOf(folder);
  EXPECT_EQ(error.code(), ErrorCode::kResourceLimit);
  EXPECT_EQ(error.file(), folder) << error.what();
}

TEST(ImageFolder, IsNotReplacedWhileItIsRead) {
  const std::string folder = FolderOf({"a/1.jpg"});
  const std::string path = folder + "/a/1.jpg";
  const FileId id = FileSystemOf(path).Stat(path).id;
  {
    const FileReplaced replaced(path, id, FileRole::kData);
    ExpectProblem(folder, "this process is writing a new file of this name", path);
  }
  const auto reader = Reader(folder);
  EXPECT_TRUE(reader->HasNext());
  ExpectError(ErrorCode::kInvalidArgument, "this process reads the same file",
              [&] { FileReplaced(path, id, FileRole::kData); });
}

TEST(ImageFolder, MayLieInAnotherFileSystem) {
  const Strings names = {"memory://set/b/2.jpg", "memory://set/a/1.jpg", "memory://set/a/x/0.jpg"};
  for (const std::string& name : names) MemoryFiles::Get().Write(name, name);
  EXPECT_EQ(RecordsIn("memory://set"),
            (LabeledRecords{{names[1], 0}, {names[2], 0}, {names[0], 1}}));
  for (const std::string& name : names) MemoryFiles::Get().Remove(name);
}

TEST(ImageFolder, ReadsARealFolder) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  std::map<std::string, SizeAndDigest> truth = TruthOf("jpeg_photos/dali/");
  ASSERT_EQ(truth.erase("image_list.txt"), 1u);
  std::set<std::string> classes;
  for (const auto& [name, wanted] : truth) classes.insert(name.substr(0, name.find('/')));
  for (const int threads : {0, 7}) {
    const PoolSize pool(threads);
    const LabeledRecords records = RecordsIn(TestData() + "/jpeg_photos/dali");
    ASSERT_EQ(records.size(), truth.size());
    size_t i = 0;
    for (const auto& [name, wanted] : truth) {  // sorted by name, as the folder is
      EXPECT_EQ(SizeAndDigestOf(records[i].first), wanted) << name;
      const auto label =
          std::distance(classes.begin(), classes.find(name.substr(0, name.find('/'))));
      EXPECT_EQ(records[i].second, label) << name;
      ++i;
    }
  }
}

}  // namespace
}  // namespace millhopper
