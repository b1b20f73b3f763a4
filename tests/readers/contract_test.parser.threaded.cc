// SPDX-License-Identifier: Apache-2.0
// Tests every reader against the contract of readers, alone and in chains.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/plugin.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/cache/cache_reader.h"
#include "readers/cache/disk_cache_reader.h"
#include "readers/combine/concat_reader.h"
#include "readers/combine/mix_reader.h"
#include "readers/combine/zip_reader.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/fake_reader.h"
#include "readers/decorate/filter_reader.h"
#include "readers/decorate/map_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/resample_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/decorate/skip_reader.h"
#include "readers/decorate/split_reader.h"
#include "readers/decorate/take_reader.h"
#include "readers/decorate/unbatch_reader.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/gather/bucket_reader.h"
#include "readers/gather/dedupe_reader.h"
#include "readers/gather/pack_reader.h"
#include "readers/gather/padded_batch_reader.h"
#include "readers/gather/partners_reader.h"
#include "readers/gather/token_batch_reader.h"
#include "readers/gather/window_reader.h"
#include "readers/sources/multi_file_reader.h"
#include "readers/sources/plugin_reader.h"
#include "readers/sources/queue_reader.h"
#include "readers/sources/random_chunks_reader.h"
#include "readers/sources/random_data_reader.h"
#include "readers/sources/random_order_reader.h"
#include "tests/bytes.h"
#include "tests/child.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/files/field_files.h"
#include "tests/files/index_files.h"
#include "tests/files/mds_shards.h"
#include "tests/files/mxnet_records.h"
#include "tests/files/npy_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"
#include "tests/readers/faulty_files_contract.h"
#include "tests/readers/reader_contract.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;
using Decorator = std::function<ReaderPtr(ReaderPtr)>;

std::vector<int64_t> Numbers(int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

// ---- Decorators. ----

Decorator Shuffle(int64_t window) {
  return [window](ReaderPtr reader) {
    return std::make_unique<ShuffleReader>(std::move(reader), window, RandomKey(1, 2, "shuffled"));
  };
}

Decorator Batch(int64_t size, BatchMode mode = BatchMode::kConcat) {
  return [size, mode](ReaderPtr reader) {
    return std::make_unique<BatchReader>(std::move(reader), size, false, mode);
  };
}

Decorator MultiPass(int64_t passes) {
  return [passes](ReaderPtr reader) {
    return std::make_unique<MultiPassReader>(std::move(reader), passes);
  };
}

Decorator Shard(int64_t shards, int64_t index, ShardEven even = ShardEven::kNone) {
  return [=](ReaderPtr reader) {
    return std::make_unique<ShardReader>(std::move(reader), shards, index, ShardBy::kRecord, even);
  };
}

// 3 is left out and 5 comes twice.
Decorator Resample() {
  return [](ReaderPtr reader) {
    return std::make_unique<ResampleReader>(std::move(reader),
                                            ElementWeights::OfClasses(0, {"3", "5"}, {0, 2}, 1),
                                            RandomKey(1, 2, "resampled"));
  };
}
std::vector<int64_t> ResampledNumbers() {
  std::vector<int64_t> numbers = Numbers(kRecords);
  numbers[3] = 5;
  return numbers;
}

Decorator ShardByChunk(int64_t shards, int64_t index) {
  return [shards, index](ReaderPtr reader) {
    return std::make_unique<ShardReader>(std::move(reader), shards, index, ShardBy::kChunk);
  };
}

Decorator DoubleBuffer(int64_t depth) {
  return [depth](ReaderPtr reader) {
    return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), depth);
  };
}

Decorator ToDevice(int64_t depth) {
  return [depth](ReaderPtr reader) {
    return std::make_unique<DoubleBufferReader>(std::move(reader), Place(FakeDevice::Get()), depth);
  };
}

// Every element becomes itself, through the function of a custom reader.
Decorator Map() {
  return [](ReaderPtr reader) {
    const std::vector<SlotSpec> slots = reader->slots();
    return std::make_unique<MapReader>(
        std::move(reader), slots,
        [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
          std::swap(*in, *out);
        });
  };
}

// Keeps the elements that have a number of this remainder, or none at all.
Decorator Filter(int64_t divisor, int64_t remainder) {
  return [divisor, remainder](ReaderPtr reader) {
    return std::make_unique<FilterReader>(
        std::move(reader), [divisor, remainder](const RecordId& id, const auto& element) {
          return element[0].numel() == 0 || static_cast<int64_t>(id.sample) % divisor == remainder;
        });
  };
}

Decorator Unbatch(BatchMode mode = BatchMode::kConcat) {
  return
      [mode](ReaderPtr reader) { return std::make_unique<UnbatchReader>(std::move(reader), mode); };
}

Decorator Take(int64_t count) {
  return
      [count](ReaderPtr reader) { return std::make_unique<TakeReader>(std::move(reader), count); };
}

Decorator Skip(int64_t count) {
  return
      [count](ReaderPtr reader) { return std::make_unique<SkipReader>(std::move(reader), count); };
}

const PartOfKeys kPart({0.8, 0.2}, 0, 1);

Decorator Split() {
  return [](ReaderPtr reader) { return std::make_unique<SplitReader>(std::move(reader), kPart); };
}

Decorator Fake(int64_t count) {
  return
      [count](ReaderPtr reader) { return std::make_unique<FakeReader>(std::move(reader), count); };
}

Decorator Pack(int64_t length, PackMethod method) {
  return [length, method](ReaderPtr reader) {
    PackOptions options;
    options.length = length;
    options.method = method;
    options.bins = 3;
    options.overlong = Overlong::kSplit;
    return std::make_unique<PackReader>(std::move(reader), options);
  };
}

Decorator Bucket(int64_t boundary, int64_t size) {
  return [boundary, size](ReaderPtr reader) {
    BucketOptions options;
    options.boundaries = {boundary};
    options.batch_sizes = {size};
    return std::make_unique<BucketReader>(std::move(reader), options);
  };
}

Decorator PaddedBatch(int64_t size) {
  return [size](ReaderPtr reader) {
    CollationOptions padding;
    padding.pad = padding.lengths = true;
    return std::make_unique<PaddedBatchReader>(std::move(reader), size, false, padding);
  };
}

Decorator TokenBatch(int64_t tokens) {
  return [tokens](ReaderPtr reader) {
    TokenBatchOptions options;
    options.max_tokens = tokens;
    return std::make_unique<TokenBatchReader>(std::move(reader), options);
  };
}

Decorator Slide(int64_t size, int64_t shift) {
  return [size, shift](ReaderPtr reader) {
    WindowOptions options;
    options.size = size;
    options.shift = shift;
    return std::make_unique<WindowReader>(std::move(reader), options);
  };
}

Decorator Partners(int64_t count, int64_t window) {
  return [count, window](ReaderPtr reader) {
    PartnersOptions options;
    options.count = count;
    options.window = window;
    options.slots = {0};
    return std::make_unique<PartnersReader>(std::move(reader), options,
                                            RandomKey(1, 2, "partners"));
  };
}

Decorator Dedupe(int64_t entries) {
  return [entries](ReaderPtr reader) {
    return std::make_unique<DedupeReader>(std::move(reader), std::vector<int64_t>(), entries);
  };
}

Decorator Cache(int64_t bytes) {
  return
      [bytes](ReaderPtr reader) { return std::make_unique<CacheReader>(std::move(reader), bytes); };
}

// Each reader has its own folder: the first pass fills it, and later ones read it.
Decorator DiskCache() {
  return [](ReaderPtr reader) {
    DiskCacheOptions options;
    options.directory = TempName("cache");
    options.directory_bytes = int64_t{1} << 30;
    options.describe = [] { return "elements of this reader"; };
    return std::make_unique<DiskCacheReader>(std::move(reader), std::move(options));
  };
}

Decorator Handle() {
  return [](ReaderPtr reader) {
    ReaderHolder holder;
    holder.Reset(std::move(reader));
    return holder.NewHandle();
  };
}

// ---- Sources. ----

ReaderPtr Planned(Fault fault) { return MakePlannedSource(SourceWith(fault, false, 0)); }
ReaderPtr Ragged(Fault fault) { return MakePlannedSource(SourceWith(fault, true, 0)); }
ReaderPtr Jittering(Fault fault) { return MakePlannedSource(SourceWith(fault, false, 3)); }
ReaderPtr Sequential(Fault fault) { return MakeSequentialSource(SourceWith(fault, false, 0)); }
ReaderPtr RaggedSequential(Fault fault) { return MakeSequentialSource(SourceWith(fault, true, 0)); }

// A queue together with a thread that fills it, which starts when a pass is first read. It makes a
// pass from the beginning wherever the reader resumes.
class FedQueue final : public DecoratedReader {
 public:
  using Queue = std::shared_ptr<ElementQueue>;

  FedQueue(const Queue& queue, int64_t fails)
      : DecoratedReader(std::make_unique<QueueReader>(queue, SlotsOf(SourceSpec()))),
        queue_(queue),
        fails_(fails) {}
  ~FedQueue() override { Leave(); }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    Start();
    DecoratedReader::PlanNext(n, run);
  }
  void Rewind(uint64_t pass) override {
    Leave();
    DecoratedReader::Rewind(pass);
  }
  void SaveState(ReaderState* /*state*/) const override {}
  void RestoreState(const ReaderState& /*state*/) override {}
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    if (names.count > 0) Start();
    DecoratedReader::PlanAgain(names, take);
  }
  void Start() {
    if (provider_.joinable()) return;
    provider_ = std::thread([this, generation = queue_->Attach()] {
      std::optional<uint64_t> pass = generation;
      while (pass) {
        Provide(*pass);
        pass = queue_->AwaitNext(std::chrono::minutes(1), *pass);
      }
    });
  }
  void Provide(uint64_t generation) {
    for (int64_t i = 0; i < kRecords; ++i) {
      if (i == fails_) {
        queue_->Fail(generation, Error(ErrorCode::kDataLoss, StrCat("record ", i, " is bad")));
        return;
      }
      Dawdle(5, static_cast<uint64_t>(i));
      if (!queue_->Push(generation, {MakeTensor<int64_t>({1, 1}, {i})})) return;
    }
    queue_->Close(generation);
  }
  void Leave() {
    queue_->Detach();
    if (provider_.joinable()) provider_.join();
    provider_ = std::thread();
  }

  const Queue queue_;
  const int64_t fails_;
  std::thread provider_;
};

