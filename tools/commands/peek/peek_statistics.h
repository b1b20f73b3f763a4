// SPDX-License-Identifier: Apache-2.0
// What peek says of all elements together: ranges and histograms of every slot, how full packed
// rows are, and the shares of mixes.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATISTICS_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "framework/reader/chain_stats.h"
#include "framework/tensor/tensor.h"
#include "tools/commands/pictures/histogram.h"
#include "tools/commands/pictures/shares.h"

namespace millhopper {

// Statistics of values, which may be nan or infinite.
struct Statistics {
  uint64_t count = 0, not_finite = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  double mean = 0, squares = 0;  // of the finite ones; squares is the sum of squared deviations

  void Add(double value);
  // "0 to 255, 3 nan or infinite".
  std::string Range() const;
  double deviation() const;
};

class PassStatistics {
 public:
  // `chain` is that of the reader whose elements will be added.
  explicit PassStatistics(const ChainStats& chain);

  void Add(const std::vector<LoDTensor>& element);
  // Once all are added: the chain as it is then, which tells the shares of its mixes.
  void AddMixes(const ChainStats& chain);

  // Lines for people: slots, with their names if there are any, packed rows, mixes.
  std::string ToText(const std::vector<std::string>& slot_names) const;
  // A list with an entry for each slot.
  nlohmann::json SlotsToJson() const;
  // The histograms and shares one below another, as a PNG file, and what they are, in *what. Throws
  // kInvalidArgument if there are no values.
  std::string ToPng(std::string* what) const;

 private:
  // Statistics of one slot over many elements.
  struct SlotStatistics {
    std::set<std::string> kinds;          // dtype and dims
    Statistics values, steps, sequences;  // sequences: of the outermost level of detail
    Histogram value_histogram, sequence_histogram;
  };

  // How full packed rows are.
  struct PackFill {
    Statistics steps;  // filled, by row
    Histogram histogram;
    uint64_t rows = 0, filled = 0, all = 0;

    // Takes the numbers of documents of some rows, of which 0 is padding.
    void Add(const LoDTensor& ids);
    double padding() const { return 1 - static_cast<double>(filled) / static_cast<double>(all); }
  };

  // A mix of readers, by the names of their variables, and how many elements of each were loaded.
  struct MixShares {
    std::string name;
    Shares shares;
  };

  const bool are_packed_;
  std::vector<SlotStatistics> slots_;
  PackFill packs_;
  std::vector<MixShares> mixes_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_STATISTICS_H_
