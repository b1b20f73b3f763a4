// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/partners_reader.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

// Of the slots below, those that partners have.
std::vector<size_t> SlotsOfPartners(const PartnersOptions& options, size_t count) {
  std::vector<size_t> slots;
  for (const int64_t slot : options.slots) {
    Require(slot >= 0 && static_cast<size_t>(slot) < count, "slot ", slot, " of a reader with ",
            count, " slots");
    slots.push_back(static_cast<size_t>(slot));
  }
  for (size_t i = 0; options.slots.empty() && i < count; ++i) slots.push_back(i);
  return slots;
}

}  // namespace

std::vector<SlotSpec> SlotsWithPartners(const std::vector<SlotSpec>& below,
                                        const PartnersOptions& options) {
  const std::vector<size_t> own = SlotsOfPartners(options, below.size());
  Require(options.count >= 1, "count is ", options.count, "; it must be at least 1");
  Require(static_cast<uint64_t>(options.count) <= kMaxSlots / own.size(), options.count,
          " partners of ", own.size(), " slots each are more than ", kMaxSlots, " slots");
  std::vector<SlotSpec> slots = below;
  for (int64_t k = 0; k < options.count; ++k) {
    for (const size_t slot : own) slots.push_back(below[slot]);
  }
  return slots;
}

PartnersReader::PartnersReader(std::unique_ptr<ReaderBase> reader, const PartnersOptions& options,
                               const RandomKey& key)
    : GatherReader(std::move(reader), SlotsWithPartners(reader->slots(), options)),
      options_(options),
      key_(key),
      slots_(SlotsOfPartners(options, this->reader().slots().size())) {
  Require(options.window >= 2, "window is ", options.window, "; it must be at least 2");
}

void PartnersReader::Gather(const Ref<GatheredPart>& part) {
  window_.push_back(part);
  if (window_.size() == static_cast<size_t>(options_.window)) GatherRest();
}

void PartnersReader::GatherRest() {
  for (size_t i = 0; i < window_.size(); ++i) {
    Ref<Gathered> element = Pool<Gathered>::Take();
    element->Add(window_[i]);
    const RandomKey key = key_.Of(window_[i]->id);
    for (uint64_t k = 0; k < static_cast<uint64_t>(options_.count); ++k) {
      size_t partner = i;
      if (window_.size() > 1) {
        partner = key.Below(window_.size() - 1, 0, k);
        if (partner >= i) ++partner;
      }
      element->Add(window_[partner]);
    }
    Yield(std::move(element));
  }
  window_.clear();
}

void PartnersReader::CheckGathered(const Gathered& gathered) const {
  Require(gathered.pieces().size() == static_cast<size_t>(options_.count) + 1,
          "the position has an element of ", gathered.pieces().size(), " records in ", origin(),
          ", which makes each of ", options_.count + 1);
}

void PartnersReader::LoadGathered(const Gathered& gathered, Rows* rows) const {
  size_t place = 0;
  for (const LoDTensor& tensor : gathered.pieces().front().part->tensors) {
    rows->Append(place++, tensor);
  }
  for (size_t k = 1; k < gathered.pieces().size(); ++k) {
    for (const size_t slot : slots_) {
      rows->Append(place++, gathered.pieces()[k].part->tensors[slot]);
    }
  }
}

void PartnersReader::SaveState(ReaderState* state) const {
  GatherReader::SaveState(state);
  state->Setting("count", static_cast<uint64_t>(options_.count));
  state->Setting("window", static_cast<uint64_t>(options_.window));
  state->Setting("partner_slots", slots_);
  std::vector<Ref<Gathered>> held;
  std::vector<const Gathered*> gathered;
  for (const Ref<GatheredPart>& part : window_) {
    held.push_back(Pool<Gathered>::Take());
    held.back()->Add(part);
    gathered.push_back(held.back().get());
  }
  state->SetElements("window", NamesOf(gathered));
}

void PartnersReader::RestoreState(const ReaderState& state) {
  GatherReader::RestoreState(state);
  const ElementNames& window = state.Elements("window");
  if (window.count >= static_cast<uint64_t>(options_.window)) {
    state.Fail(window.count, " elements are in a window of ", options_.window);
  }
  if (window.below.empty()) return;
  window_ = LoadPartsAgain(window.below[0]);
}

}  // namespace millhopper
