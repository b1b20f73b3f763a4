// SPDX-License-Identifier: Apache-2.0
// Elements with others of their window beside them.
#ifndef MILLHOPPER_READERS_GATHER_PARTNERS_READER_H_
#define MILLHOPPER_READERS_GATHER_PARTNERS_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "framework/base/random.h"
#include "readers/gather/gather_reader.h"

namespace millhopper {

struct PartnersOptions {
  int64_t count = 1;           // partners of each element
  int64_t window = 64;         // elements that are drawn from
  std::vector<int64_t> slots;  // those of partners that follow; all if there are none
};

// The slots of elements with their partners.
std::vector<SlotSpec> SlotsWithPartners(const std::vector<SlotSpec>& below,
                                        const PartnersOptions& options);

// Each `window` elements, one after another, draw their partners from one another: partner k of an
// element is any of the others, by number k of the key of the element's name. The last elements of
// a pass may be fewer; one that is alone is its own partner. Each element is loaded once.
class PartnersReader final : public GatherReader {
 public:
  // Throws kInvalidArgument for a count below 1, a window below 2, and slots that there are not.
  PartnersReader(std::unique_ptr<ReaderBase> reader, const PartnersOptions& options,
                 const RandomKey& key);

  std::vector<SlotSpec> FoundSlots() const override {
    return SlotsWithPartners(reader().FoundSlots(), options_);
  }
  std::optional<uint64_t> PassLength() const override { return reader().PassLength(); }
  void ExpectRanks(size_t ranks, size_t run) override { reader().ExpectRanks(ranks, run); }
  void RecordKeys(const Ticket*, size_t, uint64_t*) const override { RefuseRecordKeys(); }

 private:
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void Forget() override { window_.clear(); }
  void CheckGathered(const Gathered& gathered) const override;
  void LoadGathered(const Gathered& gathered, Rows* rows) const override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const PartnersOptions options_;
  const RandomKey key_;
  std::vector<size_t> slots_;              // of partners
  std::vector<Ref<GatheredPart>> window_;  // that is being gathered
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_PARTNERS_READER_H_
