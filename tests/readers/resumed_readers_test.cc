// SPDX-License-Identifier: Apache-2.0
// Where single readers go on, beyond the contract of all readers: what must be the same as when the
// position was saved, and what need not be.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/permutation.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "readers/cache/cache_reader.h"
#include "readers/combine/mix_reader.h"
#include "readers/decorate/filter_reader.h"
#include "readers/decorate/map_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/multi_file_reader.h"
#include "readers/sources/numbers_again.h"
#include "readers/sources/random_chunks_reader.h"
#include "readers/sources/random_order_reader.h"
#include "tests/fakes/memory_files.h"
#include "tests/fakes/sources.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;
using Make = std::function<ReaderPtr()>;

Position Stored(const Position& position) { return Position::Parse(position.Serialize()); }

// The position after so many elements.
Position SavedAfter(const Make& make, size_t elements) {
  const ReaderPtr reader = make();
  reader->ExpectSave();
  ReadSome(reader.get(), elements);
  return Stored(reader->Save());
}

void ExpectRefused(const Make& make, const Position& position, ErrorCode code,
                   const std::string& words) {
  ExpectError(code, words, [&] {
    const ReaderPtr reader = make();
    reader->Restore(position);
  });
}

ReaderPtr Numbers(int64_t records, std::shared_ptr<Ledger> ledger = nullptr) {
  SourceSpec spec;
  spec.records = records;
  spec.ledger = std::move(ledger);
  return MakePlannedSource(spec);
}

Readers Two() {
  Readers readers;
  readers.push_back(Numbers(20));
  readers.push_back(Numbers(20));
  return readers;
}

// ---- Settings. ----

TEST(ResumedReadersTest, NumbersThatDifferInTheLastDigitDiffer) {
  const auto mixed = [](double weight) -> Make {
    return [weight] {
      MixOptions options;
      options.steps = {{0, {weight, 1}}};
      return std::make_unique<MixReader>(Two(), options, RandomKey(1, 2, "mixed"));
    };
  };
  const Position position = SavedAfter(mixed(0.1), 3);
  EXPECT_NO_THROW(mixed(0.1)()->Restore(position));
  ExpectRefused(mixed(0.100000001), position, ErrorCode::kInvalidArgument,
                "weights was 0.1, 1, now it is 0.100000001, 1");
}

TEST(ResumedReadersTest, FunctionsThatAreDescribedOtherwiseDiffer) {
  const auto filtered = [](const std::string& description) -> Make {
    return [description] {
      return std::make_unique<FilterReader>(
          Numbers(20), [](const RecordId& id, const auto&) { return id.sample % 3 > 0; },
          description);
    };
  };
  const std::string same(1000, 's');
  const Position position = SavedAfter(filtered(same + " % 3"), 3);
  const ReaderPtr reader = filtered(same + " % 3")();
  reader->Restore(position);
  EXPECT_EQ(ReadAll(reader.get()).size(), 10u);
  ExpectRefused(filtered(same + " % 4"), position, ErrorCode::kInvalidArgument,
                "function was ..." + std::string(37, 's') + " % 3, now it is ..." +
                    std::string(37, 's') + " % 4");
  const auto mapped = [](const std::string& description) -> Make {
    return [description] {
      return std::make_unique<MapReader>(
          Numbers(20), SlotsOf(SourceSpec()),
          [](const RecordId&, auto* in, auto* out, Rows*) { std::swap(*in, *out); }, description);
    };
  };
  ExpectRefused(mapped("x + 1"), SavedAfter(mapped("x"), 3), ErrorCode::kInvalidArgument,
                "function was x, now it is x + 1");
}

// ---- Files. ----

Make Reads(const std::string& format, const std::string& path, const AttributeMap& attributes) {
  return [=] {
    FormatArguments arguments;
    arguments.attributes = attributes;
    return std::make_unique<FileReader>(FindFileFormat(format)->Make(arguments),
                                        FileEntry{path, "", BufferType::kMemory});
  };
}