ReaderPtr Fed(Fault fault) {
  return std::make_unique<FedQueue>(std::make_shared<ElementQueue>(3),
                                    fault == Fault::kPlan ? kFaulty : -1);
}

std::vector<int64_t> RaggedValuesUpTo(int64_t records) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < records; ++i) values.insert(values.end(), i % 4, i);
  return values;
}
std::vector<int64_t> RaggedValues() { return RaggedValuesUpTo(kRecords); }

// ---- Combined readers. ----

Readers Of(ReaderPtr first, ReaderPtr second, ReaderPtr third = nullptr) {
  Readers readers;
  readers.push_back(std::move(first));
  readers.push_back(std::move(second));
  if (third != nullptr) readers.push_back(std::move(third));
  return readers;
}

// The numbers up to 7, those of a faulty source, and again those up to 5.
ReaderPtr Concatenated(Fault fault) {
  return std::make_unique<ConcatReader>(
      Of(Take(7)(Planned(Fault::kNone)), Jittering(fault), Take(5)(Sequential(Fault::kNone))));
}

ReaderPtr ConcatenatedPlanned(Fault fault) {
  return std::make_unique<ConcatReader>(
      Of(Take(7)(Planned(Fault::kNone)), Jittering(fault), Take(5)(Planned(Fault::kNone))));
}

ReaderPtr ConcatenatedRagged(Fault fault) {
  return std::make_unique<ConcatReader>(
      Of(Ragged(fault), Take(0)(Ragged(Fault::kNone)), RaggedSequential(Fault::kNone)));
}

// Two readers on one source: the second yields what the first leaves.
ReaderPtr ConcatenatedOnOne(Fault fault) {
  ReaderHolder holder;
  holder.Reset(Planned(fault));
  return std::make_unique<ConcatReader>(Of(Take(7)(holder.NewHandle()), holder.NewHandle()));
}

ReaderPtr Zipped(Fault fault) {
  return std::make_unique<ZipReader>(
      Of(Jittering(Fault::kNone), Shuffle(7)(Ragged(Fault::kNone)), Planned(fault)), true);
}

ReaderPtr ZippedToTheShortest(Fault fault) {
  return std::make_unique<ZipReader>(
      Of(Sequential(fault == Fault::kPlan ? fault : Fault::kNone), Take(40)(Planned(fault))),
      false);
}

// Elements of a source by weight 1, and of a faulty one by weight 2: element k of this is in the
// three from 3 * (k / 2) on, and where k is even the first of them. So an error of the faulty
// element, 20, comes after 30, and the end after 75.
ReaderPtr Mixed(Fault fault, int64_t records, MixOptions options) {
  return std::make_unique<MixReader>(Of(Take(records)(Jittering(Fault::kNone)), Planned(fault)),
                                     std::move(options), RandomKey(1, 2, "mixed"));
}
MixOptions OneToTwo(MixEnd end) {
  MixOptions options;
  options.steps = {{0, {1, 2}}};
  options.end = end;
  return options;
}
ReaderPtr MixedToTheFirstEnd(Fault fault) { return Mixed(fault, 40, OneToTwo(MixEnd::kStop)); }
ReaderPtr MixedToTheLastEnd(Fault fault) { return Mixed(fault, 40, OneToTwo(MixEnd::kContinue)); }
ReaderPtr MixedAgain(Fault fault) { return Mixed(fault, 24, OneToTwo(MixEnd::kRepeat)); }
// All elements have 8 bytes, so that lengths are numbers of elements; but each three begin with one
// of the first source.
ReaderPtr MixedByBytes(Fault fault) {
  MixOptions options = OneToTwo(MixEnd::kContinue);
  options.measure.emplace();
  return Mixed(fault, 40, options);
}
// As many of each, then the faulty source alone: its element 20 comes after 15, 15 and 5.
ReaderPtr MixedInSteps(Fault fault) {
  MixOptions options;
  options.steps = {{0, {1, 1}}, {30, {0, 1}}, {45, {1, 3}}};
  options.end = MixEnd::kContinue;
  return Mixed(fault, 40, options);
}
// Turns of its own for each of three that get two elements each in turn.
ReaderPtr MixedForRanks(Fault fault) {
  MixOptions options;
  options.steps = {{0, {1, 1}}};
  options.end = MixEnd::kContinue;
  ReaderPtr mixed = Mixed(fault, 40, options);
  mixed->ExpectRanks(3, 2);
  return mixed;
}

ReaderPtr RandomData(Fault) {
  SlotSpec image;
  image.dims = {1, 3, 5};
  SlotSpec label;
  label.dims = {2};
  return std::make_unique<RandomDataReader>(std::vector<SlotSpec>{image, label}, -1, 1, 37,
                                            RandomKey(1, 2, "random"));
}

// ---- Files, which are written when they are first needed and removed at the end. ----

enum class Where { kDisk, kMemory, kMapped };

// The file, or a copy of it in memory.
std::string At(Where where, const std::string& path) {
  if (where != Where::kMemory) return path;
  static auto* const copied = new std::set<std::string>;
  std::string copy = "memory:/" + path;
  if (copied->insert(copy).second) MemoryFiles::Get().Write(copy, ReadFile(path));
  return copy;
}

FileEntry EntryAt(Where where, const std::string& path) {
  return {At(where, path), "", where == Where::kMapped ? BufferType::kMmap : BufferType::kMemory};
}

std::string SerialisedNumber(int64_t number) {
  std::string record(4, '\0');
  record[0] = 1;
  AppendTensor(MakeTensor<int64_t>({1, 1}, {number}), &record);
  return record;
}

// The records first, first + step, ... in a RecordIO file of small chunks; the record that is
// faulty cannot be parsed, or the chunk that begins with it has a wrong checksum.
std::string RecordIOContent(Fault fault, int64_t first = 0, int64_t step = 1,
                            RecordIOCompressor compressor = RecordIOCompressor::kSnappy) {
  const std::string path = TempName("contract.recordio");
  RecordIOOptions options;
  options.compressor = compressor;
  options.chunk_records = 5;
  uint64_t damaged = 0;
  {
    RecordIOWriter writer(path, options);
    for (int64_t i = first; i < kRecords; i += step) {
      const bool faulty = i == kFaulty && fault == Fault::kLoad;
      writer.Write(faulty ? "no tensor" : SerialisedNumber(i));
      if (i == kFaulty) damaged = writer.bytes() + kRecordIOHeaderBytes;
    }
    writer.Close();
  }
  std::string content = ReadFile(path);
  std::remove(path.c_str());
  if (damaged != 0 && fault == Fault::kPlan) content[damaged] ^= 1;
  return content;
}

const std::string& RecordIOPath(Fault fault) {
  static const TempFile files[] = {{"good.recordio", RecordIOContent(Fault::kNone)},
                                   {"plan.recordio", RecordIOContent(Fault::kPlan)},
                                   {"load.recordio", RecordIOContent(Fault::kLoad)}};
  return files[static_cast<int>(fault)].path();
}

const std::string& PlainRecordIOPath(Fault fault) {
  const auto content = [](Fault of) {
    return RecordIOContent(of, 0, 1, RecordIOCompressor::kNone);
  };
  static const TempFile files[] = {{"good.recordio", content(Fault::kNone)},
                                   {"plan.recordio", content(Fault::kPlan)},
                                   {"load.recordio", content(Fault::kLoad)}};
  return files[static_cast<int>(fault)].path();
}

// Shard 0 of 4 has the faulty record.
const std::string& ShardPath(Fault fault, int shard) {
  static const TempFile good[] = {{"0.recordio", RecordIOContent(Fault::kNone, 0, 4)},
                                  {"1.recordio", RecordIOContent(Fault::kNone, 1, 4)},
                                  {"2.recordio", RecordIOContent(Fault::kNone, 2, 4)},
                                  {"3.recordio", RecordIOContent(Fault::kNone, 3, 4)}};
  static const TempFile bad[] = {{"plan.recordio", RecordIOContent(Fault::kPlan, 0, 4)},
                                 {"load.recordio", RecordIOContent(Fault::kLoad, 0, 4)}};
  if (shard > 0 || fault == Fault::kNone) return good[shard].path();
  return bad[fault == Fault::kPlan ? 0 : 1].path();
}

std::string FixedContent(int64_t records) {
  const std::vector<int64_t> numbers = Numbers(records);
  return std::string(reinterpret_cast<const char*>(numbers.data()), 8 * numbers.size());
}

const std::string& FixedPath(Fault fault) {
  static const TempFile good("good.bin", FixedContent(kRecords));
  static const TempFile cut("cut.bin", FixedContent(kFaulty) + "cut");
  return fault == Fault::kNone ? good.path() : cut.path();
}

const std::string& IdxPath() {
  static const std::string header("\0\0\x08\x02\0\0\0\x20\0\0\0\x03", 12);
  static const TempFile file("digits-idx2-ubyte", header + std::string(size_t{32} * 3, 'x'));
  return file.path();
}

const std::string& TextPath() {
  static const TempFile file("lines.txt",
                             "one\n\nthree three\r\n" + std::string(500, 'x') + "\nlast");
  return file.path();
}

// The numbers as an array, in a file that ends within the faulty record.
const std::string& NpyPath(Fault fault) {
  static const std::string whole =
      Npy("<i8", StrCat("(", kRecords, ", 1)"), FixedContent(kRecords));
  static const TempFile good("good.npy", whole);
  static const TempFile cut("cut.npy", whole.substr(0, 128 + 8 * kFaulty + 3));
  return fault == Fault::kNone ? good.path() : cut.path();
}

// Stored and deflated members.
const std::string& NpzPath(bool deflated) {
  static const std::string numbers =
      Npy("<i8", StrCat("(", kRecords, ", 1)"), FixedContent(kRecords), true);
  static const TempFile stored("stored.npz", Zip({{"numbers.npy", numbers}}));
  static const TempFile packed("deflated.npz", Zip({{"numbers.npy", numbers, true}}));
  return deflated ? packed.path() : stored.path();
}

