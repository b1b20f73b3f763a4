// SPDX-License-Identifier: Apache-2.0
// What it costs to hand elements from one thread to another, and what a double buffer hides.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "readers/double_buffer_reader.h"
#include "readers/map_reader.h"
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

// Works until a moment in time.
void WorkUntil(double until) {
  while (WallSeconds() < until) continue;
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

// How long one thread takes to make a batch.
double ProducerSeconds(PassTimer* chain) { return 128 / chain->ReadFor(0.0); }

// One round of a consumer that works on a batch as long as one thread takes to make it.
void ConsumePass(ReaderBase* reader, double work, std::vector<double>* waits, double* spent) {
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
  *spent = WallSeconds() - begin;
}

Measured MeasureDoubleBuffer() {
  constexpr uint64_t kRecords = 200000;
  Measured measured;
  measured.records = kRecords;
  const int workers = Options().workers;
  Usage used;
  std::vector<double> all_waits, stalls;
  for (int round = 0; round < Options().rounds; ++round) {
    const Usage before = Usage::Now();
    ThreadPool::Get().SetSize(0);
    PassTimer bare(ImageBatches(), kRecords);
    if (round == 0) measured.digest = DigestOfPass(bare.reader(), true);
    const double work = ProducerSeconds(&bare);
    ThreadPool::Get().SetSize(workers);
    const ReaderPtr reader = Buffered(ImageBatches());
    if (round == 0) CheckDigest(reader.get(), measured.digest);
    std::vector<double> waits;
    double spent = 0;
    ConsumePass(reader.get(), work, &waits, &spent);
    const auto batches = static_cast<double>(waits.size());
    measured.rates.push_back(batches / spent);
    measured.limits.push_back(1 / work);
    stalls.push_back(1 - batches * work / spent);
    all_waits.insert(all_waits.end(), waits.begin(), waits.end());
    used += Usage::Now() - before;
  }
  std::sort(all_waits.begin(), all_waits.end());
  const auto quantile = [&](double q) {
    return all_waits[static_cast<size_t>(q * static_cast<double>(all_waits.size() - 1))];
  };
  measured.foreign_share = used.foreign_share();
  measured.counters = {{"stall_share", Median(stalls)},
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
    return measured.counter("stall_share") <= 0.04 && measured.counter("next_p50_seconds") <= 30e-6;
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
