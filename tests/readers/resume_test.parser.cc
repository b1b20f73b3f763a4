// SPDX-License-Identifier: Apache-2.0
// Positions of chains of readers of files: what they cost, and what happens to bad ones. That every
// reader can be resumed everywhere is in the contract of readers.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "framework/reader/reader_holder.h"
#include "proto/position.pb.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/decorate/take_reader.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/multi_file_reader.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/record_files.h"
#include "tests/readers/position_chain.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;

// Records of 8 bytes, each of which is its number, from `first` on.
std::string WriteFixed(const std::string& name, int64_t records, int64_t first = 0) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < records; ++i) numbers.push_back(first + i);
  std::string path = "memory:///" + name;
  MemoryFiles::Get().Write(
      path, std::string(reinterpret_cast<const char*>(numbers.data()), 8 * numbers.size()));
  return path;
}

std::vector<SlotSpec> NumberSlots(DataType dtype = DataType::kInt64) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = {1, dtype == DataType::kInt64 ? 1 : 2};
  return {slot};
}

// A chain of the readers of the quickstart.
struct Quickstart {
  std::vector<std::string> files = {WriteFixed("a.fixed", 300), WriteFixed("b.fixed", 200, 300)};
  std::string format = "fixed";
  DataType dtype = DataType::kInt64;
  size_t cycle_length = 16;
  int64_t window = 50;
  int64_t batch = 8;
  uint64_t seed = 1;
  bool twice = false;
  bool ahead = false;

  ReaderPtr Make() const {
    FormatArguments arguments;
    arguments.declared = NumberSlots(dtype);
    std::vector<FileEntry> entries;
    for (const std::string& file : files) entries.push_back({file, "", BufferType::kMemory});
    MultiFileOptions options;
    options.cycle_length = cycle_length;
    ReaderPtr reader = std::make_unique<MultiFileReader>(FindFileFormat(format)->Make(arguments),
                                                         std::move(entries), options);
    reader->set_origin("reader 'files' (open_files, a.pbtxt:1)", "open_files", "files");
    reader =
        std::make_unique<ShuffleReader>(std::move(reader), window, RandomKey(seed, 0, "shuffled"));
    reader->set_origin("reader 'shuffled' (create_shuffle_reader, a.pbtxt:2)",
                       "create_shuffle_reader", "shuffled");
    if (batch > 0) {
      reader = std::make_unique<BatchReader>(std::move(reader), batch, false, BatchMode::kConcat);
      reader->set_origin("reader 'batches' (create_batch_reader, a.pbtxt:3)", "create_batch_reader",
                         "batches");
    }
    if (twice) reader = std::make_unique<MultiPassReader>(std::move(reader), 2);
    if (ahead) reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 3);
    return reader;
  }
};

// The position after so many elements, stored.
std::string SavedAfter(const Quickstart& setup, size_t elements) {
  const ReaderPtr reader = setup.Make();
  reader->ExpectSave();
  ReadSome(reader.get(), elements);
  return reader->Save().Serialize();
}

void ExpectRefused(const Quickstart& setup, const std::string& position, const std::string& words) {
  ExpectError(ErrorCode::kInvalidArgument, words, [&] {
    const ReaderPtr reader = setup.Make();
    reader->Restore(Position::Parse(position));
  });
}

TEST(ResumeTest, PrintsWhatAPersonWantsToKnow) {
  const Quickstart setup;
  const std::string json = Position::Parse(SavedAfter(setup, 3)).ToJson();
  for (const char* words :
       {"\"kind\": \"open_files\"", "\"name\": \"files\"", "\"path\": \"memory:///a.fixed\"",
        "\"batch_size\": \"8\"", "\"buffer_size\": \"50\"", "\"window\"", "\"sample\": \"74\""}) {
    EXPECT_NE(json.find(words), std::string::npos) << words << "\n" << json;
  }
}

TEST(ResumeTest, PrintsTheSameTextEachTime) {
  const std::string position = SavedAfter(Quickstart(), 3);
  const std::string json = Position::Parse(position).ToJson();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Position::Parse(position).ToJson(), json);
}

