// SPDX-License-Identifier: Apache-2.0
#include "readers/double_buffer_reader.h"

#include <new>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/memory.h"
#include "framework/base/memory_limit.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

// An element is small where more than this many are loaded in 200 us. To have another thread make
// one costs two to four microseconds, for the cache lines that change hands.
constexpr size_t kSmall = 40;

}  // namespace

// What has become of loading an element.
enum class DoubleBufferReader::State {
  kLoading,
  kDeferred,  // there was no memory to load it ahead: to be loaded by whoever wants it
  kReady,
};

// One element of the reader below, from its plan to its hand-over.
class DoubleBufferReader::Element final : public Kept {
 public:
  RecordId id;
  Run run;                         // the one ticket, until it is loaded
  Rows rows;                       // what is loaded, on the host
  std::vector<LoDTensor> tensors;  // the same on the device
  std::vector<Ref<Buffer>> hosts;  // what the copies read, not to be written before they are done
  std::vector<std::shared_ptr<DeviceEvent>> copies;
  std::exception_ptr error;
  std::atomic<State> state{State::kLoading};

 private:
  void Dispose() override {
    for (const auto& copy : copies) {
      try {
        copy->Wait();
      } catch (...) {  // nobody wants the element any more
      }
    }
    copies.clear();
    hosts.clear();
    run.Clear();
    rows.Release();
    tensors.clear();
    error = nullptr;
    state.store(State::kLoading, std::memory_order_relaxed);
    Pool<Element>::Give(this);
  }
};

class DoubleBufferReader::Ahead final : public Job {
 public:
  explicit Ahead(DoubleBufferReader* reader) : reader_(reader) {}

  // Plans and loads one more element, if there is one to plan and memory for it.
  bool Step() {
    const MemoryScope none(nullptr);  // whatever else this thread is at
    try {
      return reader_->Advance(MemoryScope::Need::kAhead);
    } catch (const std::bad_alloc&) {  // nothing was planned; the consumer will do it himself
      return false;
    }
  }

 private:
  void Work() override { Step(); }

  DoubleBufferReader* const reader_;  // which cancels this job before it goes away
};

DoubleBufferReader::DoubleBufferReader(std::unique_ptr<ReaderBase> reader, Place place,
                                       int64_t depth)
    : DecoratedReader(std::move(reader)),
      place_(place),
      depth_(static_cast<size_t>(depth)),
      ahead_(new Ahead(this)),
      wanted_(depth_) {
  Require(depth >= 1, "depth is ", depth, "; it must be at least 1");
  const Place below = DecoratedReader::place();
  Require(below.is_cpu(), "elements on ", below.name(), " cannot be buffered again");
}

DoubleBufferReader::~DoubleBufferReader() { Stop(); }

void DoubleBufferReader::PlanNext(size_t n, Run* run) {
  if (!std::exchange(started_, true)) {
    if (!MemoryLimit::is_set()) ahead_allowed_.store(true);
    CallWorker();
  }
  Backoff backoff;
  while (n > 0) {
    if (const Ref<Element> element = Planned()) {
      // Under a limit what an element was planned from is not kept beyond its turn.
      if (MemoryLimit::is_set()) LoadIfDeferred(element.get());
      Ticket ticket;
      ticket.id = element->id;
      ticket.owner = element.get();
      run->Add(ticket);
      {
        std::lock_guard<std::mutex> lock(mutex_);
        planned_.pop_front();
      }
      --n;
      wanted_.fetch_add(1);
      CallWorker();
      backoff = Backoff();
    } else if (end_.load(std::memory_order_acquire)) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!planned_.empty()) continue;
      if (error_ != nullptr) std::rethrow_exception(error_);
      return;
    } else if (!Advance(MemoryScope::Need::kNow)) {
      backoff.Pause();
      CheckStop();
    }
  }
}

Ref<DoubleBufferReader::Element> DoubleBufferReader::Planned() {
  std::lock_guard<std::mutex> lock(mutex_);
  return planned_.empty() ? Ref<Element>() : planned_.front();
}

