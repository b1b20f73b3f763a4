// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/token_batch_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/memory/memory.h"

namespace millhopper {

TokenBatchReader::TokenBatchReader(std::unique_ptr<ReaderBase> reader,
                                   const TokenBatchOptions& options)
    : CollatingReader(std::move(reader), options.collation),
      options_(options),
      slot_(CheckedSlot(options.slot)) {
  Require(options.max_tokens >= 1, "max_tokens is ", options.max_tokens, "; it must be at least 1");
}

size_t TokenBatchReader::Tokens(size_t elements, size_t sum, size_t longest) const {
  return options_.count_padding ? CheckedProduct(elements, PaddedLength(slot_, longest)) : sum;
}

void TokenBatchReader::Gather(const Ref<GatheredPart>& part) {
  const size_t length = LengthOf(*part, slot_);
  const auto most = static_cast<size_t>(options_.max_tokens);
  const size_t alone = Tokens(1, length, length);
  if (alone > most && !options_.overlong_alone) {
    Throw(ErrorCode::kDataLoss, "an element of ", alone, " tokens is larger than max_tokens, ",
          most, "; overlong: \"alone\" would make it a batch alone");
  }
  const size_t tokens = Tokens(batch_.size() + 1, sum_ + length, std::max(longest_, length));
  if (batch_.size() > 0 && tokens > most) {
    Yield(batch_.Take());
    sum_ = longest_ = 0;
  }
  batch_.Add(part);
  sum_ += length;
  longest_ = std::max(longest_, length);
}

void TokenBatchReader::GatherRest() {
  if (batch_.size() > 0 && !options_.discard_leftover) Yield(batch_.Take());
  Forget();
}

void TokenBatchReader::Forget() {
  batch_ = OpenBatch();
  sum_ = longest_ = 0;
}

void TokenBatchReader::SaveState(ReaderState* state) const {
  CollatingReader::SaveState(state);
  state->Setting("max_tokens", static_cast<uint64_t>(options_.max_tokens));
  state->Setting("slot", slot_);
  state->Setting("count_padding", options_.count_padding ? "true" : "false");
  state->Setting("overlong", options_.overlong_alone ? "alone" : "error");
  state->Setting("discard_leftover", options_.discard_leftover ? "true" : "false");
  if (batch_.size() > 0) state->SetElements("begun", NamesOf({batch_.gathered()}));
}

void TokenBatchReader::RestoreState(const ReaderState& state) {
  CollatingReader::RestoreState(state);
  for (Ref<Gathered>& batch : GatherAgain(state.Elements("begun"))) {
    sum_ = longest_ = 0;
    for (const Gathered::Piece& piece : batch->pieces()) {
      const size_t length = LengthOf(*piece.part, slot_);
      sum_ += length;
      longest_ = std::max(longest_, length);
    }
    batch_.Continue(std::move(batch));
  }
}

}  // namespace millhopper