TEST(ResumeTest, RefusesBytesThatAreNoPosition) {
  const std::string good = SavedAfter(Quickstart(), 5);
  ASSERT_NO_THROW(Position::Parse(good));
  for (size_t size = 0; size < good.size(); ++size) {
    SCOPED_TRACE(StrCat("only ", size, " bytes"));
    ExpectError(ErrorCode::kInvalidArgument, "this is no position",
                [&] { Position::Parse(good.substr(0, size)); });
  }
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    SCOPED_TRACE(StrCat("bit ", bit, " is flipped"));
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    ExpectError(ErrorCode::kInvalidArgument, "this is no position",
                [&] { Position::Parse(flipped); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "this is no position",
              [&] { Position::Parse(good + "x"); });
  ExpectError(ErrorCode::kInvalidArgument, "this is no position",
              [] { Position::Parse("{\"pass\": 3}"); });
}

std::string StoreBytes(const std::string& bytes, uint32_t version = 1) {
  position_proto::StoredPosition stored;
  stored.set_version(version);
  stored.set_chain(bytes);
  stored.set_checksum(static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size())));
  return stored.SerializeAsString();
}

std::string Store(const position_proto::ChainPosition& chain, uint32_t version = 1) {
  return StoreBytes(chain.SerializeAsString(), version);
}

position_proto::ChainPosition ChainOf(const std::string& position) {
  position_proto::StoredPosition stored;
  stored.ParseFromString(position);
  position_proto::ChainPosition chain;
  chain.ParseFromString(stored.chain());
  return chain;
}

TEST(ResumeTest, SaysWhichVersionItKnows) {
  const position_proto::ChainPosition chain = ChainOf(SavedAfter(Quickstart(), 5));
  EXPECT_NO_THROW(Position::Parse(Store(chain)));
  ExpectRefused(Quickstart(), Store(chain, 2), "its version is 2; this program knows version 1");
  position_proto::ChainPosition other = chain;
  other.set_order_version(kOrderVersion + 1);
  ExpectRefused(Quickstart(), Store(other), "saved with order version");
}

TEST(ResumeTest, SaysWhatDiffers) {
  const std::string saved = SavedAfter(Quickstart(), 5);
  Quickstart other;
  other.files.pop_back();
  ExpectRefused(other, saved, "open_files 'files': it was saved over 2 files, this chain has 1");
  other = Quickstart();
  std::swap(other.files[0], other.files[1]);
  ExpectRefused(other, saved, "file 0 was 'memory:///a.fixed', now it is 'memory:///b.fixed'");
  other = Quickstart();
  other.dtype = DataType::kFp32;
  ExpectRefused(other, saved, "slots was int64 [1, 1], now it is float32 [1, 2]");
  other = Quickstart();
  other.cycle_length = 1;
  ExpectRefused(other, saved, "cycle_length was 16, now it is 1");
  other = Quickstart();
  other.window = 49;
  ExpectRefused(other, saved, "create_shuffle_reader 'shuffled': buffer_size was 50, now it is 49");
  other = Quickstart();
  other.seed = 2;
  ExpectRefused(other, saved, "random_key was");
  other = Quickstart();
  other.batch = 0;
  ExpectRefused(other, saved,
                "saved by 3 readers (create_batch_reader 'batches', create_shuffle_reader "
                "'shuffled', open_files 'files'), here are 2");
  other = Quickstart();
  other.twice = true;
  ExpectRefused(other, saved, "saved by 3 readers");
  const Quickstart same;
  WriteFixed("a.fixed", 301);
  ExpectRefused(same, saved, "'memory:///a.fixed' had 2400 bytes, now it has 2408");
}

// The values of all elements that are left.
std::vector<int64_t> NumbersIn(ReaderBase* reader) {
  std::vector<int64_t> numbers;
  for (const ElementValue& element : ReadAll(reader)) {
    const auto* const values = reinterpret_cast<const int64_t*>(element[0].bytes.data());
    numbers.insert(numbers.end(), values, values + element[0].bytes.size() / sizeof(int64_t));
  }
  return numbers;
}

TEST(ResumeTest, CutsWhatIsLeftIntoBatchesOfItsOwnSize) {
  const std::string saved = SavedAfter(Quickstart(), 5);
  const std::vector<int64_t> all = NumbersIn(Quickstart().Make().get());
  for (const int64_t size : {1, 7, 8, 9, 100, 1000}) {
    Quickstart other;
    other.batch = size;
    for (const bool ahead : {false, true}) {
      const ReaderPtr reader = other.Make();
      reader->Restore(Position::Parse(saved));
      EXPECT_NO_THROW(other.Make()->Restore(reader->Save()));
      std::vector<LoDTensor> batch;
      reader->ReadNext(&batch);
      EXPECT_EQ(batch[0].dims()[0], std::min<int64_t>(size, 460));
      if (ahead) reader->HasNext();
      std::vector<int64_t> read(batch[0].data<int64_t>(),
                                batch[0].data<int64_t>() + batch[0].numel());
      const std::vector<int64_t> rest = NumbersIn(reader.get());
      read.insert(read.end(), rest.begin(), rest.end());
      EXPECT_EQ(read, std::vector<int64_t>(all.begin() + 40, all.end())) << size;
    }
  }
}

