// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/random_order_reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/permutation.h"
#include "tests/bytes.h"
#include "tests/files/number_files.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Files of int64 [1, 1], of which file f holds 1000 * f, 1000 * f + 1 ...
class RandomOrder : public ::testing::Test {
 protected:
  std::string Path(size_t file) const { return folder_ + "/" + std::to_string(file); }

  void Write(const std::vector<int64_t>& sizes) {
    for (size_t f = 0; f < sizes.size(); ++f) {
      std::string bytes;
      for (int64_t i = 0; i < sizes[f]; ++i) {
        const int64_t value = 1000 * static_cast<int64_t>(f) + i;
        all_.push_back(value);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
      WriteFile(Path(f), bytes);
      names_.push_back("fixed:" + Path(f));
    }
  }

  std::unique_ptr<ReaderBase> Open(BufferType buffer_type = BufferType::kMemory,
                                   uint64_t pass_num = 1) const {
    MultiFileOptions options;
    options.shuffle_records = true;
    options.pass_num = pass_num;
    options.key = key_;
    return OpenNumbers(names_, options, buffer_type);
  }

  Numbers InOrder(uint64_t pass) const {
    const Permutation order(all_.size(), key_, pass);
    Numbers numbers;
    for (uint64_t i = 0; i < all_.size(); ++i) numbers.push_back(all_[order[i]]);
    return numbers;
  }

  static Numbers Read(ReaderBase* reader) { return NumbersOf(ReadAll(reader)); }

  const std::string folder_ = NewFolder("random_order");
  const RandomKey key_{3, 4, "files"};
  std::vector<std::string> names_;
  Numbers all_;
};

TEST_F(RandomOrder, IsThatOfThePermutationInEachPass) {
  Write({5, 0, 300, 1, 40});
  for (const BufferType type : {BufferType::kMemory, BufferType::kMmap}) {
    const auto reader = Open(type);
    EXPECT_EQ(reader->PassLength(), 346u);
    for (uint64_t pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(Read(reader.get()), InOrder(pass)) << "in pass " << pass;
      reader->ReInit();
    }
  }
}

TEST_F(RandomOrder, OfManyRecordsHasEachOnce) {
  Write({700, 900, 1000, 999, 998, 1000});
  ASSERT_GT(all_.size(), Permutation::kMostListed);
  const auto reader = Open();
  Numbers read = Read(reader.get());
  EXPECT_EQ(read, InOrder(0));
  std::sort(read.begin(), read.end());
  EXPECT_EQ(read, all_);
}

TEST_F(RandomOrder, OfNothingIsEmpty) {
  Write({0, 0});
  EXPECT_TRUE(Read(Open().get()).empty());
}

TEST_F(RandomOrder, NeedsFilesWithRandomAccess) {
  Write({4, 5});
  WriteFile(Path(1), Gzipped(ReadFile(Path(1))));
  const auto reader = Open();
  for (int again = 0; again < 2; ++again) {
    const std::optional<Thrown> thrown = ErrorOf([&] { reader->HasNext(); });
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->code, ErrorCode::kInvalidArgument);
    for (const std::string& words :
         {Path(1), std::string("plain files of the formats fixed, idx and npy"),
          std::string("reader 'files'")}) {
      EXPECT_NE(thrown->text.find(words), std::string::npos) << thrown->text;
    }
  }
  ExpectError(ErrorCode::kInvalidArgument, "by: \"record\"", [&] { Open()->TakeShare({2, 0}); });
  ExpectError(ErrorCode::kInvalidArgument, "create_multi_pass_reader reads the records",
              [&] { Open(BufferType::kMemory, 2); });
}

TEST_F(RandomOrder, DamagedFilesAreErrors) {
  Write({4, 5});
  WriteFile(Path(1), ReadFile(Path(1)) + "more");
  ExpectError(ErrorCode::kDataLoss, "in record 5, of which it has 4 of 8 bytes",
              [&] { Open()->HasNext(); });
}

