// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/random_chunks_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "tests/bytes.h"
#include "tests/files/number_files.h"
#include "tests/files/record_files.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// RecordIO files of int64 [1, 1]. File f holds 1000 * f, 1000 * f + 1 ..., three in a chunk.
class RandomChunks : public ::testing::Test {
 protected:
  static constexpr int64_t kInChunk = 3;

  std::string Path(size_t file) const { return folder_ + "/" + std::to_string(file) + ".recordio"; }

  void Write(const std::vector<int64_t>& sizes) {
    for (size_t f = 0; f < sizes.size(); ++f) {
      std::string bytes;
      std::vector<std::string> records;
      for (int64_t i = 0; i < sizes[f]; ++i) {
        if (i % kInChunk == 0) {
          chunks_.emplace_back();
          begins_.push_back(bytes.size());
          files_.push_back(f);
        }
        chunks_.back().push_back(1000 * static_cast<int64_t>(f) + i);
        records.push_back(RecordOf({MakeTensor<int64_t>({1, 1}, {chunks_.back().back()})}));
        if (i % kInChunk < kInChunk - 1 && i < sizes[f] - 1) continue;
        bytes += ChunkOf(records);
        records.clear();
      }
      WriteFile(Path(f), bytes);
      names_.push_back("recordio:" + Path(f));
    }
  }

  std::unique_ptr<ReaderBase> Open(uint64_t pass_num = 1, bool shuffle_records = false) const {
    MultiFileOptions options;
    options.shuffle_chunks = true;
    options.shuffle_records = shuffle_records;
    options.pass_num = pass_num;
    options.key = key_;
    return OpenNumbers(names_, options);
  }

  Numbers InOrder(uint64_t pass) const {
    const Permutation order(chunks_.size(), key_, pass);
    Numbers numbers;
    for (uint64_t i = 0; i < chunks_.size(); ++i) {
      const Numbers& chunk = chunks_[order[i]];
      numbers.insert(numbers.end(), chunk.begin(), chunk.end());
    }
    return numbers;
  }

  const std::string folder_ = NewFolder("random_chunks");
  const RandomKey key_{3, 4, "files"};
  std::vector<std::string> names_;
  std::vector<Numbers> chunks_;   // of all files
  std::vector<uint64_t> begins_;  // where they begin,
  std::vector<size_t> files_;     // and in which file
};

TEST_F(RandomChunks, HaveThePermutationOfEachPass) {
  Write({10, 0, 300, 1, 40});
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto reader = Open();
    for (uint64_t pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(NumbersOf(ReadAll(reader.get())), InOrder(pass)) << "in pass " << pass;
      reader->ReInit();
    }
  }
  EXPECT_NE(InOrder(0), InOrder(1));
}

TEST_F(RandomChunks, KeepTheNamesOfElements) {
  Write({10, 20});
  const auto reader = Open();
  TicketRun run;
  while (reader->Plan(100, &run) > 0) continue;
  const Permutation order(chunks_.size(), key_, 0);
  size_t next = 0;
  for (uint64_t i = 0; i < chunks_.size(); ++i) {
    for (uint32_t record = 0; record < chunks_[order[i]].size(); ++record, ++next) {
      const RecordId& id = run.tickets.at(next).id;
      EXPECT_EQ(id.sample, next);
      EXPECT_EQ(id.file, files_[order[i]]);
      EXPECT_EQ(id.chunk, begins_[order[i]]);
      EXPECT_EQ(id.record, record);
    }
  }
  EXPECT_EQ(next, run.tickets.size());
}