// A reader that counts batches, or has drawn some of them.
TEST(ResumeTest, SaysWhichReaderAboveNeedsTheSizeThatBatchesHad) {
  const auto make = [](int64_t size, bool shuffles) {
    Quickstart setup;
    setup.batch = size;
    ReaderPtr reader = setup.Make();
    if (shuffles) {
      reader = std::make_unique<ShuffleReader>(std::move(reader), 3, RandomKey(1, 0, "mixed"));
    } else {
      reader = std::make_unique<TakeReader>(std::move(reader), 9);
    }
    reader->set_origin("reader 'above'");
    return reader;
  };
  for (const bool shuffles : {false, true}) {
    const ReaderPtr reader = make(8, shuffles);
    reader->ExpectSave();
    ReadSome(reader.get(), 2);
    const Position saved = reader->Save();
    EXPECT_NO_THROW(make(8, shuffles)->Restore(saved));
    ExpectError(ErrorCode::kInvalidArgument,
                "create_batch_reader 'batches': batch_size was 8, now it is 9, and reader 'above', "
                "which stands above, can resume only as it was",
                [&] { make(9, shuffles)->Restore(saved); });
  }
}

TEST(ResumeTest, KnowsFilesWithAnyName) {
  Quickstart setup;
  setup.files = {WriteFixed("caf\xe9.fixed", 100)};
  const std::string saved = SavedAfter(setup, 3);
  const ReaderPtr reader = setup.Make();
  reader->Restore(Position::Parse(saved));
  EXPECT_EQ(ReadAll(reader.get()).size(), 10u);
  EXPECT_NE(Position::Parse(saved).ToJson().find("caf\\\\xe9.fixed"), std::string::npos);
  setup.files = {WriteFixed("caf\xe8.fixed", 100)};
  ExpectRefused(setup, saved, "caf\\xe9.fixed', now it is 'memory:///caf\\xe8.fixed'");
}

TEST(ResumeTest, IsCalledBeforeAnythingIsRead) {
  const std::string saved = SavedAfter(Quickstart(), 5);
  const ReaderPtr reader = Quickstart().Make();
  ReadSome(reader.get(), 1);
  ExpectError(ErrorCode::kInvalidArgument, "Restore must be called before that",
              [&] { reader->Restore(Position::Parse(saved)); });
  ExpectError(ErrorCode::kInvalidArgument, "ExpectSave must be called before that",
              [&] { reader->ExpectSave(); });
  EXPECT_EQ(ReadAll(reader.get()).size(), 62u);
}

TEST(ResumeTest, SaysThatAReaderWorksAheadAndWasNotTold) {
  Quickstart setup;
  setup.ahead = true;
  const ReaderPtr reader = setup.Make();
  ReadSome(reader.get(), 1);
  reader->HasNext();
  ExpectError(ErrorCode::kInvalidArgument, "ExpectSave must be called", [&] { reader->Save(); });
}

TEST(ResumeTest, KnowsThatAnotherReaderTakesPart) {
  ReaderHolder files;
  files.Reset(Quickstart().Make());
  const ReaderPtr first = std::make_unique<TakeReader>(files.NewHandle(), 3);
  const ReaderPtr second = files.NewHandle();
  ExpectError(ErrorCode::kInvalidArgument,
              "'batches' (create_batch_reader, a.pbtxt:3) is read by 2", [&] { first->Save(); });
}

// Finds a message in a position anew each time: a change of an entry of a map counts only if the
// entry is asked for after the position was last stored.
using FindMessage = std::function<google::protobuf::Message*()>;