// Records that say their number, in a file whose faulty record has a wrong checksum.
const std::string& TFRecordPath(Fault fault) {
  const auto content = [](Fault of) {
    std::vector<std::string> records;
    for (int64_t i = 0; i < kRecords; ++i) records.push_back(std::to_string(i));
    if (of == Fault::kNone) return TFRecords(records);
    const std::vector<std::string> good(records.begin(), records.begin() + kFaulty);
    return FlipBit(TFRecords(records), 8 * (TFRecords(good).size() + 12));
  };
  static const TempFile files[] = {{"good.tfrecord", content(Fault::kNone)},
                                   {"bad.tfrecord", content(Fault::kPlan)}};
  return files[fault == Fault::kNone ? 0 : 1].path();
}

const std::string& TFRecordIndexPath() {
  static const TempFile file("good.index", [] {
    std::vector<std::string> records;
    for (int64_t i = 0; i < kRecords; ++i) records.push_back(std::to_string(i));
    return TFRecordIndex(records);
  }());
  return file.path();
}

// Images whose label is their number. In the faulty file a record has no header of an image, or
// is said to be longer than the file.
std::string MxnetContent(Fault fault) {
  std::string content;
  for (int64_t i = 0; i < kRecords; ++i) {
    const std::string image = MxnetImage({static_cast<float>(i)}, 0, LittleEndian(kMxnetMagic));
    const bool faulty = i == kFaulty;
    std::string record = MxnetRecord(faulty && fault == Fault::kLoad ? "short" : image);
    if (faulty && fault == Fault::kPlan) record.replace(4, 4, LittleEndian(uint32_t{1} << 28));
    content += record;
  }
  return content;
}
const std::string& MxnetPath(Fault fault) {
  static const TempFile files[] = {{"good.rec", MxnetContent(Fault::kNone)},
                                   {"plan.rec", MxnetContent(Fault::kPlan)},
                                   {"load.rec", MxnetContent(Fault::kLoad)}};
  return files[static_cast<int>(fault)].path();
}
const std::string& MxnetIndexPath(Fault fault) {
  const auto content = [](bool has_short) {
    std::vector<std::string> records;
    for (int64_t i = 0; i < kRecords; ++i) {
      const bool is_short = has_short && i == kFaulty;
      records.push_back(is_short ? "short" : MxnetImage({0}, 0, LittleEndian(kMxnetMagic)));
    }
    return MxnetIndex(records);
  };
  static const TempFile whole("whole.idx", content(false)), other("short.idx", content(true));
  return fault == Fault::kLoad ? other.path() : whole.path();
}

// Samples that say their number, in plain or compressed shards of 20 beside their index. The faulty
// one begins the second shard: it is too short, or the shard has another size than its index says.
class MdsFolder {
 public:
  MdsFolder(Fault fault, bool compressed) : folder_(TempName("mds")) {
    const MdsTestColumns columns = {{"n", "int", 8}, {"text", "str", 0}};
    std::filesystem::create_directories(folder_);
    std::vector<std::string> entries;
    for (int64_t first = 0; first < kRecords; first += kFaulty) {
      std::vector<std::string> samples;
      for (int64_t i = first; i < std::min(first + kFaulty, kRecords); ++i) {
        const bool faulty = i == kFaulty && fault == Fault::kLoad;
        samples.push_back(faulty ? "x" : MdsSample(columns, {LittleEndian(i), "text"}));
      }
      const std::string shard = MdsShardOf(samples);
      const std::string stored = compressed ? Zstd(shard) : shard;
      const std::string name = StrCat(first, ".mds");
      paths_.push_back(StrCat(folder_, "/", name, compressed ? ".zstd" : ""));
      WriteFile(paths_.back(), stored);
      const bool faulty = first == kFaulty && fault == Fault::kPlan;
      entries.push_back(MdsEntry(columns, name, shard.size() + (faulty ? 1 : 0), samples.size(),
                                 "zstd", compressed ? stored.size() : 0));
    }
    paths_.push_back(folder_ + "/index.json");
    WriteFile(paths_.back(), MdsIndexOf(entries));
  }
  ~MdsFolder() { std::filesystem::remove_all(folder_); }
  MdsFolder(const MdsFolder&) = delete;
  MdsFolder& operator=(const MdsFolder&) = delete;

  // The last one is the index.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  const std::string folder_;
  std::vector<std::string> paths_;
};
const std::vector<std::string>& MdsPathsOf(Fault fault, bool compressed) {
  static const MdsFolder plain[] = {
      {Fault::kNone, false}, {Fault::kPlan, false}, {Fault::kLoad, false}};
  static const MdsFolder packed[] = {
      {Fault::kNone, true}, {Fault::kPlan, true}, {Fault::kLoad, true}};
  return (compressed ? packed : plain)[static_cast<int>(fault)].paths();
}

// More images than a chunk has. The faulty one, which is empty, lies in the second chunk.
constexpr int64_t kImages = 70;
constexpr int64_t kFaultyImage = 66;

std::string ImageContent(int64_t i) { return StrCat("\xff\xd8\xff\xe0", i); }

std::vector<std::string> ImagePaths(const std::string& folder) {
  std::vector<std::string> paths;
  for (int64_t i = 0; i < kImages; ++i) {
    paths.push_back(StrCat(folder, "/class", i / 10, "/", i % 10, ".jpg"));
  }
  return paths;
}

// A folder of images, and a list of them and COCO's JSON of them beside it, which are removed at
// the end.
class Images {
 public:
  explicit Images(Fault fault) : folder_(TempName("images")) {
    std::string list, images, annotations;
    int64_t i = 0;
    for (const std::string& path : ImagePaths(folder_)) {
      const std::string name = path.substr(folder_.size() + 1);
      images += StrCat(i == 0 ? "" : ",", "{\"id\":", i, ",\"file_name\":\"", name,
                       "\",\"height\":4,\"width\":5}");
      annotations += StrCat(i == 0 ? "" : ",", "{\"id\":", i, ",\"image_id\":", i / 2,
                            ",\"category_id\":1,\"bbox\":[0,0,1,", i, "]}");
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      const bool faulty = fault == Fault::kPlan && i == kFaultyImage;
      WriteFile(path, faulty ? "" : ImageContent(i));
      list += StrCat(name, " ", i++, "\n");
    }
    WriteFile(folder_ + "/list", list);
    WriteFile(folder_ + "/coco",
              StrCat("{\"images\":[", images, "],\"annotations\":[", annotations, "]}"));
  }
  ~Images() { std::filesystem::remove_all(folder_); }
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  const std::string folder_;
};

const std::string& ImageFolderPath(Fault fault) {
  static const Images good(Fault::kNone), bad(Fault::kPlan);
  return fault == Fault::kNone ? good.folder() : bad.folder();
}

// The folder, where its files are also in memory if they must be.
std::string ImageFolderAt(Fault fault, Where where) {
  At(where, ImageFolderPath(fault) + "/coco");
  std::string list = At(where, ImageFolderPath(fault) + "/list");
  for (const std::string& path : ImagePaths(ImageFolderPath(fault))) At(where, path);
  return list.substr(0, list.rfind('/'));
}

// The images and masks of a set of VOC's form.
std::vector<std::string> VocPathsIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (int64_t i = 0; i < kImages; ++i) {
    paths.push_back(StrCat(folder, "/JPEGImages/", i, ".jpg"));
    paths.push_back(StrCat(folder, "/SegmentationClass/", i, ".png"));
  }
  return paths;
}

// Such a set, which is removed at the end. A mask of the faulty one is empty.
class VocSet {
 public:
  explicit VocSet(Fault fault) : folder_(TempName("voc")) {
    for (const char* const name :
         {"/JPEGImages", "/SegmentationClass", "/Annotations", "/ImageSets/Main"}) {
      std::filesystem::create_directories(folder_ + name);
    }
    const std::vector<std::string> paths = VocPathsIn(folder_);
    std::string list;
    for (size_t i = 0; i < paths.size() / 2; ++i) {
      const bool faulty = fault == Fault::kPlan && i == kFaultyImage;
      WriteFile(paths[2 * i], ImageContent(static_cast<int64_t>(i)));
      WriteFile(paths[2 * i + 1], faulty ? "" : StrCat("mask ", i));
      WriteFile(annotations(i),
                StrCat("<annotation><object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin>",
                       "<xmax>9</xmax><ymax>", i + 1, "</ymax></bndbox></object></annotation>"));
      list += StrCat(i, "\n");
    }
    WriteFile(this->list(), list);
  }
  ~VocSet() { std::filesystem::remove_all(folder_); }
  VocSet(const VocSet&) = delete;
  VocSet& operator=(const VocSet&) = delete;

  const std::string& folder() const { return folder_; }
  std::string list() const { return folder_ + "/ImageSets/Main/all.txt"; }
  std::string annotations(size_t i) const { return StrCat(folder_, "/Annotations/", i, ".xml"); }

 private:
  const std::string folder_;
};

const VocSet& VocSetOf(Fault fault) {
  static const VocSet good(Fault::kNone), bad(Fault::kPlan);
  return fault == Fault::kNone ? good : bad;
}

// A file with the fields of field_files.h, which is removed at the end with what belongs to it.
class FieldFile {
 public:
  explicit FieldFile(const FieldFormat& format) : folder_(TempName(format.tag)) {
    constexpr int64_t kChunkRecords = 8;
    std::filesystem::create_directories(folder_);
    WriteFieldFile(format, path(), 0, kRecords, kChunkRecords);
  }
  ~FieldFile() { std::filesystem::remove_all(folder_); }
  FieldFile(const FieldFile&) = delete;
  FieldFile& operator=(const FieldFile&) = delete;

  // The file to open, and all that there are.
  std::string path() const { return folder_ + "/file"; }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      paths.push_back(file.path());
    }
    return paths;
  }

 private:
  const std::string folder_;
};

const FieldFile& FieldFileOf(const FieldFormat& format) {
  static std::map<std::string, FieldFile> files;
  return files.try_emplace(format.tag, format).first->second;
}

std::unique_ptr<FileFormat> Format(const std::string& tag, std::vector<SlotSpec> slots) {
  const FormatSchema* schema = FindFileFormat(tag);
  Require(schema != nullptr, "no format ", tag);
  FormatArguments arguments;
  arguments.declared = std::move(slots);
  for (const AttributeSchema& attribute : schema->attributes) {
    arguments.attributes.Set(attribute.name, attribute.default_value);
  }
  return schema->Make(arguments);
}

