// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/batch_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

std::vector<SlotSpec> BatchSlots(const std::vector<SlotSpec>& slots, BatchMode mode) {
  std::vector<SlotSpec> batch = slots;
  for (size_t i = 0; i < batch.size(); ++i) {
    SlotSpec& slot = batch[i];
    if (!slot.known) continue;
    Require(mode == BatchMode::kConcat || slot.lod_level == 0, "slot ", i, " (", ToString(slot),
            ") is ragged and cannot be stacked; use mode \"concat\"");
    slot.dims = BatchDims(slot.dims, mode);
  }
  return batch;
}

}  // namespace

BatchMode BatchModeOf(const std::string& mode) {
  return mode == "stack" ? BatchMode::kStack : BatchMode::kConcat;
}

Dims BatchDims(const Dims& element, BatchMode mode) {
  Dims dims{-1};
  for (size_t i = mode == BatchMode::kStack ? 0 : 1; i < element.size(); ++i) {
    dims.push_back(element[i]);
  }
  return dims;
}

BatchReader::BatchReader(std::unique_ptr<ReaderBase> reader, int64_t batch_size,
                         bool discard_leftover, BatchMode mode)
    : DecoratedReader(std::move(reader), BatchSlots(reader->slots(), mode)),
      batch_size_(static_cast<size_t>(batch_size)),
      discard_leftover_(discard_leftover),
      mode_(mode) {
  Require(batch_size >= 1, "batch_size is ", batch_size, "; it must be at least 1");
  Require(place().is_cpu(), "elements on ", place().name(),
          " cannot be batched; put create_batch_reader below create_double_buffer_reader");
}

// Always the batch's own slots: all that the reader below can learn from its file are inner dims,
// and the rows learn those from the loaded elements.
const std::vector<SlotSpec>& BatchReader::row_slots() const { return slots(); }

std::vector<SlotSpec> BatchReader::FoundSlots() const {
  return BatchSlots(reader().FoundSlots(), mode_);
}

size_t BatchReader::ElementsReady() const {
  const size_t ready = reader().ElementsReady();
  return ready == kAnyNumber ? ready : ready / batch_size_;
}

std::optional<uint64_t> BatchReader::PassLength() const {
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  const bool leftover = !discard_leftover_ && *below % batch_size_ > 0;
  return *below / batch_size_ + (leftover ? 1 : 0);
}

void BatchReader::PlanNext(size_t n, TicketRun* run) {
  const MemoryScope scope(account());
  for (; n > 0; --n) {
    if (!batch_) batch_ = Pool<TicketRun>::Take();
    FillAgain();
    Fill();
    const bool pass_ends = EndsWithItsPass();
    const size_t size = batch_->tickets.size();
    if (size == 0 || (size < batch_size_ && discard_leftover_)) {
      // What is left out at the end may be in a batch where a position is cut anew.
      if (size == 0 || pass_ends || !expects_save()) batch_ = Ref<TicketRun>();
      if (!pass_ends) return;
      ++n;
      continue;
    }
    Ticket ticket;
    ticket.id = batch_->tickets.front().id;
    ticket.owner = batch_.get();
    run->Add(ticket);
    batch_ = Ref<TicketRun>();
  }
}

void BatchReader::FillAgain() {
  if (!again_) return;
  PooledVector<Ticket>& tickets = batch_->tickets;
  const Ticket* const first = again_->tickets.data() + next_again_;
  const size_t left = again_->tickets.size() - next_again_;
  const size_t n = std::min(left, batch_size_ - tickets.size());
  batch_->Keep(again_.get());
  tickets.insert(tickets.end(), first, first + n);
  next_again_ += n;
  if (n == left) again_ = Ref<TicketRun>();
}