bool DoubleBufferReader::Advance(MemoryScope::Need need) {
  const bool ahead = need == MemoryScope::Need::kAhead;
  if (ahead && (!ahead_allowed_.load() || !MemoryLimit::HasRoomAhead(1))) return false;
  Ref<Element> element;
  {
    std::unique_lock<std::mutex> planning(planning_, std::try_to_lock);
    if (!planning || end_.load()) return false;
    if (wanted_.load() == 0) {
      planning.unlock();
      // Whoever wanted more meanwhile found the lock taken, and left it to us.
      if (wanted_.load() > 0) CallWorker();
      return false;
    }
    if (ahead && reader().Ready() == 0) return false;
    element = Pool<Element>::Take();
    try {
      const MemoryScope scope(account(), need);
      if (reader().Plan(1, &element->run) == 0) {
        end_.store(true, std::memory_order_release);
        return true;
      }
      element->id = element->run.tickets.front().id;
      std::lock_guard<std::mutex> lock(mutex_);
      planned_.push_back(element);
    } catch (...) {
      if (MemoryScope::WasRefused()) {
        if (ahead) return false;
        throw;  // whoever reads on top is ahead of need, and comes again
      }
      error_ = std::current_exception();
      end_.store(true, std::memory_order_release);
      return true;
    }
    wanted_.fetch_sub(1);
    ahead_allowed_.store(true);
  }
  if (wanted_.load() > 0) CallWorker();
  LoadElement(element.get(), need);
  return true;
}

void DoubleBufferReader::CallWorker() {
  // To a device there is a copy, too, which is to be on its way before it is wanted.
  if (place_.is_cpu() && reader().grain() > kSmall) return;
  ahead_->Submit();
}

void DoubleBufferReader::LoadElement(Element* element, MemoryScope::Need need) const {
  const MemoryScope scope(account(), need);
  try {
    element->rows.Reset(reader().row_slots(), &BufferPool::PinnedFor(place_));
    reader().LoadInParallel(element->run.tickets.data(), 1, &element->rows);
    if (!place_.is_cpu()) {
      element->rows.MoveTo(&element->tensors);
      for (LoDTensor& tensor : element->tensors) {
        element->hosts.push_back(tensor.buffer());
        Ref<Buffer> copy = BufferPool::At(place_).Take(tensor.bytes());
        if (tensor.bytes() > 0) {
          element->copies.push_back(place_.device()->CopyFromHost(
              copy->data(), element->hosts.back()->data(), tensor.bytes()));
          copy->set_busy_until(element->copies.back());
        }
        Lod lod = std::move(*tensor.mutable_lod_unchecked());
        tensor.Share(std::move(copy), tensor.dtype(), tensor.dims());
        *tensor.mutable_lod_unchecked() = std::move(lod);
      }
    }
  } catch (...) {
    if (MemoryScope::IsAhead() && MemoryScope::WasRefused()) {
      element->rows.Release();
      element->state.store(State::kDeferred, std::memory_order_release);
      return;
    }
    element->error = std::current_exception();
  }
  element->run.Clear();
  element->state.store(State::kReady, std::memory_order_release);
}

DoubleBufferReader::State DoubleBufferReader::Wait(const Element& element) const {
  for (Backoff backoff;;) {
    const State now = element.state.load(std::memory_order_acquire);
    if (now != State::kLoading) return now;
    if (ahead_->Step()) continue;
    backoff.Pause();
    CheckStop();
  }
}

void DoubleBufferReader::LoadIfDeferred(Element* element) const {
  if (Wait(*element) != State::kDeferred) return;
  LoadElement(element, MemoryScope::Need::kNow);
  // Whoever reads on top may be ahead of need, and comes again then.
  if (Wait(*element) == State::kDeferred) MemoryScope::ThrowRefused();
}

void DoubleBufferReader::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    // The run that holds the ticket shares the element with nobody: a ticket is loaded once.
    auto* const element = tickets[i].object<Element>();
    LoadIfDeferred(element);
    if (element->error != nullptr) std::rethrow_exception(element->error);
    if (!place_.is_cpu()) {
      for (const auto& copy : element->copies) copy->Wait();
      for (size_t k = 0; k < element->tensors.size(); ++k) rows->Append(k, element->tensors[k]);
    } else if (rows->untouched() && !MemoryScope::IsAhead()) {
      std::swap(*rows, element->rows);
      if (MemoryLimit::is_set()) rows->SetNeeded();
    } else {
      rows->Join(element->rows);
    }
  }
}

void DoubleBufferReader::Stop() {
  end_.store(true);
  ahead_->Cancel();
}

void DoubleBufferReader::Rewind(uint64_t pass) {
  Stop();
  // Who waits for an element of the pass that is over may be planning the next one.
  std::lock_guard<std::mutex> planning(planning_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    planned_.clear();
  }
  error_ = nullptr;
  wanted_.store(depth_);
  started_ = false;
  ahead_allowed_.store(false);
  DecoratedReader::Rewind(pass);
  end_.store(false);
}

}  // namespace millhopper
