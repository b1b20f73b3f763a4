// SPDX-License-Identifier: Apache-2.0
// Shards, beyond the contract of all readers: which elements belong to which shard.
#include "readers/decorate/shard_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/formats/recordio/recordio_commit.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/open_files.h"
#include "readers/sources/random_data_reader.h"
#include "tests/bytes_read.h"
#include "tests/fakes/sources.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// A source that tells how long it is.
std::unique_ptr<ReaderBase> RandomNumbers(int64_t records) {
  SlotSpec slot;
  slot.dims = {1};
  return std::make_unique<RandomDataReader>(std::vector<SlotSpec>{slot}, 0.0F, 1.0F, records,
                                            RandomKey(0, 0, "random"));
}

TEST(ShardReader, RefusesPartsThatThereAreNot) {
  for (const int64_t shards : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    ExpectError(ErrorCode::kInvalidArgument, "num_shards is ",
                [&] { ShardReader(MakePlannedSource(3), shards, 0); });
  }
  for (const int64_t index : {int64_t{-1}, int64_t{2}, INT64_MAX}) {
    ExpectError(ErrorCode::kInvalidArgument, "it must be 0 to 1 for 2 shards",
                [&] { ShardReader(MakePlannedSource(3), 2, index); });
  }
}

TEST(ShardReader, PartsAreDisjointAndTogetherEverything) {
  for (const int64_t records : {0, 1, 6, 7, 8, 20, 1000}) {
    const std::unique_ptr<ReaderBase> source = MakePlannedSource(records);
    const std::vector<ElementValue> all = ReadAll(source.get());
    for (const int64_t shards : {1, 2, 3, 7, 300}) {
      std::vector<ElementValue> merged(all.size());
      for (int64_t index = 0; index < shards; ++index) {
        ShardReader reader(MakePlannedSource(records), shards, index);
        size_t at = static_cast<size_t>(index);
        for (const ElementValue& element : ReadAll(&reader)) {
          ASSERT_LT(at, merged.size());
          merged[at] = element;
          at += static_cast<size_t>(shards);
        }
        EXPECT_GE(at, all.size()) << "part " << index << " of " << shards;
      }
      EXPECT_EQ(merged, all) << records << " records, " << shards << " shards";
    }
  }
}

