// SPDX-License-Identifier: Apache-2.0
// Packs documents into rows of a fixed length.
#ifndef MILLHOPPER_READERS_GATHER_PACK_READER_H_
#define MILLHOPPER_READERS_GATHER_PACK_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "readers/gather/gather_reader.h"

namespace millhopper {

// Which row a document goes into.
enum class PackMethod {
  kFirstFit,  // the oldest open row that has room for it
  kBestFit,   // the open row that has the least room left after it; of several, the oldest
  // Documents are laid end to end, and the stream is cut into rows; only the last row is padded.
  kConcatThenSplit,
};
// "first_fit", "best_fit" or "concat_then_split", as attributes say it.
PackMethod PackMethodOf(const std::string& method);

// What becomes of a document that is longer than a row. kConcatThenSplit splits all documents.
enum class Overlong {
  kError,
  kTruncate,  // its first `length` steps are packed
  kSplit,     // it is cut into pieces of `length` steps, and the rest is its own document
};
// "error", "truncate" or "split", as attributes say it.
Overlong OverlongOf(const std::string& overlong);

struct PackOptions {
  int64_t length = 0;  // of a row
  PackMethod method = PackMethod::kFirstFit;
  int64_t bins = 64;  // rows that are open at once
  Overlong overlong = Overlong::kError;
  std::vector<double> pad_values;  // one per slot, one for all, or none: 0
  std::optional<double> labels;    // makes labels: the value of those that are masked
};

// The slots of packed rows of documents with these slots, with labels or without. Throws
// kInvalidArgument for a slot with more than one level of detail, or if these are too many.
std::vector<SlotSpec> PackedSlots(const std::vector<SlotSpec>& slots, int64_t length,
                                  bool with_labels);

// Each element below is a document: in every slot one sequence of steps along axis 0, of the same
// length. Yields rows, in which each slot is [1, length, ...] without levels of detail, and two
// slots more, int32 [1, length]: the document ids, 1 for the first document of the row, 2 for the
// second and 0 for padding; and the positions, which count from 0 in each document and are 0 in the
// padding. A piece of a document that was split counts as a document. Documents without steps are
// left out.
//
// If labels are made, a slot before these two has, for each step, what follows it in the first slot
// of its document, also where a piece of the document ends; the value for masked ones stands where
// the document ends, and in the padding.
//
// A row is yielded as soon as it is full; a piece that fills one is yielded at once. If a document
// fits into no open row and `bins` rows are open, the one with the least room left is yielded, the
// oldest of several. At the end of a pass the open rows are yielded in the order in which they were
// opened.
class PackReader final : public GatherReader {
 public:
  // Throws kInvalidArgument for a length or bins below 1, for slots that cannot be packed, for
  // padding values that do not fit them, and as StageReader does.
  PackReader(std::unique_ptr<ReaderBase> reader, const PackOptions& options);

  std::vector<SlotSpec> FoundSlots() const override {
    return PackedSlots(reader().FoundSlots(), options_.length, options_.labels.has_value());
  }

  void RecordKeys(const Ticket*, size_t, uint64_t*) const override { RefuseRecordKeys(); }

 private:
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void Forget() override;
  void CheckGathered(const Gathered& row) const override;
  void LoadGathered(const Gathered& row, Rows* rows) const override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  // The length of a document in all of its slots.
  static size_t LengthOfAll(const GatheredPart& document);
  // Puts a piece that is no longer than a row into the row that the method says.
  void Place(const Ref<GatheredPart>& document, size_t first, size_t steps);
  // The open row for a piece of that many steps; how many rows are open if there is none.
  size_t Choose(size_t steps) const;
  size_t Fullest() const;
  void YieldRow(size_t i);
  // Appends a slot of the steps of slot `from` below, or of those that are `shift` after them;
  // `pad` stands where there is none, and after the last document.
  void LoadSteps(const Gathered& row, size_t from, size_t shift, double pad, size_t slot,
                 Rows* rows) const;
  // Appends the document ids and positions, as slots `slot` and the next.
  void LoadDocuments(const Gathered& row, size_t slot, Rows* rows) const;

  const PackOptions options_;
  const size_t length_;
  const std::vector<double> pads_;  // by slot
  // The open rows, in the order in which they were opened, and the room that each has left.
  std::vector<Ref<Gathered>> open_;
  std::vector<size_t> room_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_PACK_READER_H_
