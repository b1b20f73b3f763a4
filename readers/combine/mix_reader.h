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
#include "readers/combine/measured_reader.h"
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

using MixWeights = std::vector<double>;

// Weights that hold from an element of each pass on: a number of this mix, of all lanes together.
struct MixStep {
  uint64_t first = 0;
  MixWeights weights;
};

struct MixOptions {
  // The first holds from element 0 on; each later one from a later element on.
  std::vector<MixStep> steps;
  // If not null, returns the weights for a pass that the consumer begins (BeginPass), or, with
  // each_element, for the elements from the next one on that the consumer asks for (BeginElement);
  // then there is only one step.
  std::function<MixWeights()> changed_weights;
  bool each_element = false;
  MixEnd end = MixEnd::kStop;
  // Weights are shares of the lengths of elements, not of their number.
  std::optional<Measure> measure;
  // The lane that mixes its own parts of the readers, and how many there are.
  MixPart lane;
};

// Yields the elements of several readers in the turns of a MixSchedule: after any number of
// elements, the number from each reader is within 1 of its weight's share. When the weights change,
// and when a reader has ended and the others continue, a new schedule begins. If no reader that is
// left has a weight, the next step's weights hold at once. Steps that are still to come may be
// others when a position is restored, so that a loop can change its mind.
//
// Where the elements are divided among ranks (ExpectRanks), each rank has a schedule of its own, so
// that its number from each reader is within 2 of the share; lanes have, too. Where it is not known
// which rank an element will go to (in a mix of mixes, below a filter, below rows that are packed),
// the schedule of each element is drawn, so that no pattern of turns meets one of ranks: a rank's
// shares are then those of chance, and of all ranks together within 2 for each. A pass is dealt for
// the ranks that its position says, or that were expected when it began; a position from before 0.3
// continues with one schedule for all.
//
// With `measure` the turns are those of MixLengths, one for each rank.
//
// With kRepeat, repeat k (from 0) of a reader in pass p is its pass p + k * 2^32, so that each
// repeat is shuffled differently; a reader that others read, too, counts its passes itself. A
// reader without elements cannot be repeated and leaves the mix.
class MixReader final : public UnionReader {
 public:
  // Throws kInvalidArgument unless all readers have the same slots and there is a weight for each:
  // finite, not negative, and not all 0; and unless steps are in order. Lanes cannot be repeated.
  MixReader(Readers readers, MixOptions options, const RandomKey& key);

  void ExpectRanks(size_t ranks, size_t run) override;
  bool BeginElement() override;
  void BeginPass() override;
  std::optional<uint64_t> PassLength() const override;

 private:
  // `run` elements in turn go to each of `ranks` processes, or in an order that is not known.
  struct MixRanks {
    size_t ranks = 1;
    size_t run = 1;
  };
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
  void SaveSettings(ReaderState* state) const;
  void RestoreRanks(const ReaderState& state);
  void RestoreTurns(const ReaderState& state);
  void CheckNextStep(const ReaderState& state) const;
  // The steps from the second to number `last`, as numbers of a position.
  std::vector<uint64_t> StepsSoFar(size_t last) const;
  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override;
  // Begins schedules for the readers that have not left.
  void Schedule();
  // Forgets the schedules, and turns that were dealt out and not taken.
  void ForgetTurns();
  void CheckWeights(const MixWeights& weights) const;
  // Whether a reader that has not left has a weight.
  bool HasTurns() const;
  // Goes on to the next step with weights for a reader that has not left; false if there is none.
  bool SkipToTurns();
  // The element of the pass, of all lanes, that is number `element` of this one.
  uint64_t ElementOfAll(uint64_t element) const;
  // Deals out the next turns, so that there are up to n of them; false if there are none any more.
  bool Deal(size_t n);
  // The rank that gets this element of the pass, or, of an unknown order, whose schedule deals it.
  size_t RankOf(uint64_t element) const;
  // The reader of this element, whose turn it is.
  size_t TurnOf(uint64_t element);
  // Plans the elements of the first n turns, and returns how many of these have one.
  size_t Fill(size_t n);
  // The length of the element of the next turn, which is planned.
  uint64_t LengthOfNext() const;
  // Hands out the elements of the first n turns.
  void HandOut(size_t n, TicketRun* run);
  // Whether the reader has a weight now or in a later step.
  bool WillHaveTurns(size_t k) const;
  // Whether each reader that will have turns has ended at least once.
  bool AllHaveEnded() const;
  // Reader k has no element for its turn. Returns false if that ends the pass.
  bool GoOnAfter(size_t k);

  const MixOptions options_;
  const RandomKey key_;
  MixRanks expected_;  // by what readers above have said so far
  MixRanks ranks_;     // of this pass
  MixWeights weights_;
  size_t step_ = 0;  // whose weights these are
  uint64_t pass_ = 0;
  uint64_t yielded_ = 0;                  // elements in this pass
  std::vector<MixSchedule> schedules_;    // of each rank; empty until the first turn is dealt out
  std::vector<MixLengths> lengths_;       // the same; one of the two is used
  std::vector<size_t> turns_;             // dealt out: the reader of each
  size_t next_turn_ = 0;                  // that has not been taken
  std::vector<PlannedElements> planned_;  // of each reader
  std::vector<Part> parts_;               // the same
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_MIX_READER_H_
