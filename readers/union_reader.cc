// SPDX-License-Identifier: Apache-2.0
#include "readers/union_reader.h"

#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// The slots of the readers; of one that only some of them know yet, what these know.
std::vector<SlotSpec> CommonSlots(const Readers& readers) {
  if (readers.empty()) return {};
  std::vector<SlotSpec> common = readers[0]->slots();
  for (const auto& reader : readers) {
    const std::vector<SlotSpec>& slots = reader->slots();
    Require(slots.size() == common.size(), "readers of ", common.size(), " and of ", slots.size(),
            " slots cannot be joined");
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!common[i].known) common[i] = slots[i];
      Require(!slots[i].known || slots[i] == common[i], "slot ", i, " of the readers is ",
              ToString(common[i]), " and ", ToString(slots[i]),
              "; readers can be joined only if they have the same slots");
    }
  }
  return common;
}

}  // namespace

UnionReader::UnionReader(Readers readers)
    : CombinedReader(std::move(readers), CommonSlots(readers)), checked_(size()) {}

void UnionReader::Rename(size_t k, Ticket* tickets, size_t n) {
  if (!checked_[k]) CheckRowSlots(k);
  for (size_t i = 0; i < n; ++i) {
    uint64_t& sample = tickets[i].id.sample;
    if (__builtin_mul_overflow(sample, size(), &sample) ||
        __builtin_add_overflow(sample, k, &sample)) {
      Throw(ErrorCode::kResourceLimit,
            "too many readers are joined on top of one another to give each element a name");
    }
  }
}

// Formats write straight into rows of the slots that they have found, so all must have found the
// same.
void UnionReader::CheckRowSlots(size_t k) {
  const std::vector<SlotSpec>& found = reader(k).row_slots();
  if (found_slots_.empty()) found_slots_ = found;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == found_slots_[i]) continue;
    Throw(ErrorCode::kDataLoss, "slot ", i, " is ", ToString(found[i]), " in the files of ",
          Called(k), ", and ", ToString(found_slots_[i]), " in those of another reader");
  }
  checked_[k] = true;
}

void UnionReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  const Ref<TicketRun> own = Pool<TicketRun>::Take();  // the caller's run keeps what they point to
  for (size_t first = 0; first < n;) {
    const size_t k = ReaderOf(tickets[first]);
    own->tickets.clear();
    for (; first < n && ReaderOf(tickets[first]) == k; ++first) {
      own->tickets.push_back(tickets[first]);
      own->tickets.back().id.sample /= size();
    }
    reader(k).Load(own->tickets.data(), own->tickets.size(), rows);
  }
}

void UnionReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->below.resize(size());
  std::vector<std::vector<Ticket>> of(size());
  for (size_t i = 0; i < n; ++i) {
    const size_t k = ReaderOf(tickets[i]);
    names->numbers.push_back(k);
    of[k].push_back(tickets[i]);
    of[k].back().id.sample /= size();
  }
  for (size_t k = 0; k < size(); ++k) {
    if (!of[k].empty()) reader(k).NameElements(of[k].data(), of[k].size(), &names->below[k]);
  }
  names->count += n;
}

void UnionReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
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
      Rename(k, &ticket, 1);
      take(places[k][place], ticket);
    });
  }
}

}  // namespace millhopper
