// SPDX-License-Identifier: Apache-2.0
// F05: more files than the process may have descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/sources/open_files.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

FormatArguments Bytes() {
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  return arguments;
}

// The process may have no more than `free` descriptors beside those that it has.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t free) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      highest = std::max(highest, std::stoi(entry.path().filename().string()));
    }
    // The limit is on the number of a descriptor, and numbers below the highest may be unused.
    do {
      gaps_.push_back(::open("/dev/null", O_RDONLY));
    } while (gaps_.back() >= 0 && gaps_.back() < highest);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(gaps_.back()) + 1 + free;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~DescriptorLimit() {
    for (const int gap : gaps_) ::close(gap);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_ = {};
  std::vector<int> gaps_;
};

TEST(FewDescriptors, AreEnoughForManyFiles) {
  const std::string folder = NewFolder("shards");
  WriteNumbers(folder, 64, 9);
  const std::vector<std::string> names = {folder + "/numbers-*.recordio"};
  MultiFileOptions options;
  options.cycle_length = 64;
  options.buffer_size = 1000;
  const auto all = ReadAll(OpenFiles(names, {}, Bytes(), options).get());
  ASSERT_EQ(all.size(), size_t{64} * 9);
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize pool(workers);
    const auto reader = OpenFiles(names, {}, Bytes(), options);
    ReadSome(reader.get(), 1);  // so that threads exist and have opened what they need
    reader->ReInit();
    const DescriptorLimit few(12);
    EXPECT_EQ(ReadAll(reader.get()), all) << workers;
  }
}

// How many files in a folder are open.
size_t OpenIn(const std::string& folder) {
  const std::string files = std::filesystem::canonical(folder).string() + "/";
  size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own descriptor, in the end
    const std::string path = std::filesystem::read_symlink(entry.path(), gone).string();
    open += path.rfind(files, 0) == 0 ? 1 : 0;
  }
  return open;
}

// Chunks that wait for their lanes keep no file open beside those that are read in turn.
TEST(FewDescriptors, AreOpenForManyLanes) {
  const std::string folder = NewFolder("lanes");
  WriteNumbers(folder, 64, 9);
  MultiFileOptions options;
  options.cycle_length = 4;
  LaneSet lanes = OpenFileLanes({folder + "/numbers-*.recordio"}, {}, Bytes(), options, 48);
  lanes.stripe = 7;  // more than a chunk has, so that each lane lets chunks wait for the others
  const PoolSize pool(0);
  LanesReader reader(std::move(lanes));
  size_t records = 0, most = 0;
  for (; reader.HasNext(); ++records) {
    ReadSome(&reader, 1);
    most = std::max(most, OpenIn(folder));
  }
  EXPECT_EQ(records, size_t{64} * 9);
  EXPECT_GE(most, options.cycle_length);
  EXPECT_LE(most, options.cycle_length + 1);
}

// The same if all files are open in a pass, since any of them may have the next record.
TEST(FewDescriptors, AreEnoughForRecordsInARandomOrder) {
  const std::string folder = NewFolder("random");
  FormatArguments numbers;
  numbers.declared = {SlotSpec()};
  numbers.declared[0].dtype = DataType::kUint8;
  numbers.declared[0].dims = {1};
  for (int i = 0; i < 64; ++i) WriteFile(StrCat(folder, "/", i), "12345");
  MultiFileOptions options;
  options.shuffle_records = true;
  const auto reader = OpenFiles({"fixed:" + folder + "/*"}, {}, numbers, options);
  const auto all = ReadAll(reader.get());
  ASSERT_EQ(all.size(), size_t{64} * 5);
  const auto again = OpenFiles({"fixed:" + folder + "/*"}, {}, numbers, options);
  const DescriptorLimit few(12);
  EXPECT_EQ(ReadAll(again.get()), all);
}

// The same if the first bytes of a file are read to find its format.
TEST(FewDescriptors, AreEnoughToFindAFormat) {
  const PoolSize pool(0);
  const std::string folder = NewFolder("unnamed");
  WriteNumbers(folder, 20, 9);
  WriteFile(folder + "/no extension", ReadFile(folder + "/numbers-0.recordio"));
  MultiFileOptions options;
  options.buffer_size = 1;
  options.cycle_length = 20;
  const auto reader = OpenFiles({folder + "/*.recordio"}, {}, Bytes(), options);
  FormatArguments declared = Bytes();
  declared.declared = reader->slots();
  FileReader unnamed(MakeFormatByContent(declared), FileEntry{folder + "/no extension", ""});
  const DescriptorLimit few(6);
  EXPECT_EQ(ReadSome(reader.get(), 20).size(), 20u);  // all descriptors are in use
  EXPECT_EQ(ReadAll(&unnamed).size(), 9u);
}

// The same if folders are listed.
TEST(FewDescriptors, AreEnoughToListFolders) {
  const PoolSize pool(0);
  const std::string folder = NewFolder("listed");
  WriteNumbers(folder, 20, 9);
  std::filesystem::create_directories(folder + "/images/class/more");
  WriteFile(folder + "/images/class/more/1.jpg", "an image");
  MultiFileOptions options;
  options.buffer_size = 1;
  options.cycle_length = 20;
  const auto reader = OpenFiles({folder + "/*.recordio"}, {}, Bytes(), options);
  const auto images = OpenFile(*FindFileFormat("image_folder"), folder + "/images", "", {});
  const DescriptorLimit few(6);
  EXPECT_EQ(ReadSome(reader.get(), 20).size(), 20u);  // all descriptors are in use
  EXPECT_EQ(ReadAll(images.get()).size(), 1u);
}

// A file whose descriptor was needed elsewhere is opened again, and must be the same file.
TEST(FewDescriptors, NoticeAFileThatWasReplacedWhileItWasClosed) {
  const PoolSize pool(0);
  const std::string folder = NewFolder("replaced");
  WriteNumbers(folder, 20, 9);
  MultiFileOptions options;
  options.buffer_size = 1;
  options.cycle_length = 20;
  const auto reader = OpenFiles({folder + "/*.recordio"}, {}, Bytes(), options);
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) {
    paths.push_back(StrCat(folder, "/numbers-", i, ".recordio"));
    WriteFile(paths.back() + ".copy", ReadFile(paths.back()));
  }
  const DescriptorLimit few(6);
  EXPECT_EQ(ReadSome(reader.get(), 20).size(), 20u);
  for (const std::string& path : paths) {
    ASSERT_EQ(std::rename((path + ".copy").c_str(), path.c_str()), 0);
  }
  ExpectError(ErrorCode::kDataLoss, "is another file than the one that was opened",
              [&] { ReadAll(reader.get()); });
}

}  // namespace
}  // namespace millhopper