ReaderPtr OfFormat(const std::string& tag, FileEntry file, std::vector<SlotSpec> slots) {
  return std::make_unique<FileReader>(Format(tag, std::move(slots)), std::move(file));
}

ReaderPtr RecordIO(Fault fault, Where where) {
  return OfFormat("recordio", EntryAt(where, RecordIOPath(fault)), SlotsOf(SourceSpec()));
}
ReaderPtr PlainRecordIO(Fault fault, Where where) {
  return OfFormat("recordio", EntryAt(where, PlainRecordIOPath(fault)), SlotsOf(SourceSpec()));
}
ReaderPtr Fixed(Fault fault, Where where) {
  return OfFormat("fixed", EntryAt(where, FixedPath(fault)), SlotsOf(SourceSpec()));
}
ReaderPtr FixedInRandomOrder(Fault fault, Where where) {
  return std::make_unique<RandomOrderReader>(
      Format("fixed", SlotsOf(SourceSpec())),
      std::vector<FileEntry>{EntryAt(where, FixedPath(fault))}, RandomKey(1, 2, "files"));
}
ReaderPtr Idx(Fault, Where where) {
  SlotSpec digits;
  digits.dtype = DataType::kUint8;
  digits.dims = {1, 3};
  return OfFormat("idx", EntryAt(where, IdxPath()), {digits});
}
ReaderPtr NpyArray(Fault fault, Where where) {
  return OfFormat("npy", EntryAt(where, NpyPath(fault)), SlotsOf(SourceSpec()));
}
ReaderPtr Npz(Fault, Where where) {
  return OfFormat("npz", EntryAt(where, NpzPath(false)), SlotsOf(SourceSpec()));
}
ReaderPtr DeflatedNpz(Fault, Where where) {
  return OfFormat("npz", EntryAt(where, NpzPath(true)), SlotsOf(SourceSpec()));
}
ReaderPtr Text(Fault, Where where) { return OfFormat("text", EntryAt(where, TextPath()), {}); }

ReaderPtr TFRecord(Fault fault, Where where) {
  return OfFormat("tfrecord", EntryAt(where, TFRecordPath(fault)), {});
}
ReaderPtr IndexedTFRecord(Fault fault, Where where) {
  FileEntry file = EntryAt(where, TFRecordPath(fault));
  file.companion = At(where, TFRecordIndexPath());
  FormatArguments arguments;
  arguments.has_companions = true;
  arguments.buffer_type = file.buffer_type;
  return std::make_unique<FileReader>(FindFileFormat("tfrecord")->Make(arguments), std::move(file));
}

// The faulty file is stale: it has a bit that the file of the index does not have.
const std::string& FileWithIndexPath(Fault fault) {
  class FileWithIndex {
   public:
    FileWithIndex(const std::string& name, Fault fault)
        : file_(name, ReadFile(TFRecordPath(fault))) {
      WriteFile(IndexPathOf(path()), IndexOf("tfrecord", TFRecordPath(Fault::kNone)));
    }
    ~FileWithIndex() { std::remove(IndexPathOf(path()).c_str()); }
    FileWithIndex(const FileWithIndex&) = delete;
    FileWithIndex& operator=(const FileWithIndex&) = delete;

    const std::string& path() const { return file_.path(); }

   private:
    const TempFile file_;
  };
  static const FileWithIndex good("with_index.tfrecord", Fault::kNone);
  static const FileWithIndex bad("stale.tfrecord", Fault::kPlan);
  return fault == Fault::kNone ? good.path() : bad.path();
}

ReaderPtr TFRecordWithIndex(Fault fault, Where) {
  const FileEntry file = {FileWithIndexPath(fault), "", BufferType::kMemory};
  FormatArguments arguments;
  arguments.files = {file};
  return std::make_unique<FileReader>(FindFileFormat("tfrecord")->Make(arguments), file);
}

std::vector<std::string> FilesWithIndex() {
  const std::string& path = FileWithIndexPath(Fault::kNone);
  return {path, IndexPathOf(path)};
}

// Whether its chunks can be shared a reader asks the index before the first Plan, so that the error
// comes at once.
std::vector<std::string> FilesWithoutIndex() { return {FileWithIndexPath(Fault::kNone)}; }

ReaderPtr MxnetAt(FileEntry file) {
  FormatArguments arguments;
  arguments.has_companions = !file.companion.empty();
  arguments.buffer_type = file.buffer_type;
  arguments.attributes.Set("fields", std::vector<std::string>{"label int64[1]", "image bytes"});
  return std::make_unique<FileReader>(FindFileFormat("mxnet")->Make(arguments), std::move(file));
}
ReaderPtr Mxnet(Fault fault, Where where) { return MxnetAt(EntryAt(where, MxnetPath(fault))); }
ReaderPtr IndexedMxnet(Fault fault, Where where) {
  FileEntry file = EntryAt(where, MxnetPath(fault));
  file.companion = At(where, MxnetIndexPath(fault));
  return MxnetAt(std::move(file));
}

ReaderPtr MdsAt(Fault fault, Where where, bool compressed) {
  std::string index;
  for (const std::string& path : MdsPathsOf(fault, compressed)) index = At(where, path);
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::vector<std::string>{"n int64[1]"});
  arguments.buffer_type = where == Where::kMapped ? BufferType::kMmap : BufferType::kMemory;
  FileEntry file{index, "", arguments.buffer_type};
  return std::make_unique<FileReader>(FindFileFormat("mds")->Make(arguments), std::move(file));
}
ReaderPtr Mds(Fault fault, Where where) { return MdsAt(fault, where, false); }
ReaderPtr ZstdMds(Fault fault, Where where) { return MdsAt(fault, where, true); }

// Formats of text with fields. Each record says its number, and the faulty one has no number.
struct TextFormat {
  const char* tag;
  std::vector<std::string> fields;
  std::string (*line)(const std::string& number);
};

const TextFormat kCsv = {"csv", {"n int64[]", "text bytes"}, [](const std::string& number) {
                           return StrCat(number, ",\"", std::string(number.size() % 3, '\n'),
                                         "\"\n");
                         }};
const TextFormat kTsv = {"tsv", {"#1 int64[]", "#0 float32[-1]"}, [](const std::string& number) {
                           return StrCat("1 2.5\t", number, "\n");
                         }};
const TextFormat kJsonl = {
    "jsonl", {"/a/n int64[]", "list int32[-1]"}, [](const std::string& number) {
      return StrCat("{\"list\": [1, 2], \"a\": {\"n\": ", number, "}}\n");
    }};
const TextFormat kLibsvm = {"libsvm", {}, [](const std::string& number) {
                              return StrCat(number, " 1:0.5 7:", number, "\n");
                            }};
const TextFormat kMultiSlot = {"multislot", {"#1 int64[]"}, [](const std::string& number) {
                                 return StrCat("2 1 2 1 ", number, "\n");
                               }};
const TextFormat kCtrSvm = {"ctr_svm", {"label int64[]", "7 int64[-1]"}, [](const std::string& n) {
                              return StrCat("1 ", n, ":7 3:8\n");
                            }};

const std::string& TextFormatPath(const TextFormat& format, Fault fault) {
  static std::map<std::pair<std::string, bool>, TempFile> files;
  const bool faulty = fault != Fault::kNone;
  std::string content = format.tag == kCsv.tag ? "n,text\n" : "";
  for (int64_t i = 0; i < kRecords; ++i) {
    content += format.line(faulty && i == kFaulty ? "x" : std::to_string(i));
  }
  return files
      .try_emplace({format.tag, faulty}, StrCat(faulty ? "bad." : "good.", format.tag), content)
      .first->second.path();
}

ReaderPtr ImageFolder(Fault fault, Where where) {
  return OfFormat("image_folder", {ImageFolderAt(fault, where), "", BufferType::kMemory}, {});
}
ReaderPtr ImageList(Fault fault, Where where) {
  return OfFormat("image_list", {ImageFolderAt(fault, where) + "/list", "", BufferType::kMemory},
                  {});
}

ReaderPtr Coco(Fault fault, Where where) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::vector<std::string>{"image bytes", "image_id int64[]",
                                                              "boxes float32[-1, 4]"});
  return std::make_unique<FileReader>(
      FindFileFormat("coco")->Make(arguments),
      FileEntry{ImageFolderAt(fault, where) + "/coco", "", BufferType::kMemory});
}

// The set, whose files are also in memory if they must be.
ReaderPtr Voc(Fault fault, Where where) {
  const VocSet& set = VocSetOf(fault);
  for (const std::string& path : VocPathsIn(set.folder())) At(where, path);
  for (size_t i = 0; i < kImages; ++i) At(where, set.annotations(i));
  FormatArguments arguments;
  arguments.attributes.Set(
      "fields", std::vector<std::string>{"image bytes", "image_id int64[]", "boxes float32[-1, 4]",
                                         "mask bytes"});
  return std::make_unique<FileReader>(FindFileFormat("voc")->Make(arguments),
                                      FileEntry{At(where, set.list()), "", BufferType::kMemory});
}

// Files that say the number of their record, in an archive whose faulty record is no number, or
// ends at a damaged header, so that it is unknown whether it is whole.
std::string TarContent(Fault fault) {
  TarFiles files;
  for (int64_t i = 0; i < kRecords; ++i) {
    const bool faulty = i == kFaulty && fault == Fault::kLoad;
    files.emplace_back(std::to_string(i) + ".cls", faulty ? "none" : std::to_string(i));
  }
  const std::string archive = TarOf(files);
  return fault == Fault::kPlan ? FlipBit(archive, 8 * (size_t{1024} * (kFaulty + 1))) : archive;
}
const std::string& TarPath(Fault fault) {
  static const TempFile files[] = {{"good.tar", TarContent(Fault::kNone)},
                                   {"plan.tar", TarContent(Fault::kPlan)},
                                   {"load.tar", TarContent(Fault::kLoad)}};
  return files[static_cast<int>(fault)].path();
}
const std::string& GzipTarPath(Fault fault) {
  static const TempFile files[] = {{"good.tar.gz", Gzipped(TarContent(Fault::kNone))},
                                   {"plan.tar.gz", Gzipped(TarContent(Fault::kPlan))},
                                   {"load.tar.gz", Gzipped(TarContent(Fault::kLoad))}};
  return files[static_cast<int>(fault)].path();
}

