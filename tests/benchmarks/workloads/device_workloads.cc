// SPDX-License-Identifier: Apache-2.0
// How fast batches reach the memory of a device, in builds with --config=cuda on a machine that has
// one.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "framework/memory/place.h"
#include "readers/decorate/double_buffer_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr int64_t kImages = 64;  // in a batch
constexpr size_t kPassBytes = size_t{16} << 30;
constexpr size_t kDepth = 3;

// An image of 224 x 224 pixels, as networks take it.
LoDTensor Image(DataType type) {
  LoDTensor image;
  image.Allocate(type, {1, 3, 224, 224});
  auto* const bytes = static_cast<unsigned char*>(image.mutable_raw_data());
  for (size_t i = 0; i < image.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  return image;
}

ReaderPtr BatchesOn(Place place, const LoDTensor& image) {
  const auto images = static_cast<int64_t>(kPassBytes / image.bytes()) / kImages * kImages;
  return std::make_unique<DoubleBufferReader>(Batched(Resident(image, images), kImages), place,
                                              kDepth);
}

// Bytes per second that the device copies from as many pinned buffers, when no thread fills them.
double CopyRate(Place place, size_t bytes) {
  std::vector<Ref<Buffer>> from, to;
  for (size_t i = 0; i < kDepth; ++i) {
    from.push_back(BufferPool::PinnedFor(place).Take(bytes));
    to.push_back(BufferPool::At(place).Take(bytes));
    std::memset(from.back()->data(), static_cast<int>(i), bytes);
  }
  std::array<std::shared_ptr<DeviceEvent>, kDepth> copies;
  const size_t batches = kPassBytes / bytes;
  return RateOf(static_cast<double>(bytes * batches), [&] {
    for (size_t i = 0; i < batches; ++i) {
      std::shared_ptr<DeviceEvent>& copy = copies[i % kDepth];
      if (copy != nullptr) copy->Wait();
      copy = place.device()->CopyFromHost(to[i % kDepth]->data(), from[i % kDepth]->data(), bytes);
    }
    for (const auto& copy : copies) copy->Wait();
  });
}

// Reads a pass, and works on each batch for `work` seconds. Returns how long it takes for a batch,
// after the first ones.
double SecondsPerBatch(ReaderBase* reader, double work) {
  std::vector<LoDTensor> batch;
  reader->ReInit();
  for (size_t i = 0; i < kDepth; ++i) reader->ReadNext(&batch);
  double batches = 0;
  const double begin = WallSeconds();
  for (; reader->HasNext(); ++batches) {
    reader->ReadNext(&batch);
    WorkUntil(WallSeconds() + work);
  }
  return (WallSeconds() - begin) / batches;
}

void CheckFirstBatch(ReaderBase* reader, const LoDTensor& image) {
  std::vector<LoDTensor> batch;
  reader->ReadNext(&batch);
  const LoDTensor there = batch[0].OnHost();
  Require(there.bytes() == image.bytes() * kImages, "a batch has ", there.bytes(), " bytes");
  for (size_t i = 0; i < static_cast<size_t>(kImages); ++i) {
    const auto* const row = static_cast<const char*>(there.raw_data()) + i * image.bytes();
    Require(std::memcmp(row, image.raw_data(), image.bytes()) == 0, "image ", i,
            " of a batch on the device is not the one that was loaded");
  }
}

Measured MeasureBatches(Place place, DataType type) {
  const LoDTensor image = Image(type);
  const size_t bytes = image.bytes() * kImages;
  const ReaderPtr reader = BatchesOn(place, image);
  CheckFirstBatch(reader.get(), image);
  Measured measured;
  measured.records = kPassBytes / bytes * kImages;
  std::vector<double> stalls;
  const Usage before = Usage::Now();
  SecondsPerBatch(reader.get(), 0);
  for (int round = 0; round < Options().rounds; ++round) {
    measured.limits.push_back(CopyRate(place, bytes));
    const double work = SecondsPerBatch(reader.get(), 0);
    measured.rates.push_back(static_cast<double>(bytes) / work);
    stalls.push_back(1 - work / SecondsPerBatch(reader.get(), work));
  }
  measured.foreign_share = (Usage::Now() - before).foreign_share();
  measured.counters = {{"stall_share", Median(stalls)}};
  return measured;
}

}  // namespace

void AddDeviceWorkloads(Workloads* workloads) {
  const std::vector<std::string> devices = DeviceNames();
  const auto gpu = std::find_if(devices.begin(), devices.end(), [](const std::string& name) {
    return name.rfind("cuda:", 0) == 0;
  });
  if (gpu == devices.end()) return;
  const Place place = Place::Parse(*gpu);
  const std::pair<const char*, DataType> rows[] = {{"h2d", DataType::kFp32},
                                                   {"h2d_u8", DataType::kUint8}};
  for (const auto& [name, type] : rows) {
    Workload workload;
    workload.name = name;
    workload.what = "byte";
    workload.target = "0.90, 5 %";
    workload.reached = [](const Measured& measured) {
      return measured.ratio() >= 0.9 && measured.counter("stall_share") <= 0.05;
    };
    workload.measure = [place, type = type] { return MeasureBatches(place, type); };
    workloads->push_back(std::move(workload));
  }
}

}  // namespace millhopper
