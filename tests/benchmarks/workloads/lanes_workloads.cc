// SPDX-License-Identifier: Apache-2.0
// Workloads of lanes: chains that share out the data, beside processes that share nothing.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "framework/reader/chunk_queue.h"
#include "readers/decorate/double_buffer_reader.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limits/process_limit.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

struct Shape {
  LanedChain chain;
  // The data as a file for each process, where chunks cannot be shared out since they do not tell
  // how many records they have.
  std::function<DataSet(int files)> apart;
  bool buffered = false;
  bool one_thread = false;
};

ChainSpec SpecOf(const DataSet& data, const Shape& shape) {
  ChainSpec spec;
  spec.records = data.records;
  spec.one_thread = shape.one_thread;
  spec.make = [data, shape]() -> ReaderPtr {
    ReaderPtr reader = Laned(data, shape.chain);
    if (!shape.buffered) return reader;
    return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 2);
  };
  return spec;
}

// The source of a process that shares nothing: its file, or its chunks.
ReaderPtr OpenShare(const DataSet& data, const Shape& shape, const ChunkShare& share) {
  if (shape.apart) {
    DataSet file = shape.apart(static_cast<int>(share.count));
    file.files = {file.files[share.index]};
    return OpenAll(file, {});
  }
  ReaderPtr reader = OpenAll(data, {});
  reader->TakeShare(share);
  return reader;
}

// Its chain: the same without lanes, with its share of the window.
ReaderPtr WithoutLanes(ReaderPtr reader, const LanedChain& chain, const ChunkShare& share) {
  if (chain.window > 0) {
    reader = Shuffled(std::move(reader), chain.window / static_cast<int64_t>(share.count));
  }
  return Batched(std::move(reader), chain.batch);
}

void AddLanes(const std::string& name, const std::function<DataSet()>& data, const Shape& shape,
              Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "rec";
  AimAtRatio(0.9, &workload);
  workload.measure = [name, data, shape] {
    ChainSpec spec = SpecOf(data(), shape);
    const int processes = shape.one_thread ? 1 : Options().threads();
    if (shape.apart) shape.apart(processes);
    ProcessLimit limit(name, processes, spec.records);
    spec.limit = [&limit] { return limit.SecondsPerRecord(); };
    return MeasureChain(spec);
  };
  workload.copy = [data, shape] { return CopyChain(SpecOf(data(), shape)); };
  workload.read_share = [data, shape](const ChunkShare& share) {
    ReadForEachLine(WithoutLanes(OpenShare(data(), shape, share), shape.chain, share).get());
  };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddLanesWorkloads(Workloads* workloads) {
  Shape usual;
  usual.chain.window = 8192;
  Shape one_thread = usual, buffered = usual, text = usual;
  one_thread.one_thread = true;
  buffered.buffered = true;
  text.chain.batch = 4096;
  text.apart = [](int files) { return CriteoTsv(SharedData::kRows, files); };
  const Shape unshuffled;

  const auto images = [] { return MnistRecords(RecordIOCompressor::kNone, SharedData::kImages); };
  AddLanes("rio_mnist_lanes", images, usual, workloads);
  AddLanes("rio_mnist_lanes_1_thread", images, one_thread, workloads);
  AddLanes("rio_mnist_lanes_double_buffer", images, buffered, workloads);
  AddLanes(
      "tiny64_lanes", [] { return Tiny64Fixed(SharedData::kTinyRecords); }, usual, workloads);
  AddLanes(
      "lod_tokens_lanes", [] { return TokenSequences(SharedData::kSequences); }, usual, workloads);
  AddLanes(
      "criteo_tsv_lanes", [] { return CriteoTsv(SharedData::kRows); }, text, workloads);
  AddLanes(
      "multi_file_lanes",
      [] {
        return MnistRecords(RecordIOCompressor::kNone, SharedData::kImagesInFiles,
                            SharedData::kFiles);
      },
      unshuffled, workloads);
}

}  // namespace millhopper