TEST(ShardReader, PartsOfAShuffledPassAreDisjointInEveryPass) {
  const auto shuffled = [] {
    return std::make_unique<ShuffleReader>(MakePlannedSource(50), 20, RandomKey(1, 2, "shuffled"));
  };
  const std::unique_ptr<ReaderBase> whole = shuffled();
  ShardReader first(shuffled(), 2, 0), second(shuffled(), 2, 1);
  for (int pass = 0; pass < 3; ++pass) {
    const std::vector<ElementValue> all = ReadAll(whole.get());
    const std::vector<ElementValue> even = ReadAll(&first), odd = ReadAll(&second);
    ASSERT_EQ(even.size() + odd.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(i % 2 == 0 ? even[i / 2] : odd[i / 2], all[i]);
    whole->ReInit();
    first.ReInit();
    second.ReInit();
  }
}

// What each of the shards yields in a pass, as numbers of records, and what it promises beforehand.
std::vector<std::vector<int64_t>> Shards(int64_t records, int64_t shards, ShardEven even) {
  std::vector<std::vector<int64_t>> parts;
  for (int64_t index = 0; index < shards; ++index) {
    ShardReader reader(MakePlannedSource(records), shards, index, ShardBy::kRecord, even);
    std::vector<int64_t> part, again;
    std::vector<LoDTensor> element;
    for (; reader.HasNext(); part.push_back(*element[0].data<int64_t>())) reader.ReadNext(&element);
    reader.ReInit();
    for (; reader.HasNext(); again.push_back(*element[0].data<int64_t>())) {
      reader.ReadNext(&element);
    }
    EXPECT_EQ(part, again) << "the second pass of shard " << index << " of " << shards;
    ShardReader counted(RandomNumbers(std::max(records, int64_t{1})), shards, index,
                        ShardBy::kRecord, even);
    if (records > 0) {
      EXPECT_EQ(counted.PassLength(), part.size());
    }
    parts.push_back(part);
  }
  return parts;
}

TEST(ShardReader, PadsAsDistributedSamplerDoes) {
  for (int64_t records = 0; records <= 130; ++records) {
    for (const int64_t shards : {1, 2, 3, 7, 64, 300}) {
      // torch.utils.data.DistributedSampler with drop_last=False: the numbers once more from the
      // beginning until they can be dealt evenly, then every shards-th.
      const int64_t rounds = (records + shards - 1) / shards;
      std::vector<std::vector<int64_t>> expected(static_cast<size_t>(shards));
      for (int64_t i = 0; i < rounds * shards; ++i) {
        expected[static_cast<size_t>(i % shards)].push_back(i % records);
      }
      EXPECT_EQ(Shards(records, shards, ShardEven::kPad), expected)
          << records << " records, " << shards << " shards";
    }
  }
}

TEST(ShardReader, DropsTheRoundThatIsNotComplete) {
  for (int64_t records = 0; records <= 130; ++records) {
    for (const int64_t shards : {1, 2, 3, 7, 64, 300}) {
      std::vector<std::vector<int64_t>> expected(static_cast<size_t>(shards));
      for (int64_t i = 0; i < records / shards * shards; ++i) {
        expected[static_cast<size_t>(i % shards)].push_back(i);
      }
      EXPECT_EQ(Shards(records, shards, ShardEven::kDrop), expected)
          << records << " records, " << shards << " shards";
    }
  }
}

TEST(ShardReader, YieldsNothingOfARoundThatAnErrorCutsShort) {
  SourceSpec spec;
  spec.records = 20;
  spec.plan_error = 13;
  for (int64_t index = 0; index < 4; ++index) {
    ShardReader dropping(MakePlannedSource(spec), 4, index, ShardBy::kRecord, ShardEven::kDrop);
    ShardReader padding(MakePlannedSource(spec), 4, index, ShardBy::kRecord, ShardEven::kPad);
    std::vector<LoDTensor> element;
    for (int round = 0; round < 3; ++round) dropping.ReadNext(&element);
    EXPECT_ANY_THROW(dropping.HasNext());
    // No element takes the place of one that is lost.
    for (int64_t number = index; number < 13; number += 4) {
      padding.ReadNext(&element);
      EXPECT_EQ(*element[0].data<int64_t>(), number);
    }
    EXPECT_ANY_THROW(padding.HasNext());
  }
}

// Which order of shard and batch is natural: both end together, but batches that are dealt differ
// in size.
TEST(ShardReader, EndsTogetherBelowAndAboveBatches) {
  constexpr int64_t kBatch = 4;
  const auto sizes = [](ReaderBase* reader) {
    std::vector<int64_t> rows;
    std::vector<LoDTensor> batch;
    for (; reader->HasNext(); rows.push_back(batch[0].dims()[0])) reader->ReadNext(&batch);
    return rows;
  };
  for (int64_t records = 0; records <= 130; ++records) {
    for (const ShardEven even : {ShardEven::kPad, ShardEven::kDrop}) {
      std::vector<std::vector<int64_t>> batches_of_parts, parts_of_batches;
      for (int64_t index = 0; index < 3; ++index) {
        BatchReader above(std::make_unique<ShardReader>(MakePlannedSource(records), 3, index,
                                                        ShardBy::kRecord, even),
                          kBatch, false, BatchMode::kConcat);
        batches_of_parts.push_back(sizes(&above));
        ShardReader below(std::make_unique<BatchReader>(MakePlannedSource(records), kBatch, false,
                                                        BatchMode::kConcat),
                          3, index, ShardBy::kRecord, even);
        parts_of_batches.push_back(sizes(&below));
      }
      for (size_t index = 1; index < 3; ++index) {
        EXPECT_EQ(batches_of_parts[index], batches_of_parts[0]) << records << " records";
        EXPECT_EQ(parts_of_batches[index].size(), parts_of_batches[0].size())
            << records << " records";
      }
    }
  }
}

TEST(ShardReader, CannotMakeChunksEven) {
  for (const ShardEven even : {ShardEven::kPad, ShardEven::kDrop}) {
    ExpectError(ErrorCode::kInvalidArgument, "they cannot be made even; use by: \"record\"",
                [&] { ShardReader(MakePlannedSource(3), 2, 0, ShardBy::kChunk, even); });
  }
}

TEST(ShardReader, TakesNoMoreThanItNeedsOfAReaderThatOthersShare) {
  ReaderHolder shared;
  shared.Reset(MakePlannedSource(10));
  ShardReader reader(shared.NewHandle(), 3, 1);
  std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  EXPECT_EQ(*element[0].data<int64_t>(), 1);
  shared.ReadNext(&element);
  EXPECT_EQ(*element[0].data<int64_t>(), 2);
}

// RecordIO files of a folder, with a manifest: file f has f + 20 chunks or so of ten records of
// kRecordBytes each.
class ShardsByChunk : public ::testing::Test {
 protected:
  static constexpr int kFiles = 3;
  static constexpr size_t kRecordBytes = 5000;
  static constexpr uint32_t kChunkRecords = 10;

  ShardsByChunk() : folder_(NewFolder("shards_by_chunk")) {
    RecordIOOptions options;
    options.compressor = RecordIOCompressor::kNone;
    options.chunk_records = kChunkRecords;
    std::vector<std::unique_ptr<RecordIOWriter>> owned;
    std::vector<RecordIOWriter*> files;
    for (int file = 0; file < kFiles; ++file) {
      owned.push_back(
          std::make_unique<RecordIOWriter>(StrCat(folder_, "/s-0000", file, ".recordio"), options));
      files.push_back(owned.back().get());
      const int records = 203 + 10 * file;
      for (int record = 0; record < records; ++record) {
        std::string bytes = StrCat(file, " ", record, " ");
        bytes.resize(kRecordBytes, 'x');
        files.back()->Write(bytes);
      }
      records_ += records;
    }
    CommitRecordIO(files, true);
    for (const RecordIOWriter* file : files) bytes_ += file->bytes();
  }

  std::unique_ptr<ReaderBase> Open(uint64_t pass_num = 1) const {
    FormatArguments arguments;
    arguments.attributes.Set("content", std::string("bytes"));
    MultiFileOptions options;
    options.pass_num = pass_num;
    return OpenFiles({folder_ + "/s-*.recordio"}, {}, arguments, options);
  }

  // The records of a reader by their place in the whole.
  static std::map<uint64_t, std::string> Read(ReaderBase* reader) {
    std::map<uint64_t, std::string> records;
    TicketRun run;
    while (reader->Plan(7, &run) > 0) {
      for (const Ticket& ticket : run.tickets) {
        Rows rows(reader->row_slots());
        reader->Load(&ticket, 1, &rows);
        std::vector<LoDTensor> element;
        rows.MoveTo(&element);
        const auto* bytes = static_cast<const char*>(element[0].raw_data());
        const bool is_new =
            records.emplace(ticket.id.sample, std::string(bytes, element[0].bytes())).second;
        EXPECT_TRUE(is_new) << "two records are number " << ticket.id.sample;
      }
      run.Clear();
    }
    return records;
  }

  const std::string folder_;
  size_t records_ = 0;
  uint64_t bytes_ = 0;
};

TEST_F(ShardsByChunk, AreDisjointAndTogetherEverythingWithTheNamesOfTheWhole) {
  const std::map<uint64_t, std::string> whole = Read(Open().get());
  EXPECT_EQ(whole.size(), records_);
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    for (const int64_t shards : {1, 2, 8, 100}) {
      std::map<uint64_t, std::string> together;
      for (int64_t index = 0; index < shards; ++index) {
        ShardReader shard(Open(), shards, index, ShardBy::kChunk);
        for (int pass = 0; pass < 2; ++pass) {
          const std::map<uint64_t, std::string> part = Read(&shard);
          if (pass == 0) {
            for (const auto& record : part) EXPECT_TRUE(together.insert(record).second);
          } else {
            for (const auto& [sample, bytes] : part) EXPECT_EQ(together.at(sample), bytes);
          }
          shard.ReInit();
        }
      }
      EXPECT_EQ(together, whole) << shards << " shards, " << threads << " threads";
    }
  }
}

