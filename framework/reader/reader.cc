// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/thread_pool.h"

namespace millhopper {
namespace {

constexpr double kPartMicroseconds = 200;
// To look at the clock takes as long as to load a small element. What is expected to take less than
// a twentieth of a part is timed every eighth time, until it once takes longer.
constexpr size_t kShort = 20;
constexpr uint32_t kTimedOneIn = 8;

bool IsRefusal(const std::exception_ptr& error) {
  if (error == nullptr) return false;
  try {
    std::rethrow_exception(error);
  } catch (...) {
    return MemoryScope::WasRefused();
  }
}

}  // namespace

ReaderBase::ReaderBase(std::vector<SlotSpec> slots, int depth)
    : slots_(std::move(slots)), depth_(depth), account_(new MemoryAccount) {
  if (depth_ > kMaxReaderDepth) {
    Throw(ErrorCode::kResourceLimit, depth_, " readers would stand on one another; the limit is ",
          kMaxReaderDepth);
  }
  CheckSlots(slots_);
}

void ReaderBase::set_origin(std::string origin) {
  account_->set_name(origin);
  origin_ = std::move(origin);
}

std::vector<Dims> ReaderBase::shapes() const {
  std::vector<Dims> shapes;
  for (const SlotSpec& slot : slots_) shapes.push_back(slot.dims);
  return shapes;
}

Dims ReaderBase::shape(size_t slot) const {
  Require(slot < slots_.size(), "slot ", slot, " of a reader with ", slots_.size(), " slots");
  return slots_[slot].dims;
}

void ReaderBase::set_slots(std::vector<SlotSpec> slots) {
  Require(!planned_, "the slots of a reader can be set only before it is first read");
  CheckSlots(slots);
  Require(slots.size() == slots_.size(), "a reader of ", slots_.size(), " slots cannot have ",
          slots.size());
  slots_ = std::move(slots);
}

bool ReaderBase::HasNext() {
  CheckProcess();
  if (!ahead_.tickets.empty()) return true;
  if (first_) MemoryLimit::ResetPeak();
  return Plan(1, &ahead_) == 1;
}

void ReaderBase::ReadNext(std::vector<LoDTensor>* out) {
  if (!HasNext()) throw EndOfData("There is no next data. The pass is over");
  const MemoryScope scope(account_);
  try {
    rows_.Reset(row_slots());
    LoadInParallel(ahead_.tickets.data(), 1, &rows_);
    rows_.MoveTo(out);
  } catch (...) {
    ahead_.Clear();
    rows_.Release();
    KeepError("while loading what is read from ");
    std::rethrow_exception(error_);
  }
  ahead_.Clear();
  if (!std::exchange(first_, false) || !MemoryLimit::is_set()) return;
  try {
    CheckRoomBeside(*out);
  } catch (...) {
    KeepError("while reading from ");
    out->clear();
    std::rethrow_exception(error_);
  }
}

void ReaderBase::KeepError(const char* step) {
  error_ = std::current_exception();
  try {
    const Error error = CurrentError();
    if (error.out_of_memory() == nullptr || !error.context().empty()) return;
    error_ = std::make_exception_ptr(error.WithContext(step + Name()));
  } catch (const std::bad_alloc&) {
    NoteOutOfMemory(step, origin_);
  }
}

// Whoever reads on has an element and the next one at once, which by all that is known will take as
// much as the first. If that is too much it is said now, and not after a while.
void ReaderBase::CheckRoomBeside(const std::vector<LoDTensor>& first) {
  size_t needed = MemoryLimit::peak();
  for (const LoDTensor& tensor : first) {
    needed += tensor.buffer()->capacity();
    for (const LodLevel& level : tensor.lod()) needed += level.capacity() * sizeof(uint64_t);
  }
  if (MemoryLimit::IsPossible(needed) || Ready() != SIZE_MAX) return;
  bool more = false;
  try {
    more = HasNext();
  } catch (const Error& error) {
    if (error.interrupts()) throw;  // another error comes behind the first element
  }
  if (more) MemoryLimit::CheckPossible(needed);
}

size_t ReaderBase::Plan(size_t n, Run* run) {
  CheckProcess();
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (end_) return 0;
  planned_ = true;
  const size_t before = run->tickets.size();
  try {
    PlanNext(n, run);
  } catch (...) {
    const bool goes_on = MemoryScope::IsAhead() && MemoryScope::WasRefused();
    if (!goes_on) KeepError("while planning what is read from ");
    if (run->tickets.size() == before) {
      if (goes_on) throw;
      std::rethrow_exception(error_);
    }
  }
  const size_t added = run->tickets.size() - before;
  end_ = added == 0;
  return added;
}

void ReaderBase::Restart(uint64_t pass) {
  CheckProcess();
  ahead_.Clear();
  error_ = nullptr;
  end_ = false;
  first_ = true;
  try {
    Rewind(pass);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

void ReaderBase::CheckProcess() const {
  if (__builtin_expect(process_.IsThis(), 1)) return;
  OwnProcess::Refuse(Name());
}

std::string ReaderBase::ReadingRecord(uint64_t sample) const {
  return StrCat("while reading record ", sample, " of ", Name());
}

std::string ReaderBase::Name() const { return origin_.empty() ? "a reader" : origin_; }

bool ReaderBase::one_step() const {
  const std::vector<SlotSpec>& slots = row_slots();
  return std::all_of(slots.begin(), slots.end(),
                     [](const SlotSpec& slot) { return slot.one_step(); });
}

// One element may come with a buffer of its own.
void ReaderBase::Expect(const Ticket* tickets, size_t n, Rows* rows) const {
  if (n == 1) return;
  if (one_step()) {
    rows->FixInnerDims(row_slots());  // which perhaps only the file knew
  } else if (rows->size() == 1) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes += tickets[i].bytes ? tickets[i].size : 0;
    rows->ExpectBytes(0, bytes);
  }
  rows->Expect(n);
}

void ReaderBase::LoadInParallel(const Ticket* tickets, size_t n, Rows* rows) const {
  const size_t grain = this->grain();
  Expect(tickets, n, rows);
  if (n <= grain || ThreadPool::Get().size() == 0) {
    LoadTimed(tickets, n, rows);
  } else if (one_step()) {
    LoadOneStepParts(tickets, n, grain, rows);
  } else {
    LoadScratchParts(tickets, n, grain, rows);
  }
}

// The place of every row is known before it is loaded. Where there is no memory for what several
// threads work in, one does it all.
void ReaderBase::LoadOneStepParts(const Ticket* tickets, size_t n, size_t grain, Rows* rows) const {
  try {
    ParallelFor((n + grain - 1) / grain, [&, scope = MemoryScope::Current()](size_t k) {
      const MemoryScope shared(scope, MemoryScope::Need::kAhead);
      const size_t size = std::min(grain, n - k * grain);
      Ref<ScratchRows> part = Pool<ScratchRows>::Take();
      rows->MakePart(k * grain, &part->rows);
      LoadTimed(tickets + k * grain, size, &part->rows);
      for (size_t slot = 0; slot < part->rows.size(); ++slot) {
        if (part->rows.steps(slot) == static_cast<int64_t>(size)) continue;
        Throw(ErrorCode::kInternal, "slot ", slot, ": ", size, " elements of one step each have ",
              part->rows.steps(slot), " steps");
      }
    });
  } catch (const Error&) {
    if (!MemoryScope::WasRefused()) throw;
    Load(tickets, n, rows);
    return;
  }
  rows->AdvanceParts(n);
}

// Sizes are known when all is loaded: each part has rows of its own, and one pass joins them. The
// error is that of the first element that fails one behind another, whatever the parts: what a part
// had loaded before its own error may already not fit behind the parts before it. From the first
// part on that was refused memory, one thread loads the rest.
void ReaderBase::LoadScratchParts(const Ticket* tickets, size_t n, size_t grain, Rows* rows) const {
  const size_t parts = (n + grain - 1) / grain;
  std::vector<Ref<ScratchRows>> loaded(parts);
  std::vector<std::exception_ptr> errors(parts);
  ParallelFor(parts, [&, scope = MemoryScope::Current()](size_t k) {
    const MemoryScope shared(scope, MemoryScope::Need::kAhead);
    loaded[k] = Pool<ScratchRows>::Take();
    const size_t size = std::min(grain, n - k * grain);
    try {
      loaded[k]->rows.Reset(row_slots());
      Expect(tickets + k * grain, size, &loaded[k]->rows);
      LoadTimed(tickets + k * grain, size, &loaded[k]->rows);
    } catch (...) {
      errors[k] = std::current_exception();
    }
  });
  const size_t refused =
      static_cast<size_t>(std::find_if(errors.begin(), errors.end(), &IsRefusal) - errors.begin());
  for (size_t slot = 0; slot < rows->size(); ++slot) {
    size_t bytes = 0;
    for (size_t k = 0; k < refused; ++k) bytes += loaded[k]->rows.bytes(slot);
    rows->ExpectBytes(slot, bytes);
  }
  for (size_t k = 0; k < refused; ++k) {
    try {
      rows->Join(loaded[k]->rows);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      // Inner dims differ, from the first element of the part on: let it say so.
      Load(tickets + k * grain, 1, rows);
      if (errors[k] != nullptr) std::rethrow_exception(errors[k]);
      throw;
    }
    if (errors[k] != nullptr) std::rethrow_exception(errors[k]);
    loaded[k] = Ref<ScratchRows>();
  }
  loaded.clear();
  if (refused < parts) Load(tickets + refused * grain, n - refused * grain, rows);
}

void ReaderBase::LoadTimed(const Ticket* tickets, size_t n, Rows* rows) const {
  if (n * kShort < grain()) {
    const uint32_t count = short_loads_.load(std::memory_order_relaxed) + 1;
    short_loads_.store(count, std::memory_order_relaxed);
    if (count % kTimedOneIn != 0) {
      Load(tickets, n, rows);
      return;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  Load(tickets, n, rows);
  const double microseconds =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  if (microseconds > kPartMicroseconds / kShort) {
    short_loads_.store(kTimedOneIn - 1, std::memory_order_relaxed);
  }
  const double wanted = kPartMicroseconds * static_cast<double>(n) / std::max(microseconds, 0.01);
  const auto old = static_cast<double>(grain());
  grain_.store(static_cast<size_t>(std::clamp(old * 0.75 + wanted * 0.25, 1.0, 1e6)),
               std::memory_order_relaxed);
}

DecoratedReader::DecoratedReader(std::unique_ptr<ReaderBase> reader)
    : ReaderBase(reader->slots(), reader->depth() + 1), reader_(std::move(reader)) {}

DecoratedReader::DecoratedReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots)
    : ReaderBase(std::move(slots), reader->depth() + 1), reader_(std::move(reader)) {}

}  // namespace millhopper
