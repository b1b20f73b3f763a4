// SPDX-License-Identifier: Apache-2.0
#include "readers/cache/cache_reader.h"

#include <utility>

#include "framework/base/error.h"
#include "readers/decorate/plan_past.h"

namespace millhopper {
namespace {

size_t MemoryOf(const GatheredPart& part) {
  size_t bytes = sizeof(part) + sizeof(Gathered) + sizeof(Gathered::Piece);
  for (const LoDTensor& tensor : part.tensors) {
    bytes += sizeof(tensor) + (tensor.initialized() ? tensor.buffer()->capacity() : 0);
    for (const LodLevel& level : tensor.lod()) bytes += level.capacity() * sizeof(uint64_t);
  }
  return bytes;
}

}  // namespace

CacheReader::CacheReader(std::unique_ptr<ReaderBase> reader, int64_t bytes)
    : GatherReader(std::move(reader), reader->slots(), true), bytes_(static_cast<size_t>(bytes)) {
  Require(bytes >= 0, "memory_bytes is ", bytes, "; it must be at least 0");
}

void CacheReader::PlanNext(size_t n, TicketRun* run) {
  for (; n > 0 && next_ < from_memory_; --n, ++next_) {
    Ticket ticket;
    ticket.id = kept_[next_]->id();
    ticket.owner = kept_[next_].get();
    run->Add(ticket);
  }
  if (n == 0 || (complete_ && from_memory_ == kept_.size())) return;
  if (!PlanPast(&reader(), &left_)) {
    Throw(ErrorCode::kDataLoss, "the reader below yields ", from_memory_ - left_,
          " elements now, and has yielded at least ", from_memory_, " before");
  }
  GatherReader::PlanNext(n, run);
}

void CacheReader::Gather(const Ref<GatheredPart>& part) {
  Ref<Gathered> element = Pool<Gathered>::Take();
  element->Add(part);
  const size_t memory = MemoryOf(*part);
  // What was restored may have been kept with more memory.
  if (!full_ && (used_ >= bytes_ || memory > bytes_ - used_)) full_ = true;
  if (!full_) {
    kept_.push_back(element);
    used_ += memory;
  }
  Yield(std::move(element));
}

void CacheReader::SaveState(ReaderState* state) const {
  GatherReader::SaveState(state);
  std::vector<const Gathered*> kept;
  kept.reserve(kept_.size());
  for (const Ref<Gathered>& one : kept_) kept.push_back(one.get());
  state->SetElements("kept", NamesOf(kept));
  state->Set("full", full_ ? 1 : 0);
  state->Set("complete", complete_ ? 1 : 0);
  state->Set("from_memory", from_memory_);
  state->Set("next_kept", next_);
  state->Set("left", left_);
}

void CacheReader::RestoreState(const ReaderState& state) {
  GatherReader::RestoreState(state);
  kept_ = GatherAgain(state.Elements("kept"));
  for (const Ref<Gathered>& one : kept_) {
    if (one->pieces().size() != 1) state.Fail("an element that is kept has several parts");
    used_ += MemoryOf(*one->pieces().front().part);
  }
  full_ = state.Get("full", 1) == 1;
  complete_ = state.Get("complete", 1) == 1;
  from_memory_ = state.Get("from_memory", kept_.size());
  next_ = state.Get("next_kept", from_memory_);
  left_ = state.Get("left", from_memory_);
}

void CacheReader::LoadGathered(const Gathered& gathered, Rows* rows) const {
  rows->Append(gathered.pieces().front().part->tensors);
}

void CacheReader::Rewind(uint64_t) {
  from_memory_ = left_ = kept_.size();
  next_ = 0;
  GatherReader::Rewind(0);
}

}  // namespace millhopper