// Lines with a label each, which the parser of a plugin parses; it refuses one of them.
const std::string& LabelsPath(Fault fault) {
  const auto content = [](int64_t refused) {
    std::string lines;
    for (int64_t i = 0; i < kRecords; ++i) lines += i == refused ? "no label\n" : StrCat(i, "\n");
    return lines;
  };
  static const TempFile good("good-labels.txt", content(-1)), bad("labels.txt", content(kFaulty));
  return fault == Fault::kNone ? good.path() : bad.path();
}
ReaderPtr Parsed(Fault fault, Where where) {
  const std::string parser = Runfile("tests/libscores.so");
  LoadPlugin(parser);
  const FileEntry file = EntryAt(where, LabelsPath(fault));
  FormatArguments arguments;
  arguments.buffer_type = file.buffer_type;
  return OpenPluginReader({file.path}, *FindFileFormat("text"), arguments,
                          *FindParserPlugin(parser), {});
}

// Some of these files through each compression.
const std::string& CompressedPath(size_t i) {
  static const TempFile files[] = {{"numbers.bin.gz", Gzipped(FixedContent(kRecords))},
                                   {"lines.txt.zst", Zstd(ReadFile(TextPath()))},
                                   {"digits-idx2-ubyte.lz4", Lz4(ReadFile(IdxPath()))}};
  return files[i].path();
}
ReaderPtr GzipFixed(Fault, Where where) {
  return OfFormat("fixed", EntryAt(where, CompressedPath(0)), SlotsOf(SourceSpec()));
}
ReaderPtr ZstdText(Fault, Where where) {
  return OfFormat("text", EntryAt(where, CompressedPath(1)), {});
}
ReaderPtr Lz4Idx(Fault, Where where) {
  SlotSpec digits;
  digits.dtype = DataType::kUint8;
  digits.dims = {1, 3};
  return OfFormat("idx", EntryAt(where, CompressedPath(2)), {digits});
}

ReaderPtr TarAt(FileEntry file) {
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::vector<std::string>{"cls int64[1] decode=text"});
  arguments.buffer_type = file.buffer_type;
  return std::make_unique<FileReader>(FindFileFormat("tar")->make(arguments), std::move(file));
}
ReaderPtr Tar(Fault fault, Where where) { return TarAt(EntryAt(where, TarPath(fault))); }
ReaderPtr GzipTar(Fault fault, Where where) { return TarAt(EntryAt(where, GzipTarPath(fault))); }

ReaderPtr OpenFiles(Fault fault, Where where) {
  std::vector<FileEntry> files;
  files.reserve(4);
  for (int shard = 0; shard < 4; ++shard) files.push_back(EntryAt(where, ShardPath(fault, shard)));
  MultiFileOptions options;
  options.buffer_size = 8;
  return std::make_unique<MultiFileReader>(Format("recordio", SlotsOf(SourceSpec())),
                                           std::move(files), options);
}

// Two places for four files, read twice, each time in another order.
ReaderPtr OpenFilesShuffled(Fault fault, Where where) {
  std::vector<FileEntry> files;
  files.reserve(4);
  for (int shard = 0; shard < 4; ++shard) files.push_back(EntryAt(where, ShardPath(fault, shard)));
  MultiFileOptions options;
  options.thread_num = 1;
  options.cycle_length = 2;
  options.pass_num = 2;
  options.shuffle_files = true;
  return std::make_unique<MultiFileReader>(Format("recordio", SlotsOf(SourceSpec())),
                                           std::move(files), options);
}

ReaderPtr OpenFilesInRandomChunks(Fault fault, Where where) {
  std::vector<FileEntry> files;
  files.reserve(4);
  for (int shard = 0; shard < 4; ++shard) files.push_back(EntryAt(where, ShardPath(fault, shard)));
  return std::make_unique<RandomChunksReader>(Format("recordio", SlotsOf(SourceSpec())),
                                              std::move(files), ReadAhead{2, 8},
                                              RandomKey(1, 2, "files"));
}

ReaderPtr Jpegs(Fault fault, Where where) {
  std::vector<FileEntry> files;
  for (const std::string& path : ImagePaths(ImageFolderPath(fault))) {
    files.push_back(EntryAt(where, path));
  }
  MultiFileOptions options;
  options.buffer_size = 2;
  return std::make_unique<MultiFileReader>(Format("jpg", {}), std::move(files), options);
}

// ---- The cases. ----

// A chain over a source, with the number of elements before a planning and a loading error.
ContractCase Chain(std::string name, const std::function<ReaderPtr(Fault)>& source,
                   const std::vector<Decorator>& decorators, std::vector<int64_t> values,
                   std::vector<size_t> before_fault = {}) {
  ContractCase contract;
  contract.name = std::move(name);
  contract.make = [source, decorators](Fault fault) {
    ReaderPtr reader = source(fault);
    for (const Decorator& decorate : decorators) reader = decorate(std::move(reader));
    return reader;
  };
  const Fault faults[] = {Fault::kPlan, Fault::kLoad};
  contract.faults.assign(faults, faults + before_fault.size());
  contract.before_fault = std::move(before_fault);
  contract.values = std::move(values);
  return contract;
}

std::vector<int64_t> Twice(std::vector<int64_t> values) {
  const size_t once = values.size();
  values.resize(2 * once);
  std::copy(values.begin(), values.begin() + once, values.begin() + once);
  return values;
}

std::vector<int64_t> EveryNth(const std::vector<int64_t>& values, size_t n, size_t first) {
  std::vector<int64_t> some;
  for (size_t i = first; i < values.size(); i += n) some.push_back(values[i]);
  return some;
}

// Those that Split leaves of a source with the numbers from 0 on.
std::vector<int64_t> InPart(const std::vector<int64_t>& numbers) {
  std::vector<int64_t> some;
  for (const int64_t number : numbers) {
    if (kPart.Has(MixBits(static_cast<uint64_t>(number)))) some.push_back(number);
  }
  return some;
}

std::vector<ContractCase> Sources() {
  return {
      Chain("planned", Planned, {}, Numbers(kRecords), {20, 20}),
      Chain("ragged", Ragged, {}, RaggedValues(), {20, 20}),
      Chain("jittering", Jittering, {}, Numbers(kRecords), {20, 20}),
      Chain("sequential", Sequential, {}, Numbers(kRecords), {20}),
      Chain("ragged_sequential", RaggedSequential, {}, RaggedValues(), {20}),
      Chain("random_data", RandomData, {}, {}),
      Chain("fed_queue", Fed, {}, Numbers(kRecords), {20}),
  };
}

