// SPDX-License-Identifier: Apache-2.0
// Workloads that read many files at once, one of which may be slow.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "framework/reader/file_format.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limits/limit.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr size_t kSlowFile = 3;
constexpr double kSlowBytesPerSecond = 50e6;

// A file that is as slow as a slow disk: a thread that fetches a chunk sleeps until its bytes would
// have come.
class SlowSource final : public FileSource {
 public:
  explicit SlowSource(std::unique_ptr<FileSource> source) : source_(std::move(source)) {}

  bool Claim(Chunk* chunk) override { return source_->Claim(chunk); }
  void Fetch(Chunk* chunk) const override {
    const std::chrono::duration<double> takes(static_cast<double>(chunk->length) /
                                              kSlowBytesPerSecond);
    std::chrono::steady_clock::time_point done;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      free_ = std::max(free_, std::chrono::steady_clock::now()) +
              std::chrono::duration_cast<std::chrono::steady_clock::duration>(takes);
      done = free_;
    }
    std::this_thread::sleep_until(done);
    source_->Fetch(chunk);
  }

 private:
  const std::unique_ptr<FileSource> source_;
  mutable std::mutex mutex_;
  mutable std::chrono::steady_clock::time_point free_;
};

// RecordIO, of which one file is slow.
class OneSlowFormat final : public FileFormat {
 public:
  explicit OneSlowFormat(std::unique_ptr<FileFormat> format)
      : FileFormat(format->slots()), format_(std::move(format)) {}

  const std::vector<SlotSpec>& row_slots() const override { return format_->row_slots(); }
  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    static const std::string slow = StrCat("-", kSlowFile, ".recordio");
    std::unique_ptr<FileSource> source = format_->Open(file);
    const bool is_slow = file.path.size() > slow.size() &&
                         file.path.compare(file.path.size() - slow.size(), slow.size(), slow) == 0;
    if (!is_slow) return source;
    return std::make_unique<SlowSource>(std::move(source));
  }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    format_->Load(tickets, n, rows);
  }

 private:
  const std::unique_ptr<FileFormat> format_;
};

FormatSchema OneSlowSchema() {
  FormatSchema schema("RecordIO, of which one file is slow: for benchmarks");
  schema.attributes = FindFileFormat("recordio")->attributes;
  return schema;
}

std::unique_ptr<FileFormat> MakeOneSlow(const FormatArguments& arguments) {
  return std::make_unique<OneSlowFormat>(FindFileFormat("recordio")->Make(arguments));
}

DataSet Images() {
  return MnistRecords(RecordIOCompressor::kNone, SharedData::kImagesInFiles, SharedData::kFiles);
}

ChainSpec FilesSpec(const DataSet& data, bool deterministic) {
  ChainSpec spec;
  spec.records = data.records;
  spec.ordered = deterministic;
  spec.make = [data, deterministic] {
    MultiFileOptions options;
    options.deterministic = deterministic;
    return Batched(OpenAll(data, options), 128);
  };
  return spec;
}

void AddFiles(const std::string& name, bool one_thread, Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "rec";
  workload.measure = [one_thread] {
    ChainSpec spec = FilesSpec(Images(), true);
    spec.one_thread = one_thread;
    std::shared_ptr<FileLimit> limit;
    spec.limit = [limit]() mutable {
      if (!limit) limit = std::make_shared<FileLimit>(Images());
      return limit->SecondsPerRecord();
    };
    return MeasureChain(spec);
  };
  workload.copy = [] { return CopyChain(FilesSpec(Images(), true)); };
  workloads->push_back(std::move(workload));
}

// The limit is the slow file's own time, unless all the others take longer.
void AddOneSlow(const std::string& name, bool deterministic, Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "rec";
  workload.measure = [deterministic] {
    static const bool registered = RegisterFileFormat("one_slow", OneSlowSchema(), MakeOneSlow);
    Require(registered, "no format of slow files");
    DataSet data = Images();
    ChainSpec spec;
    std::shared_ptr<FileLimit> limit;
    const double slow_seconds =
        static_cast<double>(std::filesystem::file_size(data.files[kSlowFile])) /
        kSlowBytesPerSecond;
    data.format = "one_slow";
    spec = FilesSpec(data, deterministic);
    spec.limit = [limit, slow_seconds]() mutable {
      if (!limit) limit = std::make_shared<FileLimit>(Images());
      return std::max(limit->SecondsPerRecord(),
                      slow_seconds * Options().threads() / SharedData::kImagesInFiles);
    };
    return MeasureChain(spec);
  };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddMultiFileWorkloads(Workloads* workloads) {
  AddFiles("multi_file_1_thread", true, workloads);
  AddFiles("multi_file_all_threads", false, workloads);
  Workload scaling;
  scaling.name = "multi_file";
  scaling.unit = Unit::kFactor;
  AimAtFactor(1.7, &scaling);
  scaling.measure = [] { return MeasureScaling(FilesSpec(Images(), true)); };
  scaling.copy = [] { return CopyChain(FilesSpec(Images(), true)); };
  workloads->push_back(std::move(scaling));
  AddOneSlow("multi_file_one_slow", true, workloads);
  AddOneSlow("multi_file_one_slow_any_order", false, workloads);
}

}  // namespace millhopper
