// SPDX-License-Identifier: Apache-2.0
#include "framework/reader_holder.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "framework/error.h"

namespace millrace {
namespace {

// A sum that one thread adds to and others may look at.
template <typename T>
class Counter {
 public:
  void Add(T value) { sum_.store(get() + value, std::memory_order_relaxed); }
  T get() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> sum_{0};
};

// Adds the time of a scope to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(Counter<double>* seconds)
      : seconds_(seconds), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    seconds_->Add(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
  }

 private:
  Counter<double>* const seconds_;
  const std::chrono::steady_clock::time_point begin_;
};

}  // namespace

struct ReaderHolder::Source {
  explicit Source(std::unique_ptr<ReaderBase> r) : reader(std::move(r)) {}
  const std::unique_ptr<ReaderBase> reader;
  std::mutex mutex;         // guards Plan and Restart of the reader and what is below
  uint64_t generation = 0;  // how often the reader was restarted
  std::atomic<int> handles{0};
};

class ReaderHolder::Handle final : public ReaderBase {
 public:
  explicit Handle(std::shared_ptr<Source> source)
      : ReaderBase(source->reader->slots()), source_(std::move(source)) {
    set_origin(source_->reader->origin());
    std::lock_guard<std::mutex> lock(source_->mutex);
    ++source_->handles;
    generation_ = source_->generation;
  }
  ~Handle() override {
    std::lock_guard<std::mutex> lock(source_->mutex);
    --source_->handles;
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    source_->reader->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return source_->reader->row_slots(); }
  Place place() const override { return source_->reader->place(); }
  // What is ready now may be somebody else's in a moment.
  size_t Ready() const override {
    const size_t ready = source_->reader->Ready();
    return ready == SIZE_MAX || source_->handles.load() == 1 ? ready : 0;
  }
  std::optional<uint64_t> PassLength() const override {
    return source_->handles.load() > 1 ? std::nullopt : source_->reader->PassLength();
  }

 private:
  void PlanNext(size_t n, Run* run) override {
    std::lock_guard<std::mutex> lock(source_->mutex);
    if (generation_ == source_->generation) source_->reader->Plan(n, run);
  }

  // The pass is handed down to a reader that nobody else shares; for one that is shared it is the
  // number of restarts, since the handles may count differently.
  void Rewind(uint64_t pass) override {
    std::lock_guard<std::mutex> lock(source_->mutex);
    if (generation_ == source_->generation) {
      ++source_->generation;
      source_->reader->Restart(source_->handles == 1 ? pass : source_->generation);
    }
    generation_ = source_->generation;
  }

  const std::shared_ptr<Source> source_;
  uint64_t generation_ = 0;
};

struct ReaderHolder::Counters {
  Counter<uint64_t> passes, elements, records, bytes;
  Counter<double> wait_seconds;
  bool pass_counted = false;
};

ReaderHolder::ReaderHolder() : counters_(std::make_unique<Counters>()) {}
ReaderHolder::~ReaderHolder() = default;
ReaderHolder::ReaderHolder(ReaderHolder&&) noexcept = default;
ReaderHolder& ReaderHolder::operator=(ReaderHolder&&) noexcept = default;

void ReaderHolder::Reset(std::unique_ptr<ReaderBase> reader) {
  own_.reset();
  source_ = std::make_shared<Source>(std::move(reader));
  counters_ = std::make_unique<Counters>();
}

std::unique_ptr<ReaderBase> ReaderHolder::NewHandle() const {
  Require(has_reader(),
          "there is no reader here yet: the startup program that creates it has not "
          "been run");
  return std::make_unique<Handle>(source_);
}

ReaderBase& ReaderHolder::own() {
  if (own_ == nullptr) own_ = NewHandle();
  return *own_;
}

void ReaderHolder::ReadNext(std::vector<LoDTensor>* out) {
  Stopwatch stopwatch(&counters_->wait_seconds);
  own().ReadNext(out);
  if (!counters_->pass_counted) counters_->passes.Add(1);
  counters_->pass_counted = true;
  counters_->elements.Add(1);
  for (const LoDTensor& tensor : *out) counters_->bytes.Add(tensor.bytes());
  const LoDTensor& first = out->front();
  counters_->records.Add(first.lod().empty() ? static_cast<uint64_t>(first.dims()[0])
                                             : first.lod().front().size() - 1);
}

bool ReaderHolder::HasNext() {
  Stopwatch stopwatch(&counters_->wait_seconds);
  return own().HasNext();
}

void ReaderHolder::ReInit() {
  own().ReInit();
  counters_->pass_counted = false;
}

std::optional<uint64_t> ReaderHolder::PassLength() { return own().PassLength(); }

ReaderStats ReaderHolder::stats() const {
  return {counters_->passes.get(), counters_->elements.get(), counters_->records.get(),
          counters_->bytes.get(), counters_->wait_seconds.get()};
}

const std::vector<SlotSpec>& ReaderHolder::slots() const {
  Require(has_reader(), "there is no reader here yet");
  return source_->reader->slots();
}

const std::string& ReaderHolder::origin() const {
  Require(has_reader(), "there is no reader here yet");
  return source_->reader->origin();
}

}  // namespace millrace