std::vector<ContractCase> Decorators() {
  const std::vector<int64_t> numbers = Numbers(kRecords);
  return {
      Chain("shuffle", Planned, {Shuffle(7)}, numbers, {20}),
      Chain("shuffle_of_one", Planned, {Shuffle(1)}, numbers, {20, 20}),
      Chain("shuffle_of_all", Planned, {Shuffle(1000)}, numbers, {20}),
      Chain("shuffle_sequential", Sequential, {Shuffle(7)}, numbers, {20}),
      Chain("batch", Planned, {Batch(8)}, numbers, {2, 2}),
      Chain("batch_ragged", Ragged, {Batch(8)}, RaggedValues(), {2, 2}),
      Chain("batch_sequential", Sequential, {Batch(8)}, numbers, {2}),
      Chain("batch_of_all", Planned, {Batch(64)}, numbers, {0, 0}),
      Chain("batch_stack", Planned, {Batch(8, BatchMode::kStack)}, numbers, {2, 2}),
      Chain("multi_pass", Planned, {MultiPass(2)}, Twice(numbers), {20, 20}),
      Chain("shard", Planned, {Shard(3, 2)}, EveryNth(numbers, 3, 2), {6, 6}),
      Chain("shard_dropping", Planned, {Shard(3, 1, ShardEven::kDrop)},
            EveryNth(Numbers(kRecords / 3 * 3), 3, 1), {6}),  // the element that fails is not
                                                              // loaded
      Chain("shard_of_one", Sequential, {Shard(1, 0)}, numbers, {20}),
      Chain("double_buffer", Planned, {DoubleBuffer(2)}, numbers, {20, 20}),
      Chain("double_buffer_of_one", Jittering, {DoubleBuffer(1)}, numbers, {20, 20}),
      Chain("double_buffer_ragged", Ragged, {DoubleBuffer(4)}, RaggedValues(), {20, 20}),
      Chain("double_buffer_sequential", Sequential, {DoubleBuffer(2)}, numbers, {20}),
      Chain("to_device", Planned, {ToDevice(2)}, numbers, {20, 20}),
      Chain("to_device_ragged", Ragged, {ToDevice(3)}, RaggedValues(), {20, 20}),
      Chain("to_device_sequential", Sequential, {ToDevice(3)}, numbers, {20}),
      Chain("map", Planned, {Map()}, numbers, {20, 20}),
      Chain("map_ragged", Ragged, {Map()}, RaggedValues(), {20, 20}),
      Chain("filter", Planned, {Filter(1, 0)}, numbers, {20, 20}),
      Chain("filter_some", Jittering, {Filter(3, 1)}, EveryNth(numbers, 3, 1), {7, 7}),
      Chain("filter_ragged", Ragged, {Filter(1, 0)}, RaggedValues(), {20, 20}),
      Chain("filter_sequential", Sequential, {Filter(2, 0)}, EveryNth(numbers, 2, 0), {10}),
      Chain("resample", Planned, {Resample()}, ResampledNumbers(), {20, 20}),
      Chain("resample_sequential", Sequential, {Resample()}, ResampledNumbers(), {20}),
      Chain("resample_shuffle_batch_double_buffer", Jittering,
            {Resample(), Shuffle(9), Batch(4), DoubleBuffer(2)}, ResampledNumbers()),
      Chain("unbatch", Planned, {Batch(8), Unbatch()}, numbers, {16, 16}),
      Chain("unbatch_rows", Planned, {Unbatch()}, numbers, {20, 20}),
      Chain("unbatch_ragged", Ragged, {Batch(8), Unbatch()}, RaggedValues(), {16, 16}),
      Chain("unbatch_stack", Jittering, {Batch(8, BatchMode::kStack), Unbatch(BatchMode::kStack)},
            numbers, {16, 16}),
      Chain("unbatch_sequential", Sequential, {Batch(5), Unbatch()}, numbers, {20}),
      Chain("pack", Ragged, {Pack(6, PackMethod::kFirstFit)}, {}, {5, 5}),
      Chain("pack_best_fit_batch", Ragged, {Pack(4, PackMethod::kBestFit), Batch(3)}, {}),
      Chain("pack_best_fit", RaggedSequential, {Pack(4, PackMethod::kBestFit)}, {}),
      Chain("pack_of_one", Jittering, {Pack(1, PackMethod::kFirstFit)}, numbers, {20, 20}),
      Chain("pack_concat", Ragged, {Pack(5, PackMethod::kConcatThenSplit)}, {}, {6, 6}),
      Chain("bucket", Ragged, {Bucket(2, 4)}, RaggedValues(), {4, 4}),
      Chain("bucket_sequential", Sequential, {Bucket(2, 4)}, numbers, {5}),
      Chain("padded_batch", Ragged, {PaddedBatch(8)}, {}, {2, 2}),
      Chain("padded_batch_of_rows", Jittering, {PaddedBatch(8)}, numbers, {2, 2}),
      Chain("token_batch", Ragged, {TokenBatch(4)}, RaggedValues(), {9, 9}),
      Chain("window", Jittering, {Slide(3, 1)}, {}, {18, 18}),
      Chain("window_of_many", Ragged, {Slide(5, 0)}, RaggedValues(), {4, 4}),
      Chain("partners", Jittering, {Partners(2, 6)}, numbers, {18, 18}),
      Chain("partners_ragged", Ragged, {Partners(1, 7)}, RaggedValues(), {14, 14}),
      Chain("partners_sequential", Sequential, {Partners(3, 60)}, numbers, {0}),
      Chain("dedupe", Planned, {Dedupe(10)}, numbers, {20, 20}),
      Chain("dedupe_sequential", Sequential, {Dedupe(100)}, numbers, {20}),
      Chain("cache", Planned, {Cache(1 << 20)}, numbers, {20, 20}),
      Chain("cache_of_some", Jittering, {Cache(5000)}, numbers, {20, 20}),
      Chain("cache_ragged_sequential", RaggedSequential, {Cache(7000)}, RaggedValues(), {20}),
      Chain("disk_cache", Jittering, {DiskCache()}, numbers, {20, 20}),
      Chain("disk_cache_ragged_sequential", RaggedSequential, {DiskCache()}, RaggedValues(), {20}),
      Chain("handle", Planned, {Handle()}, numbers, {20, 20}),
      Chain("take", Planned, {Take(30)}, Numbers(30), {20, 20}),
      Chain("take_more_than_all", Sequential, {Take(60)}, numbers, {20}),
      Chain("take_before_a_fault", Ragged, {Take(20)}, RaggedValuesUpTo(20)),
      Chain("skip", Planned, {Skip(7)}, EveryNth(numbers, 1, 7), {13, 13}),
      Chain("skip_a_fault", Sequential, {Skip(30)}, EveryNth(numbers, 1, 30), {0}),
      Chain("skip_take_batch_double_buffer", Jittering,
            {Skip(3), Take(40), Batch(4), DoubleBuffer(2)}, EveryNth(Numbers(43), 1, 3), {4, 4}),
      Chain("split", Planned, {Split()}, InPart(numbers), {InPart(Numbers(20)).size()}),
      Chain("split_shuffle_batch_double_buffer", Jittering,
            {Split(), Shuffle(7), Batch(4), DoubleBuffer(2)}, {}),
      Chain("shuffle_split_batch", Sequential, {Shuffle(7), Split(), Batch(4)}, {}),
      Chain("fake", Planned, {Skip(20), Fake(9)}, std::vector<int64_t>(9, kFaulty), {0, 0}),
      Chain("fake_batch_double_buffer", Sequential, {Fake(300), Batch(64), DoubleBuffer(2)},
            std::vector<int64_t>(300, 0)),
      Chain("fake_to_device", Ragged, {Skip(3), Fake(5), ToDevice(2)}, std::vector<int64_t>(15, 3)),
  };
}

