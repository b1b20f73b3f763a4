// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/pack_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "readers/support/pad_value.h"

namespace millhopper {

PackMethod PackMethodOf(const std::string& method) {
  if (method == "best_fit") return PackMethod::kBestFit;
  return method == "first_fit" ? PackMethod::kFirstFit : PackMethod::kConcatThenSplit;
}

Overlong OverlongOf(const std::string& overlong) {
  if (overlong == "truncate") return Overlong::kTruncate;
  return overlong == "split" ? Overlong::kSplit : Overlong::kError;
}

std::vector<SlotSpec> PackedSlots(const std::vector<SlotSpec>& slots, int64_t length,
                                  bool with_labels) {
  std::vector<SlotSpec> packed = slots;
  for (size_t i = 0; i < packed.size(); ++i) {
    SlotSpec& slot = packed[i];
    Require(slot.lod_level <= 1, "slot ", i, " (", ToString(slot),
            ") cannot be packed: a document has one level of detail at most");
    slot.lod_level = 0;
    if (!slot.known) continue;
    Dims dims{1, length};
    for (size_t axis = 1; axis < slot.dims.size(); ++axis) dims.push_back(slot.dims[axis]);
    slot.dims = dims;
  }
  if (with_labels) packed.push_back(packed.front());
  SlotSpec documents;
  documents.dtype = DataType::kInt32;
  documents.dims = {1, length};
  packed.insert(packed.end(), 2, documents);
  return packed;
}

// Labels are next tokens, in their type, and have this number after the last one of a document.
void CheckLabels(double number, const SlotSpec& tokens) {
  try {
    PadNumbers({number}, {tokens});
  } catch (const Error& error) {
    throw error.WithMessage(StrCat("labels is ", number, ", and labels are ",
                                   ToString(tokens.dtype),
                                   ", as the tokens of slot 0 are, which does not hold it; give "
                                   "tokens of another type (cast), or a number that it holds"));
  }
}

PackReader::PackReader(std::unique_ptr<ReaderBase> reader, const PackOptions& options)
    : GatherReader(std::move(reader),
                   PackedSlots(reader->slots(), options.length, options.labels.has_value())),
      options_(options),
      length_(static_cast<size_t>(options.length)),
      pads_(PadNumbers(options.pad_values, this->reader().slots())) {
  Require(options.length >= 1, "length is ", options.length, "; it must be at least 1");
  if (options.labels.has_value()) CheckLabels(*options.labels, this->reader().slots().front());
  Require(options.bins >= 1, "bins is ", options.bins, "; it must be at least 1");
}

size_t PackReader::LengthOfAll(const GatheredPart& document) {
  const size_t length = LengthOf(document, 0);
  for (size_t k = 1; k < document.tensors.size(); ++k) {
    const size_t other = LengthOf(document, k);
    if (other == length) continue;
    Throw(ErrorCode::kDataLoss, "slot ", k, " has ", other, " steps, but slot 0 has ", length,
          "; a document has as many in each slot, so pass on only slots of tokens");
  }
  return length;
}

void PackReader::Gather(const Ref<GatheredPart>& document) {
  const size_t length = LengthOfAll(*document);
  size_t first = 0;
  if (options_.method == PackMethod::kConcatThenSplit) {
    while (first < length) {
      const size_t steps = std::min(length - first, room_.empty() ? length_ : room_[0]);
      Place(document, first, steps);
      first += steps;
    }
    return;
  }
  size_t end = length;
  if (length > length_) {
    switch (options_.overlong) {
      case Overlong::kError:
        Throw(ErrorCode::kDataLoss, "a document of ", length, " steps is longer than a row of ",
              length_, "; overlong: \"split\" or \"truncate\" would pack it");
      case Overlong::kTruncate:
        end = length_;
        break;
      case Overlong::kSplit:
        for (; end - first > length_; first += length_) Place(document, first, length_);
    }
  }
  if (end > first) Place(document, first, end - first);
}

void PackReader::Place(const Ref<GatheredPart>& document, size_t first, size_t steps) {
  size_t row = Choose(steps);
  if (row == open_.size()) {
    if (steps == length_) {  // a row by itself takes no place among the open ones
      Ref<Gathered> whole = Pool<Gathered>::Take();
      whole->Add(document, first, steps);
      Yield(std::move(whole));
      return;
    }
    if (row == static_cast<size_t>(options_.bins)) YieldRow(Fullest());
    row = open_.size();
    open_.push_back(Pool<Gathered>::Take());
    room_.push_back(length_);
  }
  open_[row]->Add(document, first, steps);
  room_[row] -= steps;
  if (room_[row] == 0) YieldRow(row);
}

size_t PackReader::Choose(size_t steps) const {
  size_t best = room_.size();
  for (size_t i = 0; i < room_.size(); ++i) {
    if (room_[i] < steps) continue;
    if (options_.method != PackMethod::kBestFit) return i;
    if (best == room_.size() || room_[i] < room_[best]) best = i;
  }
  return best;
}

size_t PackReader::Fullest() const {
  return static_cast<size_t>(std::min_element(room_.begin(), room_.end()) - room_.begin());
}

void PackReader::YieldRow(size_t i) {
  Yield(std::move(open_[i]));
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  room_.erase(room_.begin() + static_cast<std::ptrdiff_t>(i));
}

void PackReader::GatherRest() {
  for (Ref<Gathered>& row : open_) Yield(std::move(row));
  Forget();
}

void PackReader::Forget() {
  open_.clear();
  room_.clear();
}

void PackReader::CheckGathered(const Gathered& row) const {
  size_t room = length_;
  for (const Gathered::Piece& piece : row.pieces()) {
    LengthOfAll(*piece.part);
    Require(piece.steps > 0 && piece.steps <= room, "the position names a row of ", origin(),
            " with more than its ", length_, " steps");
    room -= piece.steps;
  }
}

void PackReader::SaveState(ReaderState* state) const {
  GatherReader::SaveState(state);
  state->Setting("length", length_);
  state->Setting("method", options_.method == PackMethod::kFirstFit  ? "first_fit"
                           : options_.method == PackMethod::kBestFit ? "best_fit"
                                                                     : "concat_then_split");
  state->Setting("bins", static_cast<uint64_t>(options_.bins));
  state->Setting("overlong", options_.overlong == Overlong::kError      ? "error"
                             : options_.overlong == Overlong::kTruncate ? "truncate"
                                                                        : "split");
  state->Setting("pad_values", pads_);
  if (options_.labels.has_value()) state->Setting("labels", std::vector<double>{*options_.labels});
  std::vector<const Gathered*> open;
  open.reserve(open_.size());
  for (const Ref<Gathered>& row : open_) open.push_back(row.get());
  state->SetElements("begun", NamesOf(open));
}

void PackReader::RestoreState(const ReaderState& state) {
  GatherReader::RestoreState(state);
  open_ = GatherAgain(state.Elements("begun"));
  if (open_.size() > static_cast<size_t>(options_.bins)) {
    state.Fail(open_.size(), " rows are open");
  }
  for (const Ref<Gathered>& row : open_) {
    room_.push_back(length_);
    for (const Gathered::Piece& piece : row->pieces()) room_.back() -= piece.steps;
    if (room_.back() == 0) state.Fail("a row that is full is open");
  }
}

void PackReader::LoadGathered(const Gathered& row, Rows* rows) const {
  for (size_t slot = 0; slot < pads_.size(); ++slot)
    LoadSteps(row, slot, 0, pads_[slot], slot, rows);
  size_t next = pads_.size();
  if (options_.labels.has_value()) LoadSteps(row, 0, 1, *options_.labels, next++, rows);
  LoadDocuments(row, next, rows);
}

void PackReader::LoadSteps(const Gathered& row, size_t from, size_t shift, double pad, size_t slot,
                           Rows* rows) const {
  const LoDTensor& like = row.pieces().front().part->tensors[from];
  Dims dims{1, options_.length};
  Dims inner;
  for (size_t axis = 1; axis < like.dims().size(); ++axis) {
    dims.push_back(like.dims()[axis]);
    inner.push_back(like.dims()[axis]);
  }
  const auto step_values = static_cast<size_t>(Product(inner));
  const size_t step_bytes = step_values * SizeOf(like.dtype());
  const PadValue value(pad, like.dtype());
  char* place = rows->Append(slot, like.dtype(), dims);
  size_t filled = 0;
  for (const Gathered::Piece& piece : row.pieces()) {
    const LoDTensor& tensor = piece.part->tensors[from];
    CheckSameSteps(like, tensor, from);
    const size_t copied = std::min(piece.steps, LengthOf(*piece.part, from) - piece.first - shift);
    const size_t bytes = copied * step_bytes;
    if (bytes > 0) {
      std::memcpy(place,
                  static_cast<const char*>(tensor.raw_data()) + (piece.first + shift) * step_bytes,
                  bytes);
    }
    value.Fill(place + bytes, (piece.steps - copied) * step_values);
    place += piece.steps * step_bytes;
    filled += piece.steps;
  }
  value.Fill(place, (length_ - filled) * step_values);
}

void PackReader::LoadDocuments(const Gathered& row, size_t slot, Rows* rows) const {
  const Dims dims{1, options_.length};
  auto* id = reinterpret_cast<int32_t*>(rows->Append(slot, DataType::kInt32, dims));
  auto* position = reinterpret_cast<int32_t*>(rows->Append(slot + 1, DataType::kInt32, dims));
  int32_t document = 0;
  size_t room = length_;
  for (const Gathered::Piece& piece : row.pieces()) {
    id = std::fill_n(id, piece.steps, ++document);
    std::iota(position, position + piece.steps, 0);
    position += piece.steps;
    room -= piece.steps;
  }
  std::fill_n(id, room, 0);
  std::fill_n(position, room, 0);
}

}  // namespace millhopper
