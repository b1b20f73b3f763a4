// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/chain.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/thread_pool.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/lanes/lane_batch_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/sources/open_files.h"
#include "readers/support/checksums.h"
#include "tests/benchmarks/copied_bytes.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

constexpr uint64_t kSeed = 7;

FormatArguments ArgumentsOf(const DataSet& data) {
  FormatArguments arguments;
  arguments.declared = data.slots;
  if (!data.fields.empty()) arguments.attributes.Set("fields", data.fields);
  arguments.has_companions = !data.companions.empty();
  arguments.buffer_type = data.buffer_type;
  return arguments;
}

uint64_t RecordsIn(const std::vector<LoDTensor>& batch) {
  const LoDTensor& first = batch.front();
  if (!first.lod().empty()) return first.lod().front().size() - 1;
  return static_cast<uint64_t>(first.dims()[0]);
}

// The sum over the rows of a batch without levels of detail, of all slots together.
uint64_t SumOfRows(const std::vector<LoDTensor>& batch) {
  uint64_t sum = 0;
  const uint64_t rows = RecordsIn(batch);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t sums = 0;
    for (const LoDTensor& slot : batch) {
      const size_t bytes = slot.bytes() / rows;
      sums = MixBits(sums + Crc32c(static_cast<const char*>(slot.raw_data()) + row * bytes, bytes));
    }
    sum += sums;
  }
  return sum;
}

class ResidentReader final : public ReaderBase {
 public:
  ResidentReader(const std::vector<SlotSpec>& slots, LoDTensor element, int64_t count)
      : ReaderBase(slots), element_(std::move(element)), count_(count) {}

  void LoadRows(const Ticket*, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) rows->Append(0, element_);
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    for (; n > 0 && next_ < count_; --n) {
      Ticket ticket;
      ticket.id.sample = static_cast<uint64_t>(next_++);
      run->Add(ticket);
    }
  }
  void Rewind(uint64_t) override { next_ = 0; }

  const LoDTensor element_;
  const int64_t count_;
  int64_t next_ = 0;
};

void UseThreads(int threads) {
  ThreadPool& pool = ThreadPool::Get();
  if (pool.size() != threads - 1) pool.SetSize(threads - 1);
}

// Gives the pool as many workers as the options say.
void UseAllThreads() { UseThreads(Options().workers + 1); }

}  // namespace

ReaderPtr OpenOne(const DataSet& data) {
  return OpenFile(*FindFileFormat(data.format), data.files.front(),
                  data.companions.empty() ? "" : data.companions.front(), ArgumentsOf(data));
}

ReaderPtr OpenAll(const DataSet& data, const MultiFileOptions& options) {
  std::vector<std::string> files;
  files.reserve(data.files.size());
  for (const std::string& file : data.files) files.push_back(data.format + ":" + file);
  return OpenFiles(files, data.companions, ArgumentsOf(data), options);
}

ReaderPtr OpenInRandomOrder(const DataSet& data) {
  MultiFileOptions options;
  options.shuffle_records = true;
  options.key = RandomKey(0, kSeed, "files");
  return OpenAll(data, options);
}

ReaderPtr Shuffled(ReaderPtr reader, int64_t window) {
  return std::make_unique<ShuffleReader>(std::move(reader), window,
                                         RandomKey(0, kSeed, "shuffled"));
}

ReaderPtr Batched(ReaderPtr reader, int64_t batch_size) {
  return std::make_unique<BatchReader>(std::move(reader), batch_size, false, BatchMode::kConcat);
}

ReaderPtr Laned(const DataSet& data, const LanedChain& chain) {
  std::vector<std::string> files;
  files.reserve(data.files.size());
  for (const std::string& file : data.files) files.push_back(data.format + ":" + file);
  LaneSet set = OpenFileLanes(files, data.companions, ArgumentsOf(data), {}, chain.lanes);
  for (size_t v = 0; v < chain.lanes && chain.window > 0; ++v) {
    const auto window = static_cast<size_t>(chain.window) + v;
    set.lanes[v] = std::make_unique<ShuffleReader>(std::move(set.lanes[v]),
                                                   static_cast<int64_t>(window / chain.lanes),
                                                   RandomKey(0, kSeed, "shuffled").OfPart(v));
  }
  set.stripe = static_cast<size_t>(chain.batch) / chain.lanes;
  return std::make_unique<LaneBatchReader>(std::make_unique<LanesReader>(std::move(set)),
                                           chain.batch, false, BatchMode::kConcat, chain.depth);
}

ReaderPtr Resident(const LoDTensor& element, int64_t count) {
  SlotSpec slot;
  slot.dtype = element.dtype();
  slot.dims = element.dims();
  return std::make_unique<ResidentReader>(std::vector<SlotSpec>{slot}, element, count);
}

void Consumer::Take(const std::vector<LoDTensor>& batch) {
  constexpr size_t kPage = 4096;
  ++batches;
  records += RecordsIn(batch);
  for (const LoDTensor& slot : batch) {
    const auto* values = static_cast<const uint8_t*>(slot.raw_data());
    const size_t size = slot.bytes();
    bytes += size;
    for (size_t at = 0; at < size; at += kPage) seen_ += values[at];
  }
  benchmark::DoNotOptimize(seen_);
}

void Consumer::TakeRest(ReaderBase* reader) {
  std::vector<LoDTensor> batch;
  while (reader->HasNext()) {
    reader->ReadNext(&batch);
    Take(batch);
  }
}