// A file that becomes shorter is an error at the first of its records that is gone, with its place;
// those before it are yielded. Records that were read ahead are not gone. That a mapped file has
// become shorter is an error as soon as more of its records are read.
TEST_F(RandomOrder, FilesThatBecomeShorterAreErrors) {
  constexpr size_t kLeft = 10;
  constexpr size_t kReadAhead = 512;
  const PoolSize pool(0);
  Write({10, 3000});
  const std::string whole = ReadFile(Path(1));
  const Numbers wanted = InOrder(0);
  const auto ahead = wanted.begin() + kReadAhead;
  const auto gone =
      std::find_if(ahead, wanted.end(), [](int64_t n) { return n >= 1000 + int64_t{kLeft}; });
  ASSERT_NE(gone, ahead);
  for (const BufferType type : {BufferType::kMemory, BufferType::kMmap}) {
    WriteFile(Path(1), whole);
    const auto reader = Open(type);
    ASSERT_TRUE(reader->HasNext());
    std::filesystem::resize_file(Path(1), kLeft * sizeof(int64_t));
    const auto end = type == BufferType::kMmap ? ahead : gone;
    std::vector<LoDTensor> element;
    for (auto number = wanted.begin(); number != end; ++number) {
      reader->ReadNext(&element);
      EXPECT_EQ(element[0].scalar<int64_t>(), *number);
    }
    const std::optional<Thrown> thrown = ErrorOf([&] { reader->ReadNext(&element); });
    ASSERT_TRUE(thrown);
    EXPECT_EQ(thrown->code, ErrorCode::kDataLoss);
    const int64_t byte = 8 * (type == BufferType::kMmap ? int64_t{kLeft} : *gone - 1000);
    for (const std::string& words :
         {Path(1), StrCat("byte ", byte), StrCat("record ", end - wanted.begin())}) {
      EXPECT_NE(thrown->text.find(words), std::string::npos) << thrown->text;
    }
  }
}

// Files of so many records that a part of the order is read block by block, and files that are so
// large that it is not, with any number of threads.
TEST_F(RandomOrder, IsTheSameHoweverRecordsAreRead) {
  constexpr size_t kRecordBytes = 96;
  constexpr int64_t kRecords = 40000;
  const std::string path = folder_ + "/wide";
  std::string bytes(kRecords * kRecordBytes, '\0');
  for (int64_t i = 0; i < kRecords; ++i) std::memcpy(&bytes[i * kRecordBytes], &i, sizeof(i));
  WriteFile(path, bytes);
  FormatArguments arguments;
  arguments.declared.resize(1);
  arguments.declared[0].dtype = DataType::kInt64;
  arguments.declared[0].dims = {1, kRecordBytes / sizeof(int64_t)};
  MultiFileOptions options;
  options.shuffle_records = true;
  options.key = key_;
  const Permutation order(kRecords, key_, 0);
  // Under a limit on memory too little is read at once for reading block by block. It comes first,
  // because what is kept for later use without a limit would count.
  for (const size_t limit : {size_t{1} << 20, size_t{SIZE_MAX}}) {
    for (const BufferType type : {BufferType::kMemory, BufferType::kMmap}) {
      for (const int workers : {0, 1, 2, 7}) {
        const PoolSize pool(workers);
        const LimitInForce in_force(limit);
        arguments.buffer_type = type;
        const auto reader = OpenFiles({"fixed:" + path}, {}, arguments, options);
        std::vector<LoDTensor> element;
        int64_t wrong = 0;
        int64_t read = 0;
        for (; reader->HasNext(); ++read) {
          reader->ReadNext(&element);
          if (*element[0].data<int64_t>() != static_cast<int64_t>(order[read])) ++wrong;
        }
        EXPECT_EQ(wrong, 0) << workers << " workers";
        EXPECT_EQ(read, kRecords);
      }
    }
  }
}

// A hundred million records: a file with nothing in it takes no room on the disk.
TEST_F(RandomOrder, TakesNoMemoryForRecordsThatWait) {
  constexpr int64_t kRecords = 100'000'000;
  Write({0});
  std::filesystem::resize_file(Path(0), kRecords * sizeof(int64_t));
  const auto reader = Open();
  ASSERT_TRUE(reader->HasNext());
  EXPECT_EQ(reader->PassLength(), static_cast<uint64_t>(kRecords));
  const auto most = [] {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  EXPECT_LT(most(), 60 << 10);
  std::vector<LoDTensor> element;
  for (int i = 0; i < 100000; ++i) reader->ReadNext(&element);
  EXPECT_LT(most(), 60 << 10);
}

}  // namespace
}  // namespace millhopper