TEST_F(ShardsByChunk, ReadTheirChunksAndNoOthers) {
  constexpr uint64_t kChunkBytes = kChunkRecords * (kRecordBytes + 4) + 20;
  constexpr uint64_t kHeaders = uint64_t{100} * 32;  // of all chunks, and more
  constexpr uint64_t kManifest = 64 << 10;
  for (const int threads : {0, 2}) {
    const PoolSize size(threads);
    for (int64_t index = 0; index < 8; ++index) {
      ShardReader shard(Open(), 8, index, ShardBy::kChunk);
      const uint64_t before = BytesRead();
      EXPECT_FALSE(Read(&shard).empty());
      const uint64_t read = BytesRead() - before;
      EXPECT_LE(read, bytes_ / 8 + kFiles * kChunkBytes + kHeaders + kManifest)
          << "shard " << index << " of " << bytes_ << " bytes, " << threads << " threads";
    }
  }
}

// A shard without chunks ends at once, instead of reading the files again and again.
TEST_F(ShardsByChunk, EndAtOnceWhereTheyHaveNoChunk) {
  ShardReader shard(Open(UINT64_MAX), 100, 99, ShardBy::kChunk);
  EXPECT_TRUE(Read(&shard).empty());
}

TEST_F(ShardsByChunk, AreOfFormatsThatTellTheirCounts) {
  const std::string path = folder_ + "/lines.txt";
  std::ofstream(path) << "1\n2\n";
  ExpectError(ErrorCode::kInvalidArgument, "use by: \"record\"",
              [&] { ShardReader(OpenFiles({path}, {}, {}, {}), 2, 0, ShardBy::kChunk); });
}

TEST_F(ShardsByChunk, AreOfReadersOfFilesThatNobodyElseReads) {
  ExpectError(ErrorCode::kInvalidArgument, "is no reader of files",
              [] { ShardReader(MakePlannedSource(3), 2, 0, ShardBy::kChunk); });
  ReaderHolder holder;
  holder.Reset(Open());
  {
    const std::unique_ptr<ReaderBase> other = holder.NewHandle();
    ExpectError(ErrorCode::kInvalidArgument, "is read by others",
                [&] { ShardReader(holder.NewHandle(), 2, 0, ShardBy::kChunk); });
  }
  const ShardReader shard(holder.NewHandle(), 2, 0, ShardBy::kChunk);
  ExpectError(ErrorCode::kInvalidArgument, "nobody else can read it", [&] { holder.NewHandle(); });
}

}  // namespace
}  // namespace millhopper