TEST(ResumedReadersTest, AttributesOfFormatsMustBeTheSame) {
  const std::string path = "memory:///lines.csv";
  MemoryFiles::Get().Write(path, "1,2\n3,4\n5,6\n7,8\n");
  const auto csv = [&](const std::string& header) {
    AttributeMap attributes;
    attributes.Set("header", header);
    attributes.Set("fields", std::vector<std::string>{"#0 int64[]", "#1 int64[]"});
    return Reads("csv", path, attributes);
  };
  const Position position = SavedAfter(csv("no"), 2);
  const ReaderPtr reader = csv("no")();
  reader->Restore(position);
  EXPECT_EQ(ReadAll(reader.get()).size(), 2u);
  ExpectRefused(csv("yes"), position, ErrorCode::kInvalidArgument,
                "format.header was \"no\", now it is \"yes\"");
}

TEST(ResumedReadersTest, ListsOfFilesMustNameTheSame) {
  const std::string list = "memory:///images/list";
  for (const char* name : {"a", "b", "c"}) {
    MemoryFiles::Get().Write(StrCat("memory:///images/", name), "an image");
  }
  const std::string good = "a 1\nb 2\nc 3\n";
  MemoryFiles::Get().Write(list, good);
  const Make make = Reads("image_list", list, {});
  const Position position = SavedAfter(make, 1);
  const ReaderPtr reader = make();
  reader->Restore(position);
  EXPECT_EQ(ReadAll(reader.get()).size(), 2u);
  for (const char* other : {"a 1\nb 2\nc 4\n", "a 1\nb 3\nc 2\n", "a 1\nc 2\nb 3\n"}) {
    MemoryFiles::Get().Write(list, other);
    ExpectRefused(make, position, ErrorCode::kInvalidArgument,
                  "the files that 'memory:///images/list' names, or their labels, are not what "
                  "they were");
  }
}

// File systems do not agree on the size of a folder.
TEST(ResumedReadersTest, FoldersAreTheSameWhereTheirFilesAre) {
  const std::string folder = NewFolder("classes");
  for (const char* name : {"/cat", "/dog"}) std::filesystem::create_directory(folder + name);
  WriteFile(folder + "/cat/1.jpg", "a cat");
  WriteFile(folder + "/dog/1.jpg", "a dog");
  const Make make = Reads("image_folder", folder, {});
  const Position position = SavedAfter(make, 1);
  EXPECT_EQ(position.ToJson().find("\"bytes\""), std::string::npos) << position.ToJson();
  WriteFile(folder + "/notes.txt", "this is no image");
  const ReaderPtr reader = make();
  reader->Restore(position);
  EXPECT_EQ(ReadAll(reader.get()).size(), 1u);
  WriteFile(folder + "/cat/2.jpg", "another cat");
  ExpectRefused(make, position, ErrorCode::kInvalidArgument,
                "names, or their labels, are not what");
}

// A file of recordio with `chunks` chunks of so many records. The last record fills it up to
// `bytes`.
std::string RecordioOf(const std::vector<size_t>& chunks, size_t bytes = 0) {
  std::string content;
  for (size_t i = 0; i < chunks.size(); ++i) {
    std::vector<std::string> records(chunks[i], "a record");
    if (i + 1 == chunks.size() && bytes > 0) {
      records.back() += std::string(bytes - content.size() - ChunkOf(records).size(), '.');
    }
    content += ChunkOf(records);
  }
  return content;
}

