// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/zip_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// Enough to make the calls cheap, but few, because planned elements keep their chunks in memory.
constexpr size_t kMostPlannedAtOnce = 256;

// `slots_of` returns the slots of reader k.
template <typename F>
std::vector<SlotSpec> Joined(size_t readers, const F& slots_of) {
  std::vector<SlotSpec> joined;
  for (size_t k = 0; k < readers; ++k) {
    const std::vector<SlotSpec>& slots = slots_of(k);
    joined.insert(joined.end(), slots.begin(), slots.end());
  }
  return joined;
}

// Moves the slots of rows into parts, one for each reader, so that each reader loads its own slots.
class Parts final : public RefCounted {
 public:
  void Lend(Rows* rows) {
    size_t first = 0;
    for (Rows& part : parts_) {
      rows->SwapSlots(first, &part);
      first += part.size();
    }
  }
  // Makes a part for each reader.
  template <typename F>
  void Reset(size_t readers, const F& slots_of) {
    parts_.resize(readers);
    for (size_t k = 0; k < readers; ++k) parts_[k].Reset(slots_of(k));
  }
  Rows* operator[](size_t k) { return &parts_[k]; }

 private:
  void Dispose() override { Pool<Parts>::Give(this); }

  std::vector<Rows> parts_;
};

// The parts have the slots while it lives.
class Lending {
 public:
  Lending(Parts* parts, Rows* rows) : parts_(parts), rows_(rows) { parts_->Lend(rows_); }
  ~Lending() { parts_->Lend(rows_); }
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

 private:
  Parts* const parts_;
  Rows* const rows_;
};

}  // namespace

ZipReader::ZipReader(Readers readers, bool check_alignment)
    : CombinedReader(
          std::move(readers),
          Joined(
              readers.size(), [&](size_t k) -> const auto& { return readers[k]->slots(); })),
      check_alignment_(check_alignment),
      planned_(size()) {}

const std::vector<SlotSpec>& ZipReader::row_slots() const {
  return found_slots_.empty() ? slots() : found_slots_;
}

std::vector<SlotSpec> ZipReader::FoundSlots() const {
  return Joined(size(), [this](size_t k) { return reader(k).FoundSlots(); });
}

std::optional<uint64_t> ZipReader::PassLength() const {
  std::optional<uint64_t> shortest = reader(0).PassLength();
  for (size_t k = 1; shortest && k < size(); ++k) {
    const std::optional<uint64_t> length = reader(k).PassLength();
    shortest = length ? std::min(*shortest, *length) : length;
  }
  return shortest;
}

void ZipReader::PlanNext(size_t n, TicketRun* run) {
  size_t count = std::min(n, kMostPlannedAtOnce);
  for (size_t k = 0; k < size(); ++k) {
    count = planned_[k].Fill(&reader(k), count);
    if (count > 0) continue;
    planned_[k].CheckEnd(&reader(k));
    if (check_alignment_) CheckAlignment(k);
    return;
  }
  HandOut(count, run);
}

void ZipReader::CheckAlignment(size_t ended) {
  for (size_t k = 0; k < size(); ++k) {
    if (k == ended) continue;
    if (planned_[k].Fill(&reader(k), 1) == 0) {
      planned_[k].CheckEnd(&reader(k));
      continue;
    }
    Throw(ErrorCode::kDataLoss, "the readers are not aligned: ", Called(ended), " has ended after ",
          count_, " elements, and ", Called(k),
          " has more; check_alignment: false ends a pass with the reader that ends first");
  }
}

void ZipReader::FindSlots() {
  if (!found_slots_.empty()) return;
  found_slots_ = Joined(
      size(), [this](size_t k) -> const auto& { return reader(k).row_slots(); });
}

void ZipReader::HandOut(size_t count, TicketRun* run) {
  FindSlots();
  // The tickets of the first reader, then those of the second ...
  const Ref<TicketRun> block = Pool<TicketRun>::Take();
  for (const PlannedElements& elements : planned_) {
    for (size_t i = 0; i < count; ++i) block->Add(elements[i]);
  }
  run->Keep(block.get());
  const size_t first = run->tickets.size();
  run->tickets.resize(first + count);
  for (size_t i = 0; i < count; ++i) {
    Ticket& ticket = run->tickets[first + i];
    ticket.id = block->tickets[i].id;
    ticket.owner = block.get();
    ticket.index = static_cast<uint32_t>(i);
  }
  for (PlannedElements& elements : planned_) elements.Drop(count);
  count_ += count;
}

// Element by element, so that the error is that of the first one that fails.
void ZipReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  const Ref<Parts> parts = Pool<Parts>::Take();
  parts->Reset(
      size(), [this](size_t k) -> const auto& { return reader(k).row_slots(); });
  const Lending lending(parts.get(), rows);
  for (size_t i = 0; i < n; ++i) {
    const PooledVector<Ticket>& block = tickets[i].object<TicketRun>()->tickets;
    const size_t count = block.size() / size();
    for (size_t k = 0; k < size(); ++k) {
      reader(k).Load(&block[k * count + tickets[i].index], 1, (*parts)[k]);
    }
  }
}

void ZipReader::Rewind(uint64_t pass) {
  for (PlannedElements& elements : planned_) elements.Clear();
  count_ = 0;
  CombinedReader::Rewind(pass);
}

void ZipReader::SaveState(ReaderState* state) const {
  state->Setting("readers", size());
  state->Setting("check_alignment", check_alignment_ ? "true" : "false");
  state->Set("count", count_);
  for (size_t k = 0; k < size(); ++k) {
    state->SetElements(StrCat("planned_", k), planned_[k].Names(reader(k)));
  }
}

void ZipReader::RestoreState(const ReaderState& state) {
  count_ = state.Get("count");
  for (size_t k = 0; k < size(); ++k) {
    planned_[k].PlanAgain(&reader(k), state.Elements(StrCat("planned_", k)));
  }
}

void ZipReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->below.resize(size());
  for (size_t k = 0; k < size(); ++k) {
    std::vector<Ticket> of;
    for (size_t i = 0; i < n; ++i) {
      const PooledVector<Ticket>& block = tickets[i].object<TicketRun>()->tickets;
      of.push_back(block[k * (block.size() / size()) + tickets[i].index]);
    }
    reader(k).NameElements(of.data(), n, &names->below[k]);
  }
  names->count += n;
}

void ZipReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  Require(names.below.size() == size(), "the position names elements of ", origin(),
          " that make no sense");
  const Ref<TicketRun> block = Pool<TicketRun>::Take();
  for (size_t k = 0; k < size(); ++k) {
    reader(k).PlanRunAgain(names.below[k], block.get());
    Require(block->tickets.size() == (k + 1) * names.count, "the position names ", names.count,
            " elements of ", origin(), ", and ", names.below[k].count, " of ", Called(k));
  }
  FindSlots();
  for (size_t i = 0; i < names.count; ++i) {
    Ticket ticket;
    ticket.id = block->tickets[i].id;
    ticket.owner = block.get();
    ticket.index = static_cast<uint32_t>(i);
    take(i, ticket);
  }
}

}  // namespace millhopper