bool BatchReader::EndsWithItsPass() {
  PooledVector<Ticket>& tickets = batch_->tickets;
  if (!ends_passes_ || tickets.empty()) return false;
  const auto next = std::find_if(tickets.begin(), tickets.end(), [&](const Ticket& ticket) {
    return ticket.id.pass != tickets.front().id.pass;
  });
  const bool ends = next != tickets.end();
  if (ends) {
    const Ref<TicketRun> rest = Pool<TicketRun>::Take();
    rest->Keep(batch_.get());
    rest->tickets.insert(rest->tickets.end(), next, tickets.end());
    if (again_) {
      rest->Keep(again_.get());
      rest->tickets.insert(rest->tickets.end(), again_->tickets.begin() + next_again_,
                           again_->tickets.end());
    }
    again_ = rest;
    next_again_ = 0;
    tickets.erase(next, tickets.end());
  }
  if (!again_) ends_passes_ = false;
  return ends;
}

void BatchReader::Fill() {
  PooledVector<Ticket>& tickets = batch_->tickets;
  const size_t used_before = MemoryLimit::needed();
  try {
    while (tickets.size() < batch_size_ &&
           reader().Plan(batch_size_ - tickets.size(), batch_.get()) > 0) {
    }
  } catch (...) {
    const Error error = CurrentError();
    if (error.interrupts()) throw WithWholeBatches(error, used_before);
    // The error reported must be that of the batch's first failing record. A record planned before
    // this error may fail to load, so all are loaded here; that throws the earlier error.
    if (!tickets.empty()) {
      Rows dropped(reader().row_slots());
      reader().Load(tickets.data(), tickets.size(), &dropped);
    }
    throw;
  }
}

// Each element takes memory three times: as planned, in the batch that is loaded, and in the batch
// before it.
Error BatchReader::WithWholeBatches(const Error& error, size_t used_before) const {
  constexpr size_t kTimes = 3;
  const OutOfMemory* const memory = error.out_of_memory();
  if (memory == nullptr || memory->needed == 0) return error;
  const size_t planned = batch_->tickets.size();
  const size_t used = MemoryLimit::needed();
  size_t element = memory->element;
  if (planned > 0 && used > used_before) {
    element = std::max(element, (used - used_before) / planned + 1);
  }
  return MemoryLimit::Advised(error, memory->needed + kTimes * batch_size_ * element,
                              batch_size_ * element);
}

void BatchReader::Rewind(uint64_t pass) {
  batch_ = again_ = Ref<TicketRun>();
  ends_passes_ = false;
  DecoratedReader::Rewind(pass);
}

void BatchReader::SaveState(ReaderState* state) const {
  state->CutsBy("batch_size", batch_size_);
  state->Setting("discard_leftover", discard_leftover_ ? "true" : "false");
  state->Setting("mode", mode_ == BatchMode::kStack ? "stack" : "concat");
  ElementNames begun;
  if (batch_ && !batch_->tickets.empty()) {
    reader().NameElements(batch_->tickets.data(), batch_->tickets.size(), &begun);
  }
  if (again_) {
    reader().NameElements(again_->tickets.data() + next_again_,
                          again_->tickets.size() - next_again_, &begun);
  }
  if (begun.count == 0) return;
  state->SetElements("begun", std::move(begun));
  if (ends_passes_) state->SetList("ends_passes", {1});
}

void BatchReader::RestoreState(const ReaderState& state) {
  const ElementNames& begun = state.Elements("begun");
  if (begun.count == 0) return;
  const MemoryScope scope(account());
  again_ = Pool<TicketRun>::Take();
  next_again_ = 0;
  ends_passes_ = !state.List("ends_passes").empty();
  reader().PlanRunAgain(begun, again_.get());
}

void BatchReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  if (names->below.empty()) names->below.resize(1);
  // A reader that works ahead names batch by batch. For those the tickets need no copy, which for
  // thousands of records is memory that the system has to give each time.
  if (n == 1) {
    const PooledVector<Ticket>& batch = tickets->object<TicketRun>()->tickets;
    names->numbers.push_back(batch.size());
    reader().NameElements(batch.data(), batch.size(), &names->below[0]);
    ++names->count;
    return;
  }
  std::vector<Ticket> elements;
  for (size_t i = 0; i < n; ++i) {
    const PooledVector<Ticket>& batch = tickets[i].object<TicketRun>()->tickets;
    names->numbers.push_back(batch.size());
    elements.insert(elements.end(), batch.begin(), batch.end());
  }
  reader().NameElements(elements.data(), elements.size(), &names->below[0]);
  names->count += n;
}