// The sizes of the files do not tell that they have changed.
TEST(ResumedReadersTest, ChunksMustHaveTheRecordsThatTheyHad) {
  const std::string path = "memory:///chunks.recordio";
  const std::string good = RecordioOf({5, 5, 5});
  FormatArguments arguments;
  arguments.declared = SlotsOf(SourceSpec());
  const FileEntry file{path, "", BufferType::kMemory};
  const auto format = [&] { return FindFileFormat("recordio")->Make(arguments); };
  const Make in_order = [&] { return std::make_unique<FileReader>(format(), file); };
  const Make in_random_order = [&] {
    return std::make_unique<RandomChunksReader>(format(), std::vector<FileEntry>{file}, ReadAhead{},
                                                RandomKey(1, 2, "chunks"));
  };
  const auto planned = [](const Make& make) {  // five records, which are no tensors
    const ReaderPtr reader = make();
    reader->ExpectSave();
    TicketRun run;
    EXPECT_EQ(reader->Plan(5, &run), 5u);
    return Stored(reader->Save());
  };
  MemoryFiles::Get().Write(path, good);
  const Position behind_first = planned(in_order);
  const Position behind_any = planned(in_random_order);
  EXPECT_NO_THROW(in_order()->Restore(behind_first));
  EXPECT_NO_THROW(in_random_order()->Restore(behind_any));
  MemoryFiles::Get().Write(path, RecordioOf({4, 6, 5}));
  const ReaderPtr reader = in_order();
  reader->Restore(behind_first);
  ExpectError(ErrorCode::kDataLoss,
              "after the chunk at byte 0 of 5 records, which has 4 now; the file has changed since",
              [&] { reader->HasNext(); });
  MemoryFiles::Get().Write(path, RecordioOf({5, 10}, good.size()));
  ExpectRefused(in_random_order, behind_any, ErrorCode::kDataLoss,
                "its files had 3 chunks when the position was saved, and have 2 now");
}

// Elements of one record of a million bytes each.
class WideRecords : public ::testing::Test {
 protected:
  static constexpr size_t kRecords = 20;
  static constexpr size_t kBytes = 1000000;

  WideRecords() { MemoryFiles::Get().Write(path_, std::string(kRecords * kBytes, 'x')); }
  ~WideRecords() override { MemoryFiles::Get().Remove(path_); }

  ReaderPtr Open() const {
    FormatArguments arguments;
    arguments.declared.resize(1);
    arguments.declared[0].dtype = DataType::kUint8;
    arguments.declared[0].dims = {1, kBytes};
    ReaderPtr reader = std::make_unique<RandomOrderReader>(
        FindFileFormat("fixed")->Make(arguments),
        std::vector<FileEntry>{{path_, "", BufferType::kMemory}}, RandomKey(1, 2, "wide"));
    reader->set_origin("reader 'wide'");
    return reader;
  }

  // Plans the first so many records again, and keeps none of them; returns how many it was given.
  static size_t PlanAgain(ReaderBase* reader, size_t records) {
    ElementNames names;
    names.count = records;
    names.records.resize(records);
    for (size_t i = 0; i < records; ++i) names.records[i].sample = i;
    size_t given = 0;
    reader->PlanAgain(names, [&](size_t, const Ticket&) { ++given; });
    return given;
  }

  const std::string path_ = "memory:///wide.fixed";
};

TEST_F(WideRecords, AreNotAllPlannedAgainAtOnce) {
  const LimitInForce limit(kRecords * kBytes / 2);
  EXPECT_EQ(PlanAgain(Open().get(), kRecords), kRecords);
}

TEST_F(WideRecords, SayWhichOfThemCannotBePlannedAgain) {
  std::string last;  // the error of the last call that can fail
  for (int64_t call = 0, failed = 0; failed == call; ++call) {
    const ReaderPtr reader = Open();
    MemoryFiles::Get().Break(FileTrouble::kFail, call);
    try {
      PlanAgain(reader.get(), 3);
    } catch (const Error& error) {
      ++failed;
      last = error.what();
    }
    MemoryFiles::Get().Mend();
  }
  EXPECT_NE(last.find("while reading record 2 of reader 'wide'"), std::string::npos) << last;
}

// Chunks of 1, 2 or 3 numbers, each chunk of two parts, as those of columns are.
uint64_t RecordsIn(uint64_t chunk) { return 1 + chunk % 3; }

class InParts final : public FileSource {
 public:
  explicit InParts(uint64_t chunks) : chunks_(chunks) {}