// Every number of a position is replaced by other ones. Whatever that gives, it is one of our
// errors or a stream, and the process continues.
void Damage(const FindMessage& find, const std::function<void()>& check) {
  const google::protobuf::Reflection* const reflection = find()->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*find(), &fields);
  using Type = google::protobuf::FieldDescriptor;
  constexpr uint64_t kHostile[] = {0,         1, 7, 300, 1u << 20, UINT32_MAX, uint64_t{1} << 40,
                                   UINT64_MAX};
  for (const auto* field : fields) {
    const int size = field->is_repeated() ? reflection->FieldSize(*find(), field) : 1;
    if (field->cpp_type() == Type::CPPTYPE_MESSAGE) {
      for (int i = 0; i < size; ++i) {
        Damage(
            [&, i] {
              return field->is_repeated() ? reflection->MutableRepeatedMessage(find(), field, i)
                                          : reflection->MutableMessage(find(), field);
            },
            check);
      }
      if (!field->is_repeated()) continue;
      reflection->SwapElements(find(), field, 0, size - 1);
      check();
      reflection->SwapElements(find(), field, 0, size - 1);
      continue;
    }
    const auto change = [&](auto set, auto old) {
      for (const uint64_t value : kHostile) {
        set(static_cast<decltype(old)>(value));
        check();
      }
      set(old);
    };
    for (int i = 0; i < size; i += 1 + size / 3) {
      if (field->is_repeated()) {
        if (field->cpp_type() == Type::CPPTYPE_UINT64) {
          change([&](uint64_t v) { reflection->SetRepeatedUInt64(find(), field, i, v); },
                 reflection->GetRepeatedUInt64(*find(), field, i));
        } else if (field->cpp_type() == Type::CPPTYPE_INT64) {
          change([&](int64_t v) { reflection->SetRepeatedInt64(find(), field, i, v); },
                 reflection->GetRepeatedInt64(*find(), field, i));
        }
      } else if (field->cpp_type() == Type::CPPTYPE_UINT64) {
        change([&](uint64_t v) { reflection->SetUInt64(find(), field, v); },
               reflection->GetUInt64(*find(), field));
      } else if (field->cpp_type() == Type::CPPTYPE_UINT32) {
        change([&](uint32_t v) { reflection->SetUInt32(find(), field, v); },
               reflection->GetUInt32(*find(), field));
      } else if (field->cpp_type() == Type::CPPTYPE_BOOL) {
        change([&](bool v) { reflection->SetBool(find(), field, v); },
               reflection->GetBool(*find(), field));
      }
    }
  }
}

// What Damage does to the position of a chain after so many elements. One of the errors must have
// these words.
void SurviveDamage(const std::function<ReaderPtr()>& make, size_t elements,
                   const std::string& words) {
  const ReaderPtr saved = make();
  saved->ExpectSave();
  ReadSome(saved.get(), elements);
  position_proto::ChainPosition chain = ChainOf(saved->Save().Serialize());
  int refused = 0;
  int read = 0;
  bool said = false;
  Damage([&] { return &chain; },
         [&] {
           try {
             const ReaderPtr reader = make();
             reader->Restore(Position::Parse(Store(chain)));
             for (int i = 0; i < 200 && reader->HasNext(); ++i) ReadSome(reader.get(), 1);
             ++read;
           } catch (const Error& error) {
             ++refused;
             said = said || std::string(error.what()).find(words) != std::string::npos;
           }
         });
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 10);
  EXPECT_TRUE(said) << words;
}

TEST(ResumeTest, SurvivesHostileNumbers) {
  Quickstart setup;
  setup.twice = true;
  setup.ahead = true;
  setup.window = 12;
  SurviveDamage([&] { return setup.Make(); }, 70,
                "'cursor' is 18446744073709551615; it can be 1 at most");
}

TEST(ResumeTest, SurvivesHostileNumbersInEveryWayOfNamingElements) {
  SurviveDamage(MakePositionChain, 9,
                "'gathered_all' is 18446744073709551615; it can be 1 at most");
}

TEST(ResumeTest, TakesNoMemoryForElementsThatItDoesNotName) {
  position_proto::ChainPosition chain = ChainOf(SavedAfter(Quickstart(), 5));
  auto& window = (*chain.mutable_readers(1)->mutable_elements())["window"];
  ASSERT_EQ(window.count(), 50u);
  window.set_count(uint64_t{1} << 26);
  ExpectError(ErrorCode::kInvalidArgument, "it names 50 of 67108864 elements",
              [&] { Position::Parse(Store(chain)); });
}

