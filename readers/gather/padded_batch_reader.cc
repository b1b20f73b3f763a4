// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/padded_batch_reader.h"

#include <utility>

#include "framework/base/error.h"

namespace millhopper {

PaddedBatchReader::PaddedBatchReader(std::unique_ptr<ReaderBase> reader, int64_t batch_size,
                                     bool discard_leftover, const CollationOptions& collation)
    : CollatingReader(std::move(reader), collation),
      batch_size_(static_cast<size_t>(batch_size)),
      discard_leftover_(discard_leftover) {
  Require(batch_size >= 1, "batch_size is ", batch_size, "; it must be at least 1");
}

std::optional<uint64_t> PaddedBatchReader::PassLength() const {
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  const bool leftover = !discard_leftover_ && *below % batch_size_ > 0;
  return *below / batch_size_ + (leftover ? 1 : 0);
}

void PaddedBatchReader::Gather(const Ref<GatheredPart>& part) {
  Add(part);
  ends_passes_ = false;
}

void PaddedBatchReader::Add(const Ref<GatheredPart>& part) {
  if (ends_passes_ && batch_.size() > 0 && batch_.gathered()->id().pass != part->id.pass) {
    Ref<Gathered> rest = batch_.Take();
    if (!discard_leftover_) Yield(std::move(rest));
  }
  batch_.Add(part);
  if (batch_.size() == batch_size_) Yield(batch_.Take());
}

void PaddedBatchReader::GatherRest() {
  if (batch_.size() > 0 && !discard_leftover_) Yield(batch_.Take());
  // What is left out may be in a batch where a position is cut anew.
  if (!expects_save()) Forget();
}

void PaddedBatchReader::SaveState(ReaderState* state) const {
  CollatingReader::SaveState(state);
  state->CutsBy("batch_size", batch_size_);
  state->Setting("discard_leftover", discard_leftover_ ? "true" : "false");
  if (batch_.size() == 0) return;
  state->SetElements("begun", NamesOf({batch_.gathered()}));
  if (ends_passes_) state->SetList("ends_passes", {1});
}

void PaddedBatchReader::RestoreState(const ReaderState& state) {
  CollatingReader::RestoreState(state);
  for (Ref<Gathered>& batch : GatherAgain(state.Elements("begun")))
    batch_.Continue(std::move(batch));
  ends_passes_ = !state.List("ends_passes").empty();
  for (const Ref<GatheredPart>& part : LoadPartsAgain(state.Elements("again"))) Add(part);
}

// Each of its batches has every element below as a whole, and as a part of its own.
void PaddedBatchReader::TakeBack(SavedRank* saved, ReaderState* state) const {
  ElementNames again;
  saved->held.push_back(state->TakeElements("ready"));
  saved->held.push_back(state->TakeElements("begun"));
  for (const ElementNames& batches : saved->held) {
    if (!batches.below.empty()) again.Append(batches.below[0]);
  }
  state->SetElements("again", std::move(again));
  state->Set("gathered_all", 0);
  if (saved->of_passes) state->SetList("ends_passes", {1});
}

}  // namespace millhopper