  bool Claim(Chunk* chunk) override {
    if (part_ == 2 * chunks_) return false;
    chunk->is_part = part_ % 2 == 0;
    chunk->offset = part_ / 2;
    chunk->records = chunk->is_part ? 0 : RecordsIn(part_ / 2);
    ++part_;
    return true;
  }
  void Fetch(Chunk* chunk) const override {
    if (chunk->is_part) return;
    const auto records = static_cast<uint32_t>(*chunk->records);
    chunk->bytes = BufferPool::At(Place()).Take(8 * size_t{records});
    for (uint32_t i = 0; i < records; ++i) {
      reinterpret_cast<uint64_t*>(chunk->bytes->data())[i] = 10 * chunk->offset + i;
      chunk->pieces.push_back({8 * i, 8});
    }
  }

 private:
  const uint64_t chunks_;
  uint64_t part_ = 0;
};

class InPartsFormat final : public FileFormat {
 public:
  InPartsFormat() : FileFormat(SlotsOf(SourceSpec())) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    return std::make_unique<InParts>(file.path.back() == '0' ? 9 : 7);
  }
  bool chunks_tell_records() const override { return true; }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    char* const out = rows->Append(0, n);
    for (size_t i = 0; i < n; ++i) std::memcpy(out + 8 * i, tickets[i].bytes, 8);
  }
};

// Two files in turn, of which one passes over records while records of the other are taken.
TEST(ResumedReadersTest, SharesOfChunksInPartsGoOnAnywhere) {
  const auto make = [] {
    std::vector<FileEntry> files;
    for (const char* path : {"memory:///parts-0", "memory:///parts-1"}) {
      MemoryFiles::Get().Write(path, "parts");
      files.push_back({path, "", BufferType::kMemory});
    }
    auto reader = std::make_unique<MultiFileReader>(std::make_unique<InPartsFormat>(),
                                                    std::move(files), MultiFileOptions());
    return std::make_unique<ShardReader>(std::move(reader), 3, 1, ShardBy::kChunk);
  };
  const std::vector<ElementValue> all = ReadAll(make().get());
  ASSERT_GT(all.size(), 8u);
  for (size_t read = 0; read <= all.size(); ++read) {
    const ReaderPtr reader = make();
    reader->Restore(SavedAfter(make, read));
    std::vector<ElementValue> stream(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(read));
    for (const ElementValue& element : ReadAll(reader.get())) stream.push_back(element);
    EXPECT_EQ(stream, all) << "after " << read;
  }
}

// ---- What elements are made of. ----

TEST(ResumedReadersTest, OnlyAStageThatMakesPartsMakesTwoElementsOfOne) {
  FilterReader reader(Numbers(20), [](const RecordId&, const auto&) { return true; });
  ElementNames names;
  names.count = 2;
  names.numbers = {0, 0, 1, 0};  // the second is made of the same element as the first
  names.below.resize(1);
  names.below[0].count = 1;
  names.below[0].records.resize(1);
  ExpectError(ErrorCode::kInvalidArgument, "make no sense",
              [&] { reader.PlanAgain(names, [](size_t, const Ticket&) {}); });
}

TEST(ResumedReadersTest, NumbersAreFoundAgainInAnyOrderOfPasses) {
  const RandomKey key(1, 2, "numbers");
  constexpr uint64_t kCount = 30;
  ElementNames names;
  std::vector<uint64_t> wanted;
  for (uint64_t i = 0; i < 200; ++i) {
    RecordId id;
    id.pass = i * 7 % 5;
    id.sample = i % kCount;
    names.records.push_back(id);
    wanted.push_back(Permutation(kCount, key, id.pass)[id.sample]);
  }
  names.count = names.records.size();
  EXPECT_EQ(NumbersAgain(names, kCount, key, "reader 'numbers'"), wanted);
  EXPECT_EQ(NumbersAgain(names, kCount, std::nullopt, "reader 'numbers'")[42], 12u);
  names.records[50].sample = kCount;
  ExpectError(ErrorCode::kInvalidArgument, "element 30 of the 30 of reader 'numbers'",
              [&] { NumbersAgain(names, kCount, key, "reader 'numbers'"); });
  names.count = 201;
  ExpectError(ErrorCode::kInvalidArgument, "201 elements of reader 'numbers', but 200 records",
              [&] { NumbersAgain(names, kCount, key, "reader 'numbers'"); });
}

