// SPDX-License-Identifier: Apache-2.0
// What it costs to hand elements from one thread to another, and what a double buffer hides.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/map_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr int64_t kRecordsAtOnce = 128;
constexpr int64_t kElements = 20000;
constexpr size_t kDepth = 2;

ReaderPtr Buffered(ReaderPtr reader) {
  return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), kDepth);
}

// Elements that take 10 us each to make. Cheaper ones are not handed to another thread.
ReaderPtr WorkedOn() {
  LoDTensor element;
  std::fill_n(element.Allocate<float>({kRecordsAtOnce, 1}), kRecordsAtOnce, 1.0f);
  ReaderPtr resident = Resident(element, kElements);
  const std::vector<SlotSpec> slots = resident->slots();
  return std::make_unique<MapReader>(
      std::move(resident), slots,
      [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        WorkUntil(WallSeconds() + 10e-6);
        out->swap(*in);
      });
}

// Hands elements from one thread to another through a ring of pointers that is as deep as the
// double buffer. No thread ever sleeps. Returns seconds per element.
double SecondsPerPointer() {
  std::array<std::atomic<const int64_t*>, kDepth> ring = {};
  std::vector<int64_t> payload(kDepth, 1);
  const double begin = WallSeconds();
  std::thread producer([&] {
    for (size_t i = 0; i < static_cast<size_t>(kElements); ++i) {
      auto& place = ring[i % kDepth];
      while (place.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
      place.store(&payload[i % kDepth], std::memory_order_release);
    }
  });
  int64_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(kElements); ++i) {
    auto& place = ring[i % kDepth];
    const int64_t* got = nullptr;
    while ((got = place.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    sum += *got;
    place.store(nullptr, std::memory_order_release);
  }
  producer.join();
  const double spent = WallSeconds() - begin;
  Require(sum == kElements, "the ring lost a pointer");
  return spent / static_cast<double>(kElements);
}

void CheckDigest(ReaderBase* reader, const std::string& wanted) {
  const std::string digest = DigestOfPass(reader, true);
  Require(digest == wanted, "the stream behind a double buffer is ", digest);
}

// Measures the time that an element takes beyond making it. All threads share the making.
Measured MeasureHandoff() {
  constexpr auto kRecords = static_cast<uint64_t>(kElements * kRecordsAtOnce);
  const auto seconds_an_element = [](PassTimer* chain) {
    return static_cast<double>(kRecordsAtOnce) / chain->ReadFor(0.0);
  };
  Measured measured;
  measured.records = kRecords;
  Usage used;
  for (int round = 0; round < Options().rounds; ++round) {
    const Usage before = Usage::Now();
    ThreadPool::Get().SetSize(0);
    PassTimer bare(WorkedOn(), kRecords);
    if (round == 0) measured.digest = DigestOfPass(bare.reader(), true);
    const double made = seconds_an_element(&bare);
    ThreadPool::Get().SetSize(Options().workers);
    PassTimer buffered(Buffered(WorkedOn()), kRecords);
    if (round == 0) CheckDigest(buffered.reader(), measured.digest);
    const double spent = seconds_an_element(&buffered);
    measured.rates.push_back(kRecordsAtOnce / (spent - made / Options().threads()));
    measured.limits.push_back(kRecordsAtOnce / SecondsPerPointer());
    used += Usage::Now() - before;
  }
  measured.foreign_share = used.foreign_share();
  return measured;
}

ReaderPtr ImageBatches() {
  return Batched(Shuffled(OpenOne(MnistRecords(RecordIOCompressor::kNone, 200000)), 8192), 128);
}

// How long a thread takes to make each batch of a pass, after those that fill the window, while
// this thread is as busy as a consumer. To be beside a busy thread alone may cost a tenth and more
// of a processor's speed.
std::vector<double> SecondsOfBatches(ReaderBase* reader) {
  auto producer = std::async(std::launch::async, [reader] {
    std::vector<double> seconds;
    std::vector<LoDTensor> batch;
    reader->ReInit();
    reader->ReadNext(&batch);
    reader->ReadNext(&batch);
    for (double begin = WallSeconds(); reader->HasNext();) {
      reader->ReadNext(&batch);
      const double end = WallSeconds();
      seconds.push_back(end - begin);
      begin = end;
    }
    return seconds;
  });
  while (producer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    WorkUntil(WallSeconds() + 1e-6);
  }
  return producer.get();
}

// How long a consumer takes that works equally long on each batch, if batches that take so long to
// make are handed over at no cost through a buffer of kDepth. It waits even then, because some take
// longer than others.
double IdealSeconds(const std::vector<double>& seconds, double work) {
  std::vector<double> taken(seconds.size());
  double made = 0;
  double ended = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    made = std::max(made, i < kDepth ? 0 : taken[i - kDepth]) + seconds[i];
    taken[i] = std::max(made, ended);
    ended = taken[i] + work;
  }
  return ended;
}

// A pass of a consumer that works on each batch for `work` seconds. Returns how long it takes.
double ConsumePass(ReaderBase* reader, double work, std::vector<double>* waits) {
  std::vector<LoDTensor> batch;
  Consumer consumer;
  reader->ReInit();
  reader->ReadNext(&batch);  // fills the window
  reader->ReadNext(&batch);
  const double begin = WallSeconds();
  for (;;) {
    const double asked = WallSeconds();
    if (!reader->HasNext()) break;
    reader->ReadNext(&batch);
    const double got = WallSeconds();
    consumer.Take(batch);
    waits->push_back(got - asked);
    WorkUntil(got + work);
  }
  return WallSeconds() - begin;
}

// The limit is an ideal double buffer: what waking, handing over and caches cost is left out, but
// not that some batches take longer to make than others, nor that both processors are busy.
Measured MeasureDoubleBuffer() {
  constexpr uint64_t kRecords = 200000;
  constexpr int kTurns = 4;  // the speed of processors may change from one to the next
  Measured measured;
  measured.records = kRecords;
  const int workers = Options().workers;
  Usage used;
  std::vector<double> waits, stalls, ideal_stalls;
  for (int round = 0; round < Options().rounds; ++round) {
    const Usage before = Usage::Now();
    const ReaderPtr bare = ImageBatches();
    const ReaderPtr reader = Buffered(ImageBatches());
    double batches = 0, worked = 0, spent = 0, ideal = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      ThreadPool::Get().SetSize(0);
      if (measured.digest.empty()) measured.digest = DigestOfPass(bare.get(), true);
      const std::vector<double> seconds = SecondsOfBatches(bare.get());
      const auto made = static_cast<double>(seconds.size());
      const double work = std::accumulate(seconds.begin(), seconds.end(), 0.0) / made;
      ThreadPool::Get().SetSize(workers);
      if (round == 0 && turn == 0) CheckDigest(reader.get(), measured.digest);
      batches += made;
      worked += made * work;
      ideal += IdealSeconds(seconds, work);
      spent += ConsumePass(reader.get(), work, &waits);
    }
    measured.rates.push_back(batches / spent);
    measured.limits.push_back(batches / ideal);
    stalls.push_back(1 - worked / spent);
    ideal_stalls.push_back(1 - worked / ideal);
    used += Usage::Now() - before;
  }
  std::sort(waits.begin(), waits.end());
  const auto quantile = [&](double q) {
    return waits[static_cast<size_t>(q * static_cast<double>(waits.size() - 1))];
  };
  measured.foreign_share = used.foreign_share();
  measured.counters = {{"stall_share", Median(stalls)},
                       {"ideal_stall_share", Median(ideal_stalls)},
                       {"next_p50_seconds", quantile(0.5)},
                       {"next_p99_seconds", quantile(0.99)}};
  measured.note = StrCat("Next p50 ", TimeText(quantile(0.5)), ", p99 ", TimeText(quantile(0.99)));
  return measured;
}

}  // namespace

void AddHandoffWorkloads(Workloads* workloads) {
  Workload handoff;
  handoff.name = "handoff";
  handoff.unit = Unit::kTime;
  handoff.what = "rec";
  AimAtTime(10e-9, &handoff);
  handoff.measure = MeasureHandoff;
  handoff.copy = [] {
    ChainSpec spec;
    spec.make = [] { return Buffered(WorkedOn()); };
    return CopyChain(spec);
  };
  workloads->push_back(std::move(handoff));

  Workload buffer;
  buffer.name = "double_buffer";
  buffer.what = "batch";
  buffer.target = "0.96, 30 us";
  buffer.reached = [](const Measured& measured) {
    return measured.ratio() >= 0.96 && measured.counter("next_p50_seconds") <= 30e-6;
  };
  buffer.measure = MeasureDoubleBuffer;
  buffer.copy = [] {
    ChainSpec spec;
    spec.make = [] { return Buffered(ImageBatches()); };
    return CopyChain(spec);
  };
  workloads->push_back(std::move(buffer));
}

}  // namespace millhopper
