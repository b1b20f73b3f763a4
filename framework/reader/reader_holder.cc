// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader_holder.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/place.h"
#include "framework/reader/reader.h"

namespace millhopper {
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
  // Ends the pass for all handles; the first that is restarted begins the next one.
  void EndPass() {
    std::lock_guard<std::mutex> lock(mutex);
    ++generation;
    due = true;
  }
  const std::unique_ptr<ReaderBase> reader;
  std::mutex mutex;         // guards Plan and Restart of the reader and what is below
  uint64_t generation = 0;  // how often the reader was restarted
  bool due = false;         // whether it is yet to be, by the first handle to do so
  std::atomic<int> handles{0};
  bool shared_out = false;  // it yields one share of its chunks
};

class ReaderHolder::Handle final : public ReaderBase {
 public:
  explicit Handle(std::shared_ptr<Source> source)
      : ReaderBase(source->reader->slots(), source->reader->depth()), source_(std::move(source)) {
    set_origin(source_->reader->origin());
    std::lock_guard<std::mutex> lock(source_->mutex);
    Require(
        !source_->shared_out, origin(),
        " yields the chunks of one shard only, to create_shard_reader; nobody else can read it");
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
  void TakeShare(const ChunkShare& share) override {
    std::lock_guard<std::mutex> lock(source_->mutex);
    Require(source_->handles == 1, origin(),
            " is read by others, too, who would get the chunks of one shard only");
    source_->reader->TakeShare(share);
    source_->shared_out = true;
  }
  const std::vector<SlotSpec>& row_slots() const override { return source_->reader->row_slots(); }
  Place place() const override { return source_->reader->place(); }
  // What is ready now may be somebody else's in a moment.
  size_t ElementsReady() const override {
    const size_t ready = source_->reader->ElementsReady();
    return ready == kAnyNumber || source_->handles.load() == 1 ? ready : 0;
  }
  std::optional<uint64_t> PassLength() const override {
    return source_->handles.load() > 1 ? std::nullopt : source_->reader->PassLength();
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    std::lock_guard<std::mutex> lock(source_->mutex);
    if (generation_ == source_->generation) source_->reader->Plan(n, run);
  }

  // The pass is handed down to a reader that nobody else shares; for one that is shared it is the
  // number of restarts, since the handles may count differently.
  void Rewind(uint64_t pass) override {
    std::lock_guard<std::mutex> lock(source_->mutex);
    const bool first = generation_ == source_->generation;
    if (first) ++source_->generation;
    generation_ = source_->generation;
    if (!first && !source_->due) return;
    source_->due = false;
    source_->reader->Restart(source_->handles == 1 ? pass : source_->generation);
  }

  const std::shared_ptr<Source> source_;
  uint64_t generation_ = 0;
};

// The reader of one holder, as part of the tree of those that stand on one another.
struct ReaderHolder::Held {
  Held(std::unique_ptr<ReaderBase> r, std::shared_ptr<Held> b)
      : source(std::make_shared<Source>(std::move(r))), below(std::move(b)) {}

  std::vector<std::shared_ptr<Held>> Above() {
    std::vector<std::shared_ptr<Held>> living;
    std::lock_guard<std::mutex> lock(mutex);
    for (const std::weak_ptr<Held>& reader : above) {
      if (std::shared_ptr<Held> held = reader.lock()) living.push_back(std::move(held));
    }
    above.assign(living.begin(), living.end());
    return living;
  }

  // With `use`.
  ReaderBase& Own() {
    if (own == nullptr) own = std::make_unique<Handle>(source);
    return *own;
  }

  // All that stand on the reader join one new pass of it, whoever of them began the last one:
  // `anew` says that this is the pass of a reader below.
  void ReInit(bool anew = false) {
    const std::vector<std::shared_ptr<Held>> readers = Above();
    if (anew || !readers.empty()) source->EndPass();
    for (const std::shared_ptr<Held>& reader : readers) reader->ReInit(true);
    std::lock_guard<std::mutex> lock(use);
    if (!readers.empty() && own == nullptr) return;
    Own().ReInit();
    pass_counted = false;
  }

  const std::shared_ptr<Source> source;
  std::mutex use;                     // whoever reads through the holder itself has it, and guards:
  std::unique_ptr<ReaderBase> own;    // his handle
  const std::shared_ptr<Held> below;  // kept, so that what is below it finds what is above
  std::mutex mutex;                   // guards:
  std::vector<std::weak_ptr<Held>> above;
  Counter<uint64_t> passes, elements, records, bytes;
  Counter<double> wait_seconds;
  bool pass_counted = false;
};

ReaderHolder::ReaderHolder() = default;
ReaderHolder::ReaderHolder(ReaderHolder&&) noexcept = default;

ReaderHolder::~ReaderHolder() {
  // Whoever stands on the reader may keep it, but nobody reads through this holder any more.
  if (has_reader()) held_->own.reset();
}

ReaderHolder& ReaderHolder::operator=(ReaderHolder&& other) noexcept {
  held_.swap(other.held_);
  return *this;
}

void ReaderHolder::Reset(std::unique_ptr<ReaderBase> reader, const ReaderHolder* below) {
  std::shared_ptr<Held> under = below == nullptr ? nullptr : below->held_;
  auto held = std::make_shared<Held>(std::move(reader), under);
  if (under != nullptr) {
    std::lock_guard<std::mutex> lock(under->mutex);
    under->above.push_back(held);
  }
  if (has_reader()) held_->own.reset();
  held_ = std::move(held);
}

std::unique_ptr<ReaderBase> ReaderHolder::NewHandle() const {
  return std::make_unique<Handle>(held().source);
}

ReaderHolder::Held& ReaderHolder::held() const {
  Require(has_reader(),
          "there is no reader here yet: the startup program that creates it has not "
          "been run");
  return *held_;
}

void ReaderHolder::ReadNext(std::vector<LoDTensor>* out) {
  Held& held = this->held();
  std::lock_guard<std::mutex> lock(held.use);
  Stopwatch stopwatch(&held.wait_seconds);
  held.Own().ReadNext(out);
  if (!held.pass_counted) held.passes.Add(1);
  held.pass_counted = true;
  held.elements.Add(1);
  for (const LoDTensor& tensor : *out) held.bytes.Add(tensor.bytes());
  held.records.Add(out->front().instances());
}

bool ReaderHolder::HasNext() {
  std::lock_guard<std::mutex> lock(held().use);
  Stopwatch stopwatch(&held().wait_seconds);
  return held().Own().HasNext();
}

void ReaderHolder::ReInit() { held().ReInit(); }

std::optional<uint64_t> ReaderHolder::PassLength() {
  std::lock_guard<std::mutex> lock(held().use);
  return held().Own().PassLength();
}

ReaderStats ReaderHolder::stats() const {
  if (!has_reader()) return {};
  return {held_->passes.get(), held_->elements.get(), held_->records.get(), held_->bytes.get(),
          held_->wait_seconds.get()};
}

const std::vector<SlotSpec>& ReaderHolder::slots() const { return held().source->reader->slots(); }

const std::string& ReaderHolder::origin() const { return held().source->reader->origin(); }

}  // namespace millhopper