// ---- Caches. ----

TEST(ResumedReadersTest, ACacheMayHaveLessMemoryThanBefore) {
  constexpr int64_t kRecords = 10;
  const auto ledger = std::make_shared<Ledger>(kRecords);
  const auto cached = [&](int64_t bytes) -> Make {
    return [=] { return std::make_unique<CacheReader>(Numbers(kRecords, ledger), bytes); };
  };
  const PoolSize none(0);
  const Position position = SavedAfter(cached(1000000), 3);
  const ReaderPtr reader = cached(10)();
  reader->Restore(position);
  ReadAll(reader.get());
  const int first = ledger->loads(0);
  const int last = ledger->loads(kRecords - 1);
  reader->ReInit();
  EXPECT_EQ(ReadAll(reader.get()).size(), static_cast<size_t>(kRecords));
  EXPECT_EQ(ledger->loads(0), first) << "what was kept stays";
  EXPECT_EQ(ledger->loads(kRecords - 1), last + 1) << "nothing more is kept";
}

// ---- Passes that could not begin. ----

TEST(ResumedReadersTest, APassThatCouldNotBeginBeginsAgain) {
  MixWeights weights = {0, 0};
  const Make make = [&] {
    MixOptions options;
    options.steps = {{0, {1, 1}}};
    options.changed_weights = [&] { return weights; };
    return std::make_unique<MixReader>(Two(), options, RandomKey(1, 2, "mixed"));
  };
  const ReaderPtr reader = make();
  for (int again = 0; again < 2; ++again) {
    ExpectError(ErrorCode::kInvalidArgument, "all weights are 0", [&] { reader->HasNext(); });
  }
  const Position position = Stored(reader->Save());
  const ReaderPtr still_wrong = make();
  still_wrong->Restore(position);
  ExpectError(ErrorCode::kInvalidArgument, "all weights are 0", [&] { still_wrong->HasNext(); });
  weights = {0, 1};
  const ReaderPtr mended = make();
  mended->Restore(position);
  EXPECT_EQ(ReadAll(mended.get()).size(), 20u) << "of the second reader alone";
  ExpectError(ErrorCode::kInvalidArgument, "all weights are 0", [&] { reader->HasNext(); });
}

// ---- Refusals of memory. ----

// A shard that pads keeps the first elements of the pass. Where memory for them is refused, it
// continues later, and so does another one from its position.
TEST(ResumedReadersTest, AShardThatWasRefusedMemoryCanBeSaved) {
  constexpr int64_t kShards = 300;
  constexpr int64_t kRecords = 451;
  const Make make = [&] {
    return std::make_unique<ShardReader>(Numbers(kRecords), kShards, kShards - 1, ShardBy::kRecord,
                                         ShardEven::kPad);
  };
  const std::vector<ElementValue> all = ReadAll(make().get());
  ASSERT_EQ(all.size(), 2u);
  const LimitInForce limit(size_t{64} << 20);
  int refused = 0;
  for (size_t room = 0; room < size_t{1} << 20; room += 512) {
    const ReaderPtr reader = make();
    reader->ExpectSave();
    try {
      const LittleRoomAhead little(room);
      const MemoryScope ahead(nullptr, MemoryScope::Need::kAhead);
      TicketRun run;
      reader->Plan(1, &run);
      break;
    } catch (const Error&) {
      ++refused;
    }
    const ReaderPtr next = make();
    next->Restore(Stored(reader->Save()));
    EXPECT_EQ(ReadAll(next.get()), all) << "with room for " << room << " bytes";
  }
  EXPECT_GT(refused, 1);
}

}  // namespace
}  // namespace millhopper