std::vector<int64_t> Joined(std::vector<int64_t> values, const std::vector<int64_t>& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

std::vector<ContractCase> Combined() {
  const std::vector<int64_t> numbers = Numbers(kRecords);
  const std::vector<int64_t> both = Joined(Numbers(40), numbers);
  // The larger reader has no element for its 51st turn, which is turn 75: the other one, of 24, has
  // had 25 before.
  const std::vector<int64_t> again = Joined(Joined(Numbers(24), {0}), numbers);
  return {
      Chain("concat", Concatenated, {}, Joined(Joined(Numbers(7), numbers), Numbers(5)), {27, 27}),
      Chain("concat_ragged", ConcatenatedRagged, {}, Twice(RaggedValues()), {20, 20}),
      Chain("concat_on_one", ConcatenatedOnOne, {}, numbers, {20, 20}),
      Chain("concat_shuffle_batch_double_buffer", Concatenated,
            {Shuffle(9), Batch(4), DoubleBuffer(2)},
            Joined(Joined(Numbers(7), numbers), Numbers(5)), {6}),
      Chain("concat_batch_to_device", ConcatenatedRagged, {Batch(8), ToDevice(2)},
            Twice(RaggedValues()), {2, 2}),
      Chain("concat_of_three", ConcatenatedPlanned, {},
            Joined(Joined(Numbers(7), numbers), Numbers(5)), {27, 27}),
      Chain("concat_of_three_shuffle_batch_double_buffer", ConcatenatedPlanned,
            {Shuffle(9), Batch(4), DoubleBuffer(2)},
            Joined(Joined(Numbers(7), numbers), Numbers(5)), {6}),
      Chain("zip", Zipped, {}, numbers, {20, 20}),
      Chain("zip_batch_double_buffer", Zipped, {Batch(8), DoubleBuffer(2)}, numbers, {2, 2}),
      Chain("zip_shuffle_multi_pass", Zipped, {Shuffle(7), MultiPass(2)}, Twice(numbers), {20}),
      Chain("zip_to_the_shortest", ZippedToTheShortest, {}, Numbers(40), {20, 20}),
      Chain("zip_map_to_device", ZippedToTheShortest, {Map(), Batch(8), ToDevice(2)}, Numbers(40),
            {2, 2}),
      Chain("mix_stop", MixedToTheFirstEnd, {}, Joined(Numbers(25), numbers), {30, 30}),
      Chain("mix_continue", MixedToTheLastEnd, {}, both, {30, 30}),
      Chain("mix_continue_batch_to_device", MixedToTheLastEnd, {Batch(8), ToDevice(2)}, both,
            {3, 3}),
      Chain("mix_repeat", MixedAgain, {}, again, {30, 30}),
      Chain("mix_by_bytes", MixedByBytes, {}, both, {31, 31}),
      Chain("mix_by_bytes_shuffle_batch_double_buffer", MixedByBytes,
            {Shuffle(9), Batch(4), DoubleBuffer(2)}, both),
      Chain("mix_in_steps", MixedInSteps, {}, both, {35, 35}),
      Chain("mix_in_steps_multi_pass_batch", MixedInSteps, {MultiPass(2), Batch(5)}, Twice(both),
            {7, 7}),
      Chain("mix_for_ranks", MixedForRanks, {}, both),
      Chain("mix_for_ranks_shard", MixedForRanks, {Shard(3, 1)}, {}),
      Chain("mix_repeat_multi_pass_shuffle", MixedAgain, {MultiPass(2), Shuffle(7), Batch(5)},
            Twice(again), {6}),
  };
}

std::vector<ContractCase> Chains() {
  const std::vector<int64_t> numbers = Numbers(kRecords);
  return {
      Chain("shuffle_batch", Jittering, {Shuffle(9), Batch(4)}, numbers, {5}),
      Chain("pack_shuffle_batch", Ragged, {Pack(6, PackMethod::kFirstFit), Shuffle(4), Batch(2)},
            {}),
      Chain("fake_shuffle_batch", Planned, {Skip(3), Fake(30), Shuffle(7), Batch(4)},
            std::vector<int64_t>(30, 3)),
      Chain("mix_shuffle_batch_double_buffer", MixedToTheLastEnd,
            {Shuffle(9), Batch(4), DoubleBuffer(2)}, {}),
      Chain("random_shuffle_batch", RandomData, {Shuffle(7), Batch(5)}, {}),
      Chain("batch_shuffle", Planned, {Batch(4), Shuffle(3)}, numbers, {5}),
      Chain("batch_batch", Ragged, {Batch(3), Batch(4)}, RaggedValues(), {1, 1}),
      Chain("map_batch", Planned, {Map(), Batch(8)}, numbers, {2, 2}),
      Chain("handle_shuffle_handle", Planned, {Handle(), Shuffle(5), Handle()}, numbers, {20}),
      Chain("filter_shuffle_batch_double_buffer", Jittering,
            {Filter(2, 1), Shuffle(9), Batch(4), DoubleBuffer(2)}, EveryNth(numbers, 2, 1), {}),
      Chain("double_buffer_filter_filter", Planned, {DoubleBuffer(2), Filter(2, 0), Filter(3, 0)},
            EveryNth(numbers, 6, 0), {4, 4}),
      Chain("batch_unbatch_shuffle_batch", Ragged, {Batch(6), Unbatch(), Shuffle(4), Batch(8)},
            RaggedValues(), {2}),
      Chain("fed_queue_filter_batch", Fed, {Filter(2, 0), Batch(4)}, EveryNth(numbers, 2, 0), {2}),
      Chain("filter_shuffle_bucket_double_buffer", Jittering,
            {Filter(2, 1), Shuffle(9), Bucket(1, 4), DoubleBuffer(2)}, EveryNth(numbers, 2, 1)),
      Chain("shuffle_pack_batch_double_buffer", Ragged,
            {Shuffle(9), Pack(7, PackMethod::kBestFit), Batch(4), DoubleBuffer(2)}, {}),
      Chain("dedupe_cache_shuffle_batch", Planned, {Dedupe(7), Cache(6000), Shuffle(5), Batch(4)},
            numbers, {5}),
      Chain("cache_multi_pass_window_to_device", Jittering,
            {Cache(4000), MultiPass(2), Slide(4, 0), ToDevice(2)}, Twice(numbers), {5, 5}),
      Chain("disk_cache_multi_pass_shuffle_batch", Ragged,
            {DiskCache(), MultiPass(2), Shuffle(7), Batch(4)}, Twice(RaggedValues()), {5, 5}),
      Chain("shuffle_disk_cache_to_device", Jittering,
            {Shuffle(5), Batch(4), DiskCache(), ToDevice(2)}, numbers, {5, 5}),
      Chain("fed_queue_window_batch", Fed, {Slide(2, 0), Batch(4)}, numbers, {2}),
      Chain("filter_to_device", Planned, {Filter(2, 0), ToDevice(2)}, EveryNth(numbers, 2, 0),
            {10, 10}),
      Chain("double_buffer_batch", Planned, {DoubleBuffer(3), Batch(8)}, numbers, {2, 2}),
      Chain("double_buffer_shuffle", Ragged, {DoubleBuffer(3), Shuffle(5)}, RaggedValues(), {20}),
      Chain("double_buffer_twice", Jittering, {DoubleBuffer(2), Batch(4), DoubleBuffer(2)}, numbers,
            {5, 5}),
      Chain("multi_pass_shuffle_batch", Planned, {MultiPass(2), Shuffle(9), Batch(8)},
            Twice(numbers), {2}),
      Chain("shuffle_batch_multi_pass_double_buffer", Planned,
            {Shuffle(20), Batch(8), MultiPass(2), DoubleBuffer(2)}, Twice(numbers), {2}),
      Chain("sequential_map_batch_to_device", Sequential, {Map(), Batch(8), ToDevice(2)}, numbers,
            {2}),
      Chain("batch_to_device_shuffle", Ragged, {Batch(3), ToDevice(2), Shuffle(4)}, RaggedValues(),
            {6}),
      Chain("shuffle_stack_to_device_multi_pass", Jittering,
            {Shuffle(4), Batch(5, BatchMode::kStack), ToDevice(3), MultiPass(2)}, Twice(numbers),
            {4}),
      Chain("fed_queue_batch_double_buffer", Fed, {Batch(4), DoubleBuffer(2)}, numbers, {5}),
      Chain("fed_queue_handle_shuffle_multi_pass_double_buffer", Fed,
            {Handle(), Shuffle(7), MultiPass(2), DoubleBuffer(2)}, Twice(numbers), {20}),
      Chain("shard_shuffle_batch_double_buffer", Jittering,
            {Shard(2, 0), Shuffle(9), Batch(4), DoubleBuffer(2)}, EveryNth(numbers, 2, 0), {}),
      Chain("random_batch_double_buffer", RandomData, {Batch(5), DoubleBuffer(2)}, {}),
  };
}

ContractCase Reads(const std::string& name, const std::function<ReaderPtr(Fault, Where)>& source,
                   Where where, const std::function<std::vector<std::string>()>& paths,
                   const std::vector<Decorator>& decorators, std::vector<int64_t> values,
                   std::vector<size_t> before_fault = {}) {
  const char* const prefixes[] = {"", "memory_", "mapped_"};
  ContractCase contract = Chain(
      prefixes[static_cast<int>(where)] + name, [=](Fault fault) { return source(fault, where); },
      decorators, std::move(values), std::move(before_fault));
  contract.files = [=] {
    std::vector<std::string> files = paths();
    for (std::string& path : files) path = At(where, path);
    return files;
  };
  contract.reads_all = name.find("shard_by_chunk") == std::string::npos;
  return contract;
}

std::vector<std::string> RecordIOPaths() { return {RecordIOPath(Fault::kNone)}; }
std::vector<std::string> PlainRecordIOPaths() { return {PlainRecordIOPath(Fault::kNone)}; }
std::vector<std::string> FixedPaths() { return {FixedPath(Fault::kNone)}; }
std::vector<std::string> IdxPaths() { return {IdxPath()}; }
std::vector<std::string> NpyPaths() { return {NpyPath(Fault::kNone)}; }
std::vector<std::string> NpzPaths() { return {NpzPath(false)}; }
std::vector<std::string> DeflatedNpzPaths() { return {NpzPath(true)}; }
std::vector<std::string> TextPaths() { return {TextPath()}; }
std::vector<std::string> TFRecordPaths() { return {TFRecordPath(Fault::kNone)}; }
std::vector<std::string> IndexedTFRecordPaths() {
  return {TFRecordPath(Fault::kNone), TFRecordIndexPath()};
}
std::vector<std::string> MxnetPaths() { return {MxnetPath(Fault::kNone)}; }
std::vector<std::string> IndexedMxnetPaths() {
  return {MxnetPath(Fault::kNone), MxnetIndexPath(Fault::kNone)};
}
std::vector<std::string> MdsPaths() { return MdsPathsOf(Fault::kNone, false); }
std::vector<std::string> ZstdMdsPaths() { return MdsPathsOf(Fault::kNone, true); }
std::vector<std::string> TarPaths() { return {TarPath(Fault::kNone)}; }
std::vector<std::string> GzipTarPaths() { return {GzipTarPath(Fault::kNone)}; }
std::vector<std::string> LabelsPaths() { return {LabelsPath(Fault::kNone)}; }
std::vector<std::string> GzipFixedPaths() { return {CompressedPath(0)}; }
std::vector<std::string> ZstdTextPaths() { return {CompressedPath(1)}; }
std::vector<std::string> Lz4IdxPaths() { return {CompressedPath(2)}; }
std::vector<std::string> ShardPaths() {
  std::vector<std::string> paths;
  paths.reserve(4);
  for (int shard = 0; shard < 4; ++shard) paths.push_back(ShardPath(Fault::kNone, shard));
  return paths;
}

ContractCase ReadsTextFormat(const TextFormat& format, Where where,
                             const std::vector<Decorator>& decorators,
                             std::vector<size_t> before_fault) {
  const auto source = [&format](Fault fault, Where at) -> ReaderPtr {
    FileEntry file = EntryAt(at, TextFormatPath(format, fault));
    FormatArguments arguments;
    arguments.attributes.Set("fields", format.fields);
    arguments.buffer_type = file.buffer_type;
    return std::make_unique<FileReader>(FindFileFormat(format.tag)->Make(arguments),
                                        std::move(file));
  };
  const auto paths = [&format] {
    return std::vector<std::string>{TextFormatPath(format, Fault::kNone)};
  };
  return Reads(StrCat(format.tag, decorators.empty() ? "" : "_shuffle_batch"), source, where, paths,
               decorators, {}, std::move(before_fault));
}

// Elements with these fields, in the order of the list.
ContractCase ReadsFields(const FieldFormat& format, const std::string& name, Where where,
                         const std::vector<Decorator>& decorators,
                         const std::vector<std::string>& entries) {
  const auto source = [&format, entries](Fault, Where at) -> ReaderPtr {
    for (const std::string& path : FieldFileOf(format).paths()) At(at, path);
    FileEntry file = EntryAt(at, FieldFileOf(format).path());
    FormatArguments arguments;
    arguments.attributes.Set("fields", entries);
    arguments.buffer_type = file.buffer_type;
    return std::make_unique<FileReader>(FindFileFormat(format.tag)->Make(arguments),
                                        std::move(file));
  };
  ContractCase contract = Reads(StrCat(format.tag, "_", name), source, where,
                                [&format] { return FieldFileOf(format).paths(); }, decorators, {});
  contract.reads_all = false;  // some formats leave out columns
  for (int64_t n = 0; n < kRecords; ++n) {
    ElementValue record;
    if (RecordWithFields(format, entries, n, &record)) contract.elements.push_back(record);
  }
  return contract;
}

// Every format that has fields, with all of them backwards and one twice, and with some of them.
std::vector<ContractCase> FieldsInAnyOrder(Where where, bool of_plugins_only = false) {
  std::vector<ContractCase> cases;
  for (const FieldFormat& format : FieldFormats()) {
    if (of_plugins_only && FindFileFormat(format.tag)->library == nullptr) continue;
    if (where == Where::kMapped && (format.has_chunks || format.is_stream)) continue;
    std::vector<std::string> all, some;
    std::set<std::string> columns;
    for (auto field = format.fields.rbegin(); field != format.fields.rend(); ++field) {
      const bool first = columns.insert(field->entry.substr(0, field->entry.find(' '))).second;
      if (field->leaves_out == nullptr && (first || format.repeats)) all.push_back(field->entry);
      if ((field - format.fields.rbegin()) % 3 == 1) some.push_back(field->entry);
    }
    if (format.repeats) all.push_back(all[1]);
    cases.push_back(ReadsFields(format, "backwards_shuffle", where, {Shuffle(7)}, all));
    cases.push_back(ReadsFields(format, "some_double_buffer", where, {DoubleBuffer(2)}, some));
  }
  return cases;
}

std::vector<std::string> ImagesOnly() { return ImagePaths(ImageFolderPath(Fault::kNone)); }
std::vector<std::string> VocPaths() { return VocPathsIn(VocSetOf(Fault::kNone).folder()); }
std::vector<std::string> ImagesAndList() {
  std::vector<std::string> paths = ImagesOnly();
  paths.push_back(ImageFolderPath(Fault::kNone) + "/list");
  return paths;
}

std::vector<ContractCase> Files(Where where) {
  const std::vector<int64_t> numbers = Numbers(kRecords);
  return {
      Reads("recordio", RecordIO, where, RecordIOPaths, {}, numbers, {20, 20}),
      Reads("recordio_shuffle", RecordIO, where, RecordIOPaths, {Shuffle(7)}, numbers, {20}),
      Reads("recordio_batch_double_buffer", RecordIO, where, RecordIOPaths,
            {Batch(8), DoubleBuffer(2)}, numbers, {2, 2}),
      Reads("recordio_shuffle_batch_multi_pass_to_device", RecordIO, where, RecordIOPaths,
            {Shuffle(11), Batch(4), MultiPass(2), ToDevice(2)}, Twice(numbers), {5}),
      Reads("fixed", Fixed, where, FixedPaths, {}, numbers, {20}),
      Reads("fixed_in_random_order", FixedInRandomOrder, where, FixedPaths, {}, numbers, {0}),
      Reads("fixed_in_random_order_batch_double_buffer", FixedInRandomOrder, where, FixedPaths,
            {Batch(8), DoubleBuffer(2)}, numbers, {0}),
      Reads("idx", Idx, where, IdxPaths, {}, {}),
      Reads("npy", NpyArray, where, NpyPaths, {}, numbers, {20}),
      Reads("npz_shuffle", Npz, where, NpzPaths, {Shuffle(7)}, numbers),
      Reads("deflated_npz_batch", DeflatedNpz, where, DeflatedNpzPaths, {Batch(8)}, numbers),
      Reads("text", Text, where, TextPaths, {}, {}),
      Reads("text_shuffle_batch", Text, where, TextPaths, {Shuffle(2), Batch(2)}, {}),
      Reads("tfrecord", TFRecord, where, TFRecordPaths, {}, {}, {20}),
      Reads("tfrecord_shuffle_batch", TFRecord, where, TFRecordPaths, {Shuffle(7), Batch(4)}, {},
            {5}),
      Reads("indexed_tfrecord_batch", IndexedTFRecord, where, IndexedTFRecordPaths, {Batch(8)}, {},
            {2}),
      Reads("mxnet", Mxnet, where, MxnetPaths, {}, {}, {20, 20}),
      Reads("mxnet_shuffle_batch", Mxnet, where, MxnetPaths, {Shuffle(7), Batch(4)}, {}, {5}),
      Reads("indexed_mxnet_batch", IndexedMxnet, where, IndexedMxnetPaths, {Batch(8)}, {}, {2, 2}),
      Reads("mds_batch", Mds, where, MdsPaths, {Batch(8)}, numbers, {2, 2}),
      Reads("mds_shuffle", Mds, where, MdsPaths, {Shuffle(7)}, numbers, {20}),
      Reads("compressed_mds", ZstdMds, where, ZstdMdsPaths, {}, numbers, {20, 20}),
      ReadsTextFormat(kCsv, where, {}, {20, 20}),
      ReadsTextFormat(kCsv, where, {Shuffle(7), Batch(4)}, {}),
      ReadsTextFormat(kTsv, where, {}, {20, 20}),
      ReadsTextFormat(kJsonl, where, {Batch(4)}, {5, 5}),
      ReadsTextFormat(kLibsvm, where, {}, {20, 20}),
      ReadsTextFormat(kMultiSlot, where, {}, {20, 20}),
      ReadsTextFormat(kCtrSvm, where, {}, {20, 20}),
      Reads("image_folder", ImageFolder, where, ImagesOnly, {}, {}, {kFaultyImage}),
      // An image that is empty fails when it is loaded, so that it depends on the pass after how
      // many elements of a shuffle that is.
      Reads("image_folder_shuffle_batch", ImageFolder, where, ImagesOnly, {Shuffle(3), Batch(2)},
            {}),
      Reads("image_list_batch", ImageList, where, ImagesAndList, {Batch(4)}, {}, {16}),
      Reads("coco_batch", Coco, where, ImagesOnly, {Batch(2)}, {}, {33}),
      Reads("coco_shuffle_batch", Coco, where, ImagesOnly, {Shuffle(3), Batch(2)}, {}),
      Reads("voc_batch", Voc, where, VocPaths, {Batch(2)}, {}, {33}),
      Reads("voc_shuffle_batch", Voc, where, VocPaths, {Shuffle(3), Batch(2)}, {}),
      Reads("jpgs", Jpegs, where, ImagesOnly, {}, {}, {kFaultyImage}),
      Reads("tar_batch", Tar, where, TarPaths, {Batch(8)}, numbers, {2, 2}),
      Reads("tar_shuffle", Tar, where, TarPaths, {Shuffle(7)}, numbers, {20}),
      Reads("compressed_tar_batch", GzipTar, where, GzipTarPaths, {Batch(4)}, numbers, {5, 5}),
      Reads("parsed", Parsed, where, LabelsPaths, {}, numbers, {20, 20}),
      Reads("parsed_shuffle_batch_double_buffer", Parsed, where, LabelsPaths,
            {Shuffle(7), Batch(4), DoubleBuffer(2)}, numbers),
      Reads("compressed_fixed", GzipFixed, where, GzipFixedPaths, {}, numbers),
      Reads("compressed_text_batch", ZstdText, where, ZstdTextPaths, {Batch(2)}, {}),
      Reads("compressed_idx_shuffle", Lz4Idx, where, Lz4IdxPaths, {Shuffle(5)}, {}),
      Reads("open_files", OpenFiles, where, ShardPaths, {}, numbers, {20, 20}),
      Reads("recordio_shard_by_chunk_shuffle", RecordIO, where, RecordIOPaths,
            {ShardByChunk(3, 1), Shuffle(4)}, {}),
      Reads("open_files_shard_by_chunk", OpenFiles, where, ShardPaths, {ShardByChunk(2, 1)}, {}),
      Reads("open_files_shuffled", OpenFilesShuffled, where, ShardPaths, {}, Twice(numbers)),
      Reads("open_files_shuffle_batch_double_buffer", OpenFiles, where, ShardPaths,
            {Shuffle(16), Batch(8), DoubleBuffer(2)}, numbers, {2}),
      Reads("open_files_in_random_chunks", OpenFilesInRandomChunks, where, ShardPaths, {}, numbers),
      Reads("open_files_in_random_chunks_shuffle_batch_double_buffer", OpenFilesInRandomChunks,
            where, ShardPaths, {Shuffle(16), Batch(8), DoubleBuffer(2)}, numbers),
      Reads("open_files_map_batch_multi_pass_to_device", OpenFiles, where, ShardPaths,
            {Map(), Batch(3), MultiPass(2), ToDevice(2)}, Twice(numbers), {6, 6}),
  };
}

std::vector<ContractCase> FilesByIndex() {
  const Where where = Where::kDisk;
  return {
      Reads("tfrecord_with_index", TFRecordWithIndex, where, FilesWithIndex, {}, {}, {0}),
      Reads("tfrecord_with_index_shuffle_batch", TFRecordWithIndex, where, FilesWithIndex,
            {Shuffle(7), Batch(4)}, {}, {0}),
      Reads("tfrecord_with_index_shard_by_chunk", TFRecordWithIndex, where, FilesWithoutIndex,
            {ShardByChunk(2, 0)}, {}),
  };
}

// Mapped records, and records of mapped files that have to be expanded.
std::vector<ContractCase> MappedFiles() {
  const std::vector<int64_t> numbers = Numbers(kRecords);
  const Where where = Where::kMapped;
  return {
      Reads("recordio", PlainRecordIO, where, PlainRecordIOPaths, {}, numbers, {20, 20}),
      Reads("recordio_shuffle", PlainRecordIO, where, PlainRecordIOPaths, {Shuffle(7)}, numbers,
            {20}),
      Reads("recordio_shuffle_batch_multi_pass_to_device", PlainRecordIO, where, PlainRecordIOPaths,
            {Shuffle(11), Batch(4), MultiPass(2), ToDevice(2)}, Twice(numbers), {5}),
      Reads("recordio_compressed", RecordIO, where, RecordIOPaths, {Shuffle(7), Batch(4)}, numbers,
            {5}),
      Reads("fixed", Fixed, where, FixedPaths, {}, numbers, {20}),
      Reads("fixed_batch_unbatch", Fixed, where, FixedPaths, {Batch(8), Unbatch()}, numbers, {16}),
      Reads("idx", Idx, where, IdxPaths, {}, {}),
      Reads("jpgs_shuffle", Jpegs, where, ImagesOnly, {Shuffle(3)}, {}),
      Reads("npy_shuffle", NpyArray, where, NpyPaths, {Shuffle(7)}, numbers, {20}),
      Reads("npz", Npz, where, NpzPaths, {}, numbers),
      Reads("indexed_tfrecord_shuffle", IndexedTFRecord, where, IndexedTFRecordPaths, {Shuffle(7)},
            {}, {20}),
      Reads("indexed_mxnet_shuffle", IndexedMxnet, where, IndexedMxnetPaths, {Shuffle(7)}, {},
            {20}),
      Reads("mds_shuffle", Mds, where, MdsPaths, {Shuffle(7)}, numbers, {20}),
      Reads("tar_shuffle", Tar, where, TarPaths, {Shuffle(7)}, numbers, {20}),
      Reads("text_shuffle_batch", Text, where, TextPaths, {Shuffle(2), Batch(2)}, {}),
      ReadsTextFormat(kTsv, where, {Shuffle(7), Batch(4)}, {}),
      ReadsTextFormat(kJsonl, where, {}, {20, 20}),
      Reads("parsed_batch", Parsed, where, LabelsPaths, {Batch(4)}, numbers, {5, 5}),
      Reads("open_files_shuffle_batch_double_buffer", OpenFiles, where, ShardPaths,
            {Shuffle(16), Batch(8), DoubleBuffer(2)}, numbers, {2}),
      Reads("open_files_in_random_chunks_shuffle", OpenFilesInRandomChunks, where, ShardPaths,
            {Shuffle(7)}, numbers),
  };
}

INSTANTIATE_TEST_SUITE_P(Sources, ReaderContract, WithPools(Sources()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Decorators, ReaderContract, WithPools(Decorators()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Combined, ReaderContract, WithPools(Combined()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Chains, ReaderContract, WithPools(Chains()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Files, ReaderContract, WithPools(Files(Where::kDisk)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(FilesByIndex, ReaderContract, WithPools(FilesByIndex()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(MemoryFiles, ReaderContract, WithPools(Files(Where::kMemory)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(MappedFiles, ReaderContract, WithPools(MappedFiles()), NameOfCase);
// Values are in the slots of their fields with any number of threads; the rows above have more.
INSTANTIATE_TEST_SUITE_P(Fields, ReaderContract,
                         WithAPoolAndWithout(FieldsInAnyOrder(Where::kDisk)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(MappedFields, ReaderContract,
                         WithAPoolAndWithout(FieldsInAnyOrder(Where::kMapped)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(MemoryFiles, FaultyFilesContract,
                         WithAPoolAndWithout(Files(Where::kMemory)), NameOfCase);
INSTANTIATE_TEST_SUITE_P(PluginFields, FaultyFilesContract,
                         WithAPoolAndWithout(FieldsInAnyOrder(Where::kMemory, true)), NameOfCase);

}  // namespace
}  // namespace millhopper