std::string DigestOfPass(ReaderBase* reader, bool ordered) {
  Sha256 stream;
  uint64_t sum = 0;
  std::vector<LoDTensor> batch;
  while (reader->HasNext()) {
    reader->ReadNext(&batch);
    if (ordered) {
      const Digest digest = DigestOf(batch);
      stream.Add(digest.data(), digest.size());
    } else {
      sum += SumOfRows(batch);
    }
  }
  return ordered ? ToHex(stream.Value()) : StrCat("without order, sum ", sum);
}

void PassTimer::ReadPass() {
  const uint64_t warm = batches_ / 4;
  reader_->ReInit();
  Consumer consumer;
  SteadyCounts before;
  while (reader_->HasNext()) {
    reader_->ReadNext(&batch_);
    consumer.Take(batch_);
    if (consumer.batches == warm) before = SteadyCounts::Now();
  }
  if (warm > 0) {
    const SteadyCounts after = SteadyCounts::Now();
    steady_ += after - before;
    steady_batches_ += consumer.batches - warm;
  }
  batches_ = consumer.batches;
  if (consumer.records != records_) {
    Throw(ErrorCode::kInternal, "a pass of ", consumer.records, " records instead of ", records_);
  }
}

double PassTimer::ReadFor(double seconds) {
  const double begin = WallSeconds();
  double spent = 0;
  double read = 0;
  do {
    ReadPass();
    read += static_cast<double>(records_);
    spent = WallSeconds() - begin;
  } while (spent < seconds);
  return read / spent;
}

namespace {

void AddSteadyCounters(const SteadyCounts& counts, uint64_t batches, Measured* measured) {
  const double divisor = std::max(1.0, static_cast<double>(batches));
  measured->counters.emplace_back("allocations_per_batch",
                                  static_cast<double>(counts.allocations) / divisor);
  measured->counters.emplace_back("page_faults_per_batch",
                                  static_cast<double>(counts.page_faults) / divisor);
}

}  // namespace

Measured MeasureChain(const ChainSpec& spec) {
  Measured measured;
  measured.records = spec.records;
  UseThreads(1);
  measured.digest = DigestOfPass(spec.make().get(), spec.ordered);
  DropIdleMemory();
  if (!spec.one_thread) UseAllThreads();
  PassTimer chain(spec.make(), spec.records);
  const std::string digest = DigestOfPass(chain.reader(), spec.ordered);
  if (digest != measured.digest) {
    Throw(ErrorCode::kInternal, "the stream is ", digest, ", with one thread ", measured.digest);
  }
  ResetPeak();
  chain.ReadPass();
  chain.ReadPass();
  const uint64_t peak = PeakBytes();

  const SteadyCounts warm = chain.steady();
  const uint64_t warm_batches = chain.steady_batches();
  const double threads = spec.one_thread ? 1 : Options().threads();
  Usage used;
  double read = 0;
  for (int round = 0; round < Options().rounds; ++round) {
    if (spec.limit) measured.limits.push_back(threads / spec.limit());
    const Usage before = Usage::Now();
    measured.rates.push_back(chain.ReadFor(Options().min_seconds / Options().rounds));
    const Usage spent = Usage::Now() - before;
    used += spent;
    read += measured.rates.back() * spent.wall_seconds;
  }
  measured.foreign_share = used.foreign_share();
  AddSteadyCounters(chain.steady() - warm, chain.steady_batches() - warm_batches, &measured);
  measured.counters.emplace_back("peak_bytes", static_cast<double>(peak));
  measured.counters.emplace_back("cpu_s_per_million", 1e6 * used.cpu_seconds / read);
  if (spec.limit) {
    // The ratio if no thread ever waited. A busy machine does not lower it.
    measured.counters.emplace_back("ratio_by_cpu_time",
                                   threads / measured.limit() / (used.cpu_seconds / read));
  }
  return measured;
}

Measured MeasureScaling(const ChainSpec& spec) {
  Measured measured;
  measured.records = spec.records;
  std::vector<double> one_thread, all_threads;
  Usage used, used_by_all;
  double read = 0;
  SteadyCounts steady;
  uint64_t steady_batches = 0;
  UseThreads(1);
  measured.digest = DigestOfPass(spec.make().get(), spec.ordered);
  for (int round = 0; round < Options().rounds; ++round) {
    const double seconds = Options().min_seconds / Options().rounds / 2;
    for (const bool all : {false, true}) {
      all ? UseAllThreads() : UseThreads(1);
      PassTimer chain(spec.make(), spec.records);
      chain.ReadPass();
      const Usage before = Usage::Now();
      (all ? all_threads : one_thread).push_back(chain.ReadFor(seconds));
      const Usage spent = Usage::Now() - before;
      used += spent;
      if (!all) continue;
      used_by_all += spent;
      read += all_threads.back() * spent.wall_seconds;
      steady += chain.steady();
      steady_batches += chain.steady_batches();
    }
    measured.rates.push_back(all_threads.back() / one_thread.back());
    measured.limits.push_back(Options().threads());
  }
  measured.foreign_share = used.foreign_share();
  measured.counters = {{"rate_of_one_thread", Median(one_thread)},
                       {"rate_of_all_threads", Median(all_threads)}};
  AddSteadyCounters(steady, steady_batches, &measured);
  measured.counters.emplace_back("cpu_s_per_million", 1e6 * used_by_all.cpu_seconds / read);
  return measured;
}

CopiedBytes CopyChain(const ChainSpec& spec) {
  UseAllThreads();
  const ReaderPtr reader = spec.make();
  const uint64_t before = BytesCopiedSoFar();
  Consumer consumer;
  consumer.TakeRest(reader.get());
  return {BytesCopiedSoFar() - before, consumer.bytes};
}

}  // namespace millhopper