// The shards have the chunks that they have in order, and elements the names that they have in the
// whole.
TEST_F(RandomChunks, AreSharedOut) {
  Write({10, 20, 7});
  const Permutation order(chunks_.size(), key_, 0);
  for (uint64_t shard = 0; shard < 3; ++shard) {
    const auto reader = Open();
    reader->TakeShare({3, shard});
    TicketRun run;
    while (reader->Plan(100, &run) > 0) continue;
    size_t sample = 0, next = 0;
    for (uint64_t i = 0; i < chunks_.size(); ++i) {
      size_t number = 0;  // of the chunk in its file
      for (size_t k = 0; k < order[i]; ++k) number += files_[k] == files_[order[i]] ? 1 : 0;
      for (size_t record = 0; record < chunks_[order[i]].size(); ++record, ++sample) {
        if ((files_[order[i]] + number) % 3 != shard) continue;
        ASSERT_LT(next, run.tickets.size());
        EXPECT_EQ(run.tickets[next].id.sample, sample);
        EXPECT_EQ(run.tickets[next].id.chunk, begins_[order[i]]);
        ++next;
      }
    }
    EXPECT_EQ(next, run.tickets.size());
  }
}

TEST_F(RandomChunks, OfNothingAreNone) {
  Write({0, 0});
  EXPECT_TRUE(ReadAll(Open().get()).empty());
}

TEST_F(RandomChunks, DamagedOnesAreErrorsInTheirPlace) {
  Write({10, 20});
  const Permutation order(chunks_.size(), key_, 0);
  const size_t damaged = order[4];
  std::string bytes = ReadFile(Path(files_[damaged]));
  bytes[begins_[damaged] + 30] ^= 1;
  WriteFile(Path(files_[damaged]), bytes);
  for (const int threads : {0, 7}) {
    const PoolSize size(threads);
    const auto reader = Open();
    const Outcome outcome = OutcomeOf(reader.get());
    Numbers before;
    for (size_t i = 0; i < 4; ++i) {
      before.insert(before.end(), chunks_[order[i]].begin(), chunks_[order[i]].end());
    }
    EXPECT_EQ(NumbersOf(outcome.elements), before);
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss);
    EXPECT_EQ(outcome.error->file(), Path(files_[damaged]));
    EXPECT_EQ(outcome.error->offset(), static_cast<int64_t>(begins_[damaged]));
    EXPECT_NE(std::string(outcome.error->what())
                  .find(StrCat("while reading record ", before.size(), " of reader 'files'")),
              std::string::npos)
        << outcome.error->what();
  }
}

TEST_F(RandomChunks, ThatCannotBeFoundAreAnErrorAtOnce) {
  Write({10, 20});
  WriteFile(Path(1), ReadFile(Path(1)) + "no chunk, but long enough for a header");
  const auto reader = Open();
  for (int time = 0; time < 2; ++time) {
    ExpectError(ErrorCode::kDataLoss, Path(1), [&] { reader->HasNext(); });
  }
}

TEST_F(RandomChunks, OfStreamsAreRefused) {
  Write({10});
  const std::string lines = folder_ + "/lines.txt.gz";
  WriteFile(lines, Gzipped("a\nb\n"));
  const std::string fixed = folder_ + "/numbers.gz";
  WriteFile(fixed, Gzipped(std::string(80, '\0')));
  for (const std::string& name : {"text:" + lines, "fixed:" + fixed}) {
    names_ = {name};
    FormatArguments arguments;
    SlotSpec slot;
    slot.dtype = DataType::kUint8;
    slot.dims = {8};
    if (name[0] == 'f') arguments.declared = {slot};
    MultiFileOptions options;
    options.shuffle_chunks = true;
    const auto reader = OpenFiles(names_, {}, std::move(arguments), options);
    ExpectError(ErrorCode::kInvalidArgument,
                "shuffle_chunks needs files whose chunks can be found without reading them",
                [&] { reader->HasNext(); });
  }
}

TEST_F(RandomChunks, WrongOptionsAreErrors) {
  Write({10});
  ExpectError(ErrorCode::kInvalidArgument, "shuffle_chunks and pass_num 2", [&] { Open(2); });
  ExpectError(ErrorCode::kInvalidArgument, "shuffle_chunks and shuffle_records",
              [&] { Open(1, true); });
}

}  // namespace
}  // namespace millhopper