// A group is a form of message that positions do not have. What is after one would not be counted.
TEST(ResumeTest, RefusesGroups) {
  const std::string good = ChainOf(SavedAfter(Quickstart(), 5)).SerializeAsString();
  ASSERT_NO_THROW(Position::Parse(StoreBytes(good)));
  const std::string begin = "\xa3\x06";  // of group 100
  const std::string end = "\xa4\x06";
  for (const std::string& bytes :
       {StrCat(begin, end, good), StrCat(good, begin, end), StrCat(good, end)}) {
    ExpectError(ErrorCode::kInvalidArgument, "its form is not that of a position",
                [&] { Position::Parse(StoreBytes(bytes)); });
  }
}

// Numbers in chunks of five records, whose bytes have checksums.
std::string RecordioOf(int64_t records) {
  std::string bytes;
  std::vector<std::string> chunk;
  for (int64_t i = 0; i < records; ++i) {
    chunk.push_back(RecordOf({MakeTensor<int64_t>({1, 1}, {i})}));
    if (chunk.size() < 5 && i + 1 < records) continue;
    bytes += ChunkOf(chunk);
    chunk.clear();
  }
  return bytes;
}

TEST(ResumeTest, SaysThatAFileWasDamagedSince) {
  Quickstart setup;
  setup.format = "recordio";
  setup.files = {"memory:///damaged.recordio"};
  setup.window = 12;
  setup.batch = 0;
  const std::string good = RecordioOf(60);
  MemoryFiles::Get().Write(setup.files[0], good);
  position_proto::ChainPosition chain = ChainOf(SavedAfter(setup, 20));
  const std::string in_window = Store(chain);
  auto& elements = *chain.mutable_readers(0)->mutable_elements();
  elements["drawn"] = elements.at("window");
  elements.erase("window");
  const std::string drawn = Store(chain);
  for (const std::string& position : {in_window, drawn}) {
    int lost = 0;
    for (size_t at = 30; at < good.size(); at += 50) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      MemoryFiles::Get().Write(setup.files[0], damaged);
      const ReaderPtr reader = setup.Make();
      try {
        reader->Restore(Position::Parse(position));
      } catch (const Error& error) {  // not of a chunk that no element of the window is in
        EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
        ++lost;
      }
    }
    EXPECT_GT(lost, 3);
  }
  MemoryFiles::Get().Write(setup.files[0], good);
  const ReaderPtr reader = setup.Make();
  reader->Restore(Position::Parse(in_window));
  EXPECT_EQ(ReadAll(reader.get()).size(), 40u);
}

TEST(ResumeTest, TakesFewBytesARecord) {
  constexpr int64_t kWindow = 10000;
  Quickstart setup;
  setup.window = kWindow;
  setup.batch = 0;
  setup.files.clear();
  for (int i = 0; i < 20; ++i) {
    setup.files.push_back(WriteFixed(StrCat("many-", i, ".fixed"), 5000, int64_t{5000} * i));
  }
  for (const size_t read : {size_t{0}, size_t{1}, size_t{30000}, size_t{95000}}) {
    const std::string saved = SavedAfter(setup, read);
    RecordProperty(StrCat("bytes_after_", read), static_cast<int>(saved.size()));
    EXPECT_LE(saved.size(), 12 * kWindow) << "after " << read;
  }
  setup.window = 1;
  EXPECT_LE(SavedAfter(setup, 30000).size(), 10u << 10) << "without a window";
}

// What is fetched again does not depend on the distance from the beginning.
TEST(ResumeTest, FetchesWhatWasInFlightAndNothingElse) {
  constexpr int64_t kRecords = 4000000;  // 32 MB, in chunks of 1 MB at most
  Quickstart setup;
  setup.files = {WriteFixed("long.fixed", kRecords)};
  setup.window = 100;
  const auto bytes_to_go_on = [&](size_t read) {
    const std::string saved = SavedAfter(setup, read);
    const uint64_t before = MemoryFiles::Get().bytes_read();
    const ReaderPtr reader = setup.Make();
    reader->Restore(Position::Parse(saved));
    ReadSome(reader.get(), 1);
    return MemoryFiles::Get().bytes_read() - before;
  };
  const PoolSize none(0);
  EXPECT_LE(bytes_to_go_on(100), 3u << 20);
  EXPECT_LE(bytes_to_go_on(kRecords / 8 - 200), 3u << 20);
  MemoryFiles::Get().Remove(setup.files[0]);
}

}  // namespace
}  // namespace millhopper
