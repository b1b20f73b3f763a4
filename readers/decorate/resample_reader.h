// SPDX-License-Identifier: Apache-2.0
// Repeats elements and leaves elements out, by weight.
#ifndef MILLHOPPER_READERS_DECORATE_RESAMPLE_READER_H_
#define MILLHOPPER_READERS_DECORATE_RESAMPLE_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/stage_reader.h"

namespace millhopper {

// What weighs an element.
class ElementWeights {
 public:
  // The number in a slot: one float or integer an element.
  static ElementWeights OfSlot(size_t slot);
  // The weight of the class that a slot names, one number or one text an element, as that is
  // written ("7", "cat"). `otherwise` is that of all other classes; without it they are an error.
  static ElementWeights OfClasses(size_t slot, const std::vector<std::string>& classes,
                                  std::vector<double> weights, std::optional<double> otherwise);

  struct Weight {
    size_t group;    // of elements that are counted together
    uint64_t whole;  // the weight, times kOne
  };
  static constexpr uint64_t kOne = uint64_t{1} << 32;
  static constexpr double kMost = 65536;

  // Throws kDataLoss where the slot holds no weight, or no class.
  Weight Of(const std::vector<LoDTensor>& element) const;
  size_t groups() const { return by_class_ ? weights_.size() : 1; }
  size_t slot() const { return slot_; }
  // What it depends on.
  std::string description() const;

 private:
  ElementWeights(bool by_class, size_t slot) : by_class_(by_class), slot_(slot) {}

  const bool by_class_;
  const size_t slot_;
  std::map<std::string, size_t> groups_;  // by class
  std::vector<uint64_t> weights_;         // of each group
  std::optional<size_t> others_;          // the group of other classes
};

// Yields each element of the reader below as often as its weight says: for weight 2.5 two times and
// three times, by turns, for 0.1 every tenth time. So of n elements of one class, round(n * w) are
// yielded, within one, at any time; with weights from a slot it is their sum. Where in its turns a
// pass begins is drawn, so that passes leave out others. Elements that are yielded again have names
// of their own, so that random operators above draw other numbers for them.
class ResampleReader final : public StageReader {
 public:
  // Throws kInvalidArgument if there is no such slot, and when the reader below yields tensors on a
  // device.
  ResampleReader(std::unique_ptr<ReaderBase> reader, const ElementWeights& weights,
                 const RandomKey& key);

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Draws where turns begin.
  void Begin();
  // Leaves out of the tickets from `first` on those that are not their element's turn.
  void Choose(size_t first, TicketRun* run);

  const ElementWeights weights_;
  const RandomKey key_;
  uint64_t pass_ = 0;
  std::vector<uint64_t> begun_;  // of each group: what it has had of its next turn, of kOne
  uint64_t times_ = 0;           // that the element of the last ticket is yielded
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_RESAMPLE_READER_H_