ElementNames BatchReader::NamesBelow(ElementNames names) const {
  CheckNames(names);
  return std::move(names.below[0]);
}

void BatchReader::TakeBack(SavedRank* saved, ReaderState* state) const {
  ElementNames begun;
  for (ElementNames& names : saved->held) begun.Append(NamesBelow(std::move(names)));
  begun.Append(state->TakeElements("begun"));
  if (begun.count > 0) state->SetElements("begun", std::move(begun));
  if (saved->of_passes) state->SetList("ends_passes", {1});
}

void BatchReader::CheckNames(const ElementNames& names) const {
  Require(names.numbers.size() == names.count && names.below.size() == 1 && names.records.empty(),
          "the position names batches of ", origin(), " that make no sense");
}

void BatchReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  CheckNames(names);
  const std::vector<uint64_t>& sizes = names.numbers;
  TicketRun elements;
  reader().PlanRunAgain(names.below[0], &elements);
  size_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Require(sizes[i] > 0 && sizes[i] <= batch_size_ && sizes[i] <= elements.tickets.size() - next,
            "the position names a batch of ", sizes[i], " elements of ", origin());
    const Ref<TicketRun> batch = Pool<TicketRun>::Take();
    for (uint64_t k = 0; k < sizes[i]; ++k) batch->Add(elements.tickets[next++]);
    Ticket ticket;
    ticket.id = batch->tickets.front().id;
    ticket.owner = batch.get();
    take(i, ticket);
  }
  Require(next == elements.tickets.size(), "the position names elements of ", origin(),
          " that are in no batch");
}

void BatchReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    const TicketRun& batch = *tickets[i].object<TicketRun>();
    if (mode_ == BatchMode::kStack) {
      LoadStacked(batch, rows);
    } else {
      reader().LoadInParallel(batch.tickets.data(), batch.tickets.size(), rows);
    }
  }
}

void BatchReader::LoadStacked(const TicketRun& batch, Rows* rows) const {
  const std::vector<SlotSpec>& slots = reader().row_slots();
  Ref<ScratchRows> elements = Pool<ScratchRows>::Take();
  elements->rows.Reset(slots);
  const bool lengths_known = std::all_of(slots.begin(), slots.end(), [](const SlotSpec& slot) {
    return slot.known && slot.dims[0] >= 0;
  });
  std::vector<int64_t> lengths(slots.size());
  if (lengths_known) {
    reader().LoadInParallel(batch.tickets.data(), batch.tickets.size(), &elements->rows);
    for (size_t k = 0; k < slots.size(); ++k) lengths[k] = slots[k].dims[0];
  } else {
    for (size_t i = 0; i < batch.tickets.size(); ++i) {
      reader().Load(&batch.tickets[i], 1, &elements->rows);
      for (size_t k = 0; k < slots.size(); ++k) {
        const int64_t steps = elements->rows.steps(k);
        if (i == 0) lengths[k] = steps;
        if (steps != lengths[k] * static_cast<int64_t>(i + 1)) {
          Throw(ErrorCode::kDataLoss, "slot ", k, ": an element of length ",
                steps - lengths[k] * static_cast<int64_t>(i),
                " cannot be stacked on one of length ", lengths[k]);
        }
      }
    }
  }
  for (size_t k = 0; k < slots.size(); ++k) {
    Require(elements->rows.spec(k).lod_level == 0, "slot ", k, " is ragged and cannot be stacked");
    elements->rows.Stack(k, static_cast<int64_t>(batch.tickets.size()), lengths[k]);
  }
  if (rows->untouched()) {
    std::swap(*rows, elements->rows);
  } else {
    rows->Join(elements->rows);
  }
}

}  // namespace millhopper
