// SPDX-License-Identifier: Apache-2.0
// Reading files at any place, also while they change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "framework/base/error.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

std::string MakeFile(const std::string& name, const std::string& content) {
  std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  return path;
}

Error ErrorOf(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::kInternal, "");
}

TEST(LocalFileSystem, ReadsAtAnyPlace) {
  const auto file = File::Open(MakeFile("digits", "0123456789"));
  EXPECT_EQ(file->size(), 10u);
  char bytes[4] = {};
  file->Read(7, bytes, 3);
  EXPECT_STREQ(bytes, "789");
  file->Read(0, bytes, 3);
  EXPECT_STREQ(bytes, "012");
  file->Read(10, bytes, 0);
}

std::string ContentOf(const File& file) {
  std::string content(file.size(), '.');
  file.Read(0, content.data(), content.size());
  return content;
}

// Files of /proc report that they are empty, files of /sys that they have one page.
TEST(LocalFileSystem, ReadsFilesThatDoNotKnowTheirSize) {
  const auto name = File::Open("/proc/sys/kernel/ostype");
  EXPECT_EQ(ContentOf(*name), "Linux\n");
  char pieces[4] = {};
  name->ReadApart(1, pieces, 1, 2, 2);
  EXPECT_EQ(std::string(pieces, 4), std::string("i\0n\0", 4));
  const Error error = ErrorOf([&] { name->Read(4, pieces, 3); });
  EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error.offset(), 6);
  // It is longer than one read and different every time.
  EXPECT_THAT(ContentOf(*File::Open("/proc/self/smaps")), HasSubstr("[stack]"));
  const std::string page = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (::access(page.c_str(), R_OK) == 0) {
    EXPECT_THAT(ContentOf(*File::Open(page)), HasSubstr("never"));
  }
  EXPECT_EQ(File::Open(MakeFile("empty", ""))->size(), 0u);
}

TEST(LocalFileSystem, ReadsNoMoreThanALimitOfAFileThatDoesNotKnowItsSize) {
  const std::string endless = "/proc/self/pagemap";  // one entry for each page of the address space
  if (::access(endless.c_str(), R_OK) != 0) GTEST_SKIP() << "this kernel has no " << endless;
  const Error error = ErrorOf([&] { File::Open(endless); });
  EXPECT_EQ(error.code(), ErrorCode::kResourceLimit);
  EXPECT_EQ(error.file(), endless);
  EXPECT_THAT(error.what(), HasSubstr("of a file that does not say how many it has"));
}

TEST(LocalFileSystem, SaysThatAFileThatDoesNotKnowItsSizeCannotBeRead) {
  const std::string memory = "/proc/self/mem";  // nothing is at its beginning
  const Error error = ErrorOf([&] { File::Open(memory); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_EQ(error.file(), memory);
}

TEST(LocalFileSystem, ScattersPieces) {
  std::string content;
  for (int i = 0; content.size() < 9000; ++i) content += std::to_string(i);
  const auto file = File::Open(MakeFile("pieces", content));
  for (const size_t count : {0, 1, 5, 1023, 1024, 1025, 2900}) {
    std::string bytes(count * 5 + 5, '.');
    file->ReadApart(7, bytes.data(), 3, 5, count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(bytes.substr(5 * i, 5), content.substr(7 + 3 * i, 3) + "..") << count << " " << i;
    }
    EXPECT_EQ(bytes.substr(5 * count), ".....");
  }
}

TEST(LocalFileSystem, ScatteringMeetsTheEndOfAFileThatShrank) {
  const std::string path = MakeFile("shrinks", std::string(3000, 'x'));
  const auto file = File::Open(path);
  ASSERT_EQ(::truncate(path.c_str(), 2000), 0);
  std::string bytes(5000, '.');
  const Error error = ErrorOf([&] { file->ReadApart(0, bytes.data(), 3, 5, 1000); });
  EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error.offset(), 2000);
}

TEST(LocalFileSystem, SaysThatTheFileIsShorterThanItWas) {
  const std::string path = MakeFile("shrinks", "0123456789");
  const auto file = File::Open(path);
  ASSERT_EQ(::truncate(path.c_str(), 4), 0);
  char bytes[10];
  const Error error = ErrorOf([&] { file->Read(0, bytes, 10); });
  EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error.file(), path);
  EXPECT_EQ(error.offset(), 4);
  EXPECT_THAT(error.what(), HasSubstr("file is shorter than when it was opened"));
}

TEST(LocalFileSystem, NamesAFileThatCannotBeOpened) {
  const std::string path = ::testing::TempDir() + "/no such file";
  const Error error = ErrorOf([&] { File::Open(path); });
  EXPECT_EQ(error.code(), ErrorCode::kIo);
  EXPECT_EQ(error.file(), path);
  EXPECT_THAT(error.what(), HasSubstr("No such file"));
}

TEST(LocalFileSystem, RefusesWhatIsNoRegularFile) {
  EXPECT_THAT(ErrorOf([] { File::Open(::testing::TempDir()); }).what(),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(ErrorOf([] { File::Open("/dev/null"); }).what(), HasSubstr("is not a regular file"));
}

TEST(LocalFileSystem, ListsWhatAFolderHolds) {
  const std::string folder = ::testing::TempDir() + "/listed";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/inner/deep");
  for (const char* name : {"file", ".hidden", "inner/below", "a\\*[b]?"}) {
    MakeFile(std::string("listed/") + name, "");
  }
  std::filesystem::create_symlink("file", folder + "/to file");
  std::filesystem::create_directory_symlink("inner", folder + "/to folder");
  std::filesystem::create_symlink("nothing", folder + "/to nothing");
  std::filesystem::create_symlink("to itself", folder + "/to itself");
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  using Kind = FileStatus::Kind;
  std::map<std::string, Kind> found;
  for (const FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
    EXPECT_TRUE(found.emplace(entry.name, entry.kind).second) << entry.name;
  }
  EXPECT_EQ(found, (std::map<std::string, Kind>{{".hidden", Kind::kFile},
                                                {"a\\*[b]?", Kind::kFile},
                                                {"file", Kind::kFile},
                                                {"inner", Kind::kDirectory},
                                                {"pipe", Kind::kOnce},
                                                {"to file", Kind::kFile},
                                                {"to folder", Kind::kDirectory},
                                                {"to itself", Kind::kUnknown},
                                                {"to nothing", Kind::kMissing}}));
  for (const char* name : {"file", "nothing"}) {
    const std::string path = folder + "/" + name;
    const Error error = ErrorOf([&] { FileSystemOf(path).ListFolder(path); });
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_EQ(error.file(), path);
    EXPECT_THAT(error.what(), HasSubstr("cannot list the folder: N"));  // not a directory, no such
  }
}

}  // namespace
}  // namespace millhopper
