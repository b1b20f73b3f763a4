// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/union_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/record_place.h"

namespace millhopper {
namespace {

// The slot of elements of several readers, whose slots are added one by one.
class SlotJoin {
 public:
  // False if it has no slot that fits all.
  bool Add(const SlotSpec& slot) {
    if (empty_ || !joined_.known) {
      if (!empty_ && slot.lod_level != joined_.lod_level) return false;
      empty_ = false;
      joined_ = slot;
      sizes_ = slot.dims;
      return true;
    }
    if (slot.lod_level != joined_.lod_level) return false;
    if (!slot.known) return true;
    joined_.text = joined_.text && slot.text;
    if (slot.dtype != joined_.dtype || slot.dims.size() != sizes_.size()) return false;
    for (size_t axis = 0; axis < sizes_.size(); ++axis) {
      const int64_t size = slot.dims[axis];
      if (size < 0) {
        joined_.dims[axis] = -1;
      } else if (sizes_[axis] < 0) {
        sizes_[axis] = size;
      } else if (sizes_[axis] != size) {
        return false;
      }
    }
    return true;
  }
  const SlotSpec& joined() const { return joined_; }

 private:
  bool empty_ = true;
  SlotSpec joined_;
  Dims sizes_;  // that some reader fixes; -1 where none does
};

// Adds the slots of reader k. Throws an error of this code if they differ from those before.
void Add(const ReaderBase& reader, size_t k, const std::vector<SlotSpec>& slots, ErrorCode code,
         std::vector<SlotJoin>* joins) {
  Require(slots.size() == joins->size(), "readers of ", joins->size(), " and of ", slots.size(),
          " slots cannot be joined");
  for (size_t i = 0; i < slots.size(); ++i) {
    if ((*joins)[i].Add(slots[i])) continue;
    Throw(code, "slot ", i, " of ", Called(reader, k), " is ", ToString(slots[i]),
          ", but that of those before it ", ToString((*joins)[i].joined()),
          "; readers can be joined only if they have the same slots");
  }
}

std::vector<SlotSpec> JoinedOf(const std::vector<SlotJoin>& joins) {
  std::vector<SlotSpec> joined;
  joined.reserve(joins.size());
  for (const SlotJoin& join : joins) joined.push_back(join.joined());
  return joined;
}

// As far as the readers know them.
std::vector<SlotSpec> CommonSlots(const Readers& readers) {
  if (readers.empty()) return {};
  std::vector<SlotJoin> joins(readers[0]->slots().size());
  for (size_t k = 0; k < readers.size(); ++k) {
    Add(*readers[k], k, readers[k]->slots(), ErrorCode::kInvalidArgument, &joins);
  }
  return JoinedOf(joins);
}

bool AllKnown(const std::vector<SlotSpec>& slots) {
  return std::all_of(slots.begin(), slots.end(), [](const SlotSpec& slot) { return slot.known; });
}

// Slots as numbers of a position: of each whether it is known, type, rank and dims.
std::vector<uint64_t> NumbersOf(const std::vector<SlotSpec>& slots) {
  std::vector<uint64_t> numbers;
  for (const SlotSpec& slot : slots) {
    numbers.insert(numbers.end(),
                   {slot.known, static_cast<uint64_t>(slot.dtype), slot.dims.size()});
    for (const int64_t dim : slot.dims) numbers.push_back(static_cast<uint64_t>(dim));
  }
  return numbers;
}

// The opposite, for slots that `like` knows in part. Nothing if the numbers make no sense.
std::optional<std::vector<SlotSpec>> SlotsOf(const std::vector<uint64_t>& numbers,
                                             const std::vector<SlotSpec>& like) {
  std::vector<SlotSpec> slots;
  size_t at = 0;
  for (const SlotSpec& known : like) {
    constexpr size_t kHead = 3;
    if (numbers.size() - at < kHead) return std::nullopt;
    SlotSpec slot = known;
    slot.known = numbers[at] != 0;
    slot.dtype = static_cast<DataType>(numbers[at + 1]);
    slot.dims = Dims();
    const uint64_t rank = numbers[at + 2];
    if (!IsDataType(static_cast<int64_t>(numbers[at + 1]))) return std::nullopt;
    at += kHead;
    if (rank > kMaxRank || rank > numbers.size() - at) return std::nullopt;
    for (uint64_t axis = 0; axis < rank; ++axis) {
      const auto dim = static_cast<int64_t>(numbers[at++]);
      if (dim < -1) return std::nullopt;
      slot.dims.push_back(dim);
    }
    if (slot.known && rank == 0) return std::nullopt;
    if (known.known && !(slot == known)) return std::nullopt;
    slots.push_back(slot);
  }
  if (at != numbers.size()) return std::nullopt;
  return slots;
}

}  // namespace

UnionReader::UnionReader(Readers readers, size_t lanes)
    : CombinedReader(std::move(readers), CommonSlots(readers)),
      lanes_(lanes),
      rows_of_(size(), RowsOf::kNotKnown) {}

std::vector<SlotSpec> UnionReader::FoundSlots() const {
  return is_settled_ ? row_slots() : JoinFound();
}

std::vector<SlotSpec> UnionReader::JoinFound() const {
  std::vector<SlotSpec> found = slots();
  std::vector<SlotJoin> joins(found.size());
  for (size_t i = 0; i < found.size(); ++i) joins[i].Add(found[i]);
  for (size_t k = 0; k < size(); ++k) {
    Add(reader(k), k, reader(k).FoundSlots(), ErrorCode::kDataLoss, &joins);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].known) found[i] = joins[i].joined();
  }
  return found;
}

