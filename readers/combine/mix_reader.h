// SPDX-License-Identifier: Apache-2.0
// Mixes the elements of several readers by weight.
#ifndef MILLHOPPER_READERS_COMBINE_MIX_READER_H_
#define MILLHOPPER_READERS_COMBINE_MIX_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "readers/combine/mix_schedule.h"
#include "readers/combine/union_reader.h"

namespace millhopper {

// What happens when it is the turn of a reader that has ended.
enum class MixEnd {
  kStop,      // the pass ends
  kContinue,  // the others continue, by their weights; the pass ends with the last one
  kRepeat,    // the reader begins anew; the pass ends when each reader has ended at least once
};

// "stop", "continue" or "repeat", as attributes say it.
MixEnd MixEndOf(const std::string& text);

// Yields the elements of several readers in the turns of a MixSchedule: after any number of
// elements, the number from each reader is within 1 of its weight's share. When a reader has ended
// and the others continue, a new schedule begins.
//
// With kRepeat, repeat k (from 0) of a reader in pass p is its pass p + k * 2^32, so that each
// repeat is shuffled differently; a reader that others read, too, counts its passes itself. A
// reader without elements cannot be repeated and leaves the mix.
class MixReader final : public UnionReader {
 public:
  using Weights = std::vector<double>;

  // Throws kInvalidArgument unless all readers have the same slots and there is a weight for each:
  // finite, not negative, and not all 0. `changed_weights`, if not null, returns the weights for a
  // pass that the consumer begins (BeginPass). `lanes` as UnionReader takes it; lanes cannot be
  // repeated.
  MixReader(Readers readers, Weights weights, std::function<Weights()> changed_weights, MixEnd end,
            const RandomKey& key, size_t lanes = 1);

  void BeginPass() override;
  std::optional<uint64_t> PassLength() const override;

 private:
  // What is known of a reader in this pass.
  struct Part {
    size_t wanted = 0;     // elements for the next turns
    size_t available = 0;  // of these
    size_t handed = 0;     // of these
    bool left = false;     // the mix
    bool ended = false;    // at least once
    bool taken = false;    // an element, since the reader last began
    uint64_t repeats = 0;
  };

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Begins a schedule for the readers that have not left.
  void Schedule();
  void CheckWeights(const Weights& weights) const;
  // Deals out the next turns, so that there are n of them.
  void Deal(size_t n);
  // Plans the elements of the first n turns, and returns how many of these have one.
  size_t Fill(size_t n);
  // Hands out the elements of the first n turns.
  void HandOut(size_t n, TicketRun* run);
  // Whether each reader that has turns has ended at least once.
  bool AllHaveEnded() const;
  // Reader k has no element for its turn. Returns false if that ends the pass.
  bool GoOnAfter(size_t k);

  Weights weights_;
  const std::function<Weights()> changed_weights_;
  const MixEnd end_;
  const RandomKey key_;
  uint64_t pass_ = 0;
  std::optional<MixSchedule> schedule_;
  std::vector<size_t> turns_;             // dealt out: the reader of each
  size_t next_turn_ = 0;                  // that has not been taken
  std::vector<PlannedElements> planned_;  // of each reader
  std::vector<Part> parts_;               // the same
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_MIX_READER_H_
