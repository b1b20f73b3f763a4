// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/collating_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "readers/decorate/batch_reader.h"
#include "readers/support/pad_value.h"

namespace millhopper {
namespace {

bool IsPadded(const SlotSpec& slot, const CollationOptions& options) {
  return options.pad && slot.lod_level > 0;
}

// By slot; of one that is not padded, the one for all.
std::vector<int64_t> PadLengths(const std::vector<SlotSpec>& slots,
                                const CollationOptions& options) {
  const auto is_padded = [&](const SlotSpec& slot) { return IsPadded(slot, options); };
  const std::vector<int64_t> of_padded = OneForEach(
      options.pad_lengths,
      static_cast<size_t>(std::count_if(slots.begin(), slots.end(), is_padded)), "padding lengths");
  const bool is_one = options.pad_lengths.size() == 1;
  std::vector<int64_t> lengths(slots.size(), is_one ? options.pad_lengths[0] : 0);
  size_t padded = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (is_padded(slots[i])) lengths[i] = of_padded[padded++];
    Require(lengths[i] >= 0, "pad_length is ", lengths[i], "; it must be at least 0");
  }
  return lengths;
}

}  // namespace

std::vector<SlotSpec> CollatedSlots(const std::vector<SlotSpec>& below,
                                    const CollationOptions& options) {
  const std::vector<int64_t> lengths_of_slots = PadLengths(below, options);
  std::vector<SlotSpec> slots;
  size_t padded = 0;
  for (size_t i = 0; i < below.size(); ++i) {
    SlotSpec slot = below[i];
    if (IsPadded(slot, options)) {
      Require(slot.lod_level == 1, "slot ", i, " (", ToString(slot),
              ") cannot be padded: it must have one level of detail");
      ++padded;
      slot.lod_level = 0;
      if (slot.known) {
        Dims dims{-1, lengths_of_slots[i] > 0 ? lengths_of_slots[i] : -1};
        for (size_t axis = 1; axis < slot.dims.size(); ++axis) dims.push_back(slot.dims[axis]);
        slot.dims = dims;
      }
    } else if (slot.known) {
      slot.dims = BatchDims(slot.dims, BatchMode::kConcat);
    }
    slots.push_back(slot);
  }
  SlotSpec lengths;
  lengths.dtype = DataType::kInt64;
  lengths.dims = {-1, 1};
  if (options.lengths) slots.insert(slots.end(), padded, lengths);
  return slots;
}

CollatingReader::CollatingReader(std::unique_ptr<ReaderBase>&& reader,
                                 const CollationOptions& options)
    : GatherReader(std::move(reader), CollatedSlots(reader->slots(), options)), options_(options) {
  Require(options.pad_multiple >= 1, "pad_multiple is ", options.pad_multiple,
          "; it must be at least 1");
  std::vector<SlotSpec> padded;
  const std::vector<SlotSpec>& below = this->reader().slots();
  for (size_t i = 0; i < below.size(); ++i) {
    if (!IsPadded(below[i], options)) continue;
    padded_.push_back(i);
    padded.push_back(below[i]);
  }
  if (options.pad) pads_ = PadNumbers(options.pad_values, padded);
  pad_lengths_ = PadLengths(below, options);
}

void CollatingReader::SaveState(ReaderState* state) const {
  GatherReader::SaveState(state);
  state->Setting("pad", options_.pad ? "true" : "false");
  state->Setting("pad_length",
                 options_.pad_lengths.empty() ? std::vector<int64_t>{0} : options_.pad_lengths);
  state->Setting("pad_multiple", static_cast<uint64_t>(options_.pad_multiple));
  state->Setting("pad_values", pads_);
  state->Setting("lengths", options_.lengths ? "true" : "false");
}

size_t CollatingReader::CheckedSlot(int64_t slot) const {
  const size_t count = reader().slots().size();
  Require(slot >= 0 && static_cast<size_t>(slot) < count, "slot ", slot, " of a reader with ",
          count, " slots");
  return static_cast<size_t>(slot);
}

size_t CollatingReader::PaddedLength(size_t slot, size_t longest) const {
  const auto fixed = static_cast<size_t>(pad_lengths_[slot]);
  if (fixed > 0) {
    if (longest > fixed) {
      Throw(ErrorCode::kDataLoss, "slot ", slot, ": a sequence of ", longest,
            " steps is longer than pad_length, ", fixed, "; truncate sequences before");
    }
    return fixed;
  }
  const auto multiple = static_cast<size_t>(options_.pad_multiple);
  return CheckedProduct((longest + multiple - 1) / multiple, multiple);
}

void CollatingReader::LoadGathered(const Gathered& batch, Rows* rows) const {
  size_t padded = 0;
  for (size_t slot = 0; slot < reader().slots().size(); ++slot) {
    if (padded < padded_.size() && padded_[padded] == slot) {
      LoadPadded(batch, slot, padded++, rows);
    } else {
      LoadEndToEnd(batch, slot, rows);
    }
  }
}

void CollatingReader::LoadEndToEnd(const Gathered& batch, size_t slot, Rows* rows) const {
  size_t bytes = 0;
  for (const Gathered::Piece& piece : batch.pieces()) bytes += piece.part->tensors[slot].bytes();
  if (batch.pieces().size() > 1) rows->ExpectBytes(slot, bytes);
  for (const Gathered::Piece& piece : batch.pieces()) {
    rows->Append(slot, piece.part->tensors[slot]);
  }
}

void CollatingReader::LoadPadded(const Gathered& batch, size_t slot, size_t padded,
                                 Rows* rows) const {
  const auto elements = static_cast<int64_t>(batch.pieces().size());
  const LoDTensor& like = batch.pieces().front().part->tensors[slot];
  size_t longest = 0;
  for (const Gathered::Piece& piece : batch.pieces()) {
    longest = std::max(longest, LengthOf(*piece.part, slot));
    CheckSameSteps(like, piece.part->tensors[slot], slot);
  }
  const size_t length = PaddedLength(slot, longest);
  Dims dims{elements, static_cast<int64_t>(length)};
  Dims inner;
  for (size_t axis = 1; axis < like.dims().size(); ++axis) {
    dims.push_back(like.dims()[axis]);
    inner.push_back(like.dims()[axis]);
  }
  Product(dims);  // throws if there are too many values
  const auto step_values = static_cast<size_t>(Product(inner));
  const size_t step_bytes = step_values * SizeOf(like.dtype());
  const PadValue pad(pads_[padded], like.dtype());
  char* place = rows->Append(slot, like.dtype(), dims);
  for (const Gathered::Piece& piece : batch.pieces()) {
    const LoDTensor& tensor = piece.part->tensors[slot];
    if (tensor.bytes() > 0) std::memcpy(place, tensor.raw_data(), tensor.bytes());
    pad.Fill(place + tensor.bytes(), (length - tensor.rows()) * step_values);
    place += length * step_bytes;
  }
  if (!options_.lengths) return;
  auto* lengths = reinterpret_cast<int64_t*>(
      rows->Append(reader().slots().size() + padded, DataType::kInt64, {elements, 1}));
  for (const Gathered::Piece& piece : batch.pieces()) {
    *lengths++ = static_cast<int64_t>(piece.part->tensors[slot].rows());
  }
}

}  // namespace millhopper