void UnionReader::SettleSlots() {
  if (is_settled_) return;
  bool known = true;
  for (size_t k = 0; k < size(); ++k) known = known && AllKnown(reader(k).slots());
  if (!known) {
    LearnSlots();
    settled_ = JoinFound();
  }
  is_settled_ = true;
}

void UnionReader::Rename(size_t k, Ticket* tickets, size_t n) {
  if (rows_of_[k] == RowsOf::kNotKnown) CheckRows(k);
  Name(k, tickets, n);
}

void UnionReader::Name(size_t k, Ticket* tickets, size_t n) const {
  for (size_t i = 0; i < n; ++i) {
    uint64_t& sample = tickets[i].id.sample;
    const uint64_t lane = sample % lanes_;
    if (__builtin_mul_overflow(sample - lane, size(), &sample) ||
        __builtin_add_overflow(sample, k * lanes_ + lane, &sample)) {
      Throw(ErrorCode::kResourceLimit,
            "too many readers are joined on top of one another to give each element a name");
    }
  }
}

// A file that could not be opened when the slots were settled tells its slots only now. What no
// other file has told, the first reader with an element does.
void UnionReader::CheckRows(size_t k) {
  std::vector<SlotJoin> joins(slots().size());
  for (size_t i = 0; i < joins.size(); ++i) joins[i].Add(row_slots()[i]);
  Add(reader(k), k, reader(k).FoundSlots(), ErrorCode::kDataLoss, &joins);
  const bool first = std::all_of(rows_of_.begin(), rows_of_.end(),
                                 [](RowsOf rows) { return rows == RowsOf::kNotKnown; });
  if (first && !AllKnown(row_slots())) {
    settled_ = row_slots();
    for (size_t i = 0; i < joins.size(); ++i) {
      if (!settled_[i].known) settled_[i] = joins[i].joined();
    }
  }
  rows_of_[k] = reader(k).row_slots() == row_slots() ? RowsOf::kSame : RowsOf::kOwn;
}

// Formats write straight into rows of the slots that they have found.
void UnionReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  const Ref<TicketRun> own = Pool<TicketRun>::Take();  // the caller's run keeps what they point to
  for (size_t first = 0; first < n;) {
    const size_t k = ReaderOf(tickets[first]);
    own->tickets.clear();
    for (; first < n && ReaderOf(tickets[first]) == k; ++first) {
      own->tickets.push_back(tickets[first]);
      uint64_t& sample = own->tickets.back().id.sample;
      sample = SampleBelow(sample);
    }
    if (rows_of_[k] == RowsOf::kSame) {
      reader(k).Load(own->tickets.data(), own->tickets.size(), rows);
    } else {
      for (const Ticket& ticket : own->tickets) LoadOwn(reader(k), ticket, rows);
    }
  }
}

void UnionReader::LoadOwn(const ReaderBase& reader, const Ticket& ticket, Rows* rows) const {
  const Ref<ScratchRows> own = Pool<ScratchRows>::Take();
  RecordPlace place;
  own->rows.Reset(reader.row_slots());
  reader.Load(&ticket, 1, &own->rows);
  std::vector<LoDTensor> element;
  own->rows.MoveTo(&element);
  try {
    rows->Append(element);
  } catch (...) {
    throw place.Named(CurrentError());
  }
}

void UnionReader::SaveState(ReaderState* state) const {
  state->Setting("readers", size());
  if (!settled_.empty()) state->SetList("slots", NumbersOf(settled_));
}

// A position from before they were saved has none; they are settled when the next element is
// planned.
void UnionReader::RestoreState(const ReaderState& state) {
  const std::vector<uint64_t>& numbers = state.List("slots");
  if (numbers.empty()) return;
  std::optional<std::vector<SlotSpec>> slots = SlotsOf(numbers, this->slots());
  if (!slots) state.Fail("its slots make no sense");
  settled_ = *std::move(slots);
  is_settled_ = true;
}

void UnionReader::RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const {
  if (n == 0) {
    for (size_t k = 0; k < size(); ++k) reader(k).RecordKeys(tickets, 0, keys);
  }
  for (size_t i = 0; i < n; ++i) {
    Ticket below = tickets[i];
    below.id.sample = SampleBelow(below.id.sample);
    reader(ReaderOf(tickets[i])).RecordKeys(&below, 1, &keys[i]);
  }
}

void UnionReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->below.resize(size());
  std::vector<std::vector<Ticket>> of(size());
  for (size_t i = 0; i < n; ++i) {
    const size_t k = ReaderOf(tickets[i]);
    names->numbers.push_back(k);
    of[k].push_back(tickets[i]);
    of[k].back().id.sample = SampleBelow(tickets[i].id.sample);
  }
  for (size_t k = 0; k < size(); ++k) {
    if (!of[k].empty()) reader(k).NameElements(of[k].data(), of[k].size(), &names->below[k]);
  }
  names->count += n;
}

void UnionReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  SettleSlots();
  Require(names.numbers.size() == names.count && names.below.size() == size(),
          "the position names elements of ", origin(), " that make no sense");
  std::vector<std::vector<size_t>> places(size());
  for (size_t i = 0; i < names.count; ++i) {
    Require(names.numbers[i] < size(), "the position names an element of reader ", names.numbers[i],
            " of ", size());
    places[names.numbers[i]].push_back(i);
  }
  for (size_t k = 0; k < size(); ++k) {
    Require(names.below[k].count == places[k].size(), "the position names ", places[k].size(),
            " elements of ", Called(k), ", but tells which for ", names.below[k].count);
    reader(k).PlanAgain(names.below[k], [&](size_t place, const Ticket& below) {
      Ticket ticket = below;
      Name(k, &ticket, 1);
      take(places[k][place], ticket);
    });
    if (!places[k].empty() && rows_of_[k] == RowsOf::kNotKnown) CheckRows(k);
  }
}

}  // namespace millhopper
