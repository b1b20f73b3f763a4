// SPDX-License-Identifier: Apache-2.0
// Histograms of values, drawn for people.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PICTURES_HISTOGRAM_H_
#define MILLHOPPER_TOOLS_COMMANDS_PICTURES_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

class Picture;

// Counts values in bins of equal width. Nothing need be known of the values beforehand: the bins
// begin narrow, and become twice as wide whenever a value lies outside of all of them.
class Histogram {
 public:
  // Counts a value; leaves out nan and the infinite ones.
  void Add(double value);

  // "0 ▁▂█▅▁ 255": the lowest and the highest value, and a block for each bin between them. The
  // highest bin is a whole block; a bin that is not empty is never without one. Empty if there are
  // no values.
  std::string ToText() const;
  // Draws a column for each bin into a part of the picture.
  void Draw(size_t left, size_t top, size_t width, size_t height, Picture* picture) const;
  bool empty() const { return count_ == 0; }

 private:
  static constexpr size_t kBins = 64;

  // The bin of a value, of any number, as a multiple of the width.
  double BinOf(double value) const;
  // Makes the bins twice as wide.
  void Widen();
  // The counts of the bins from that of the lowest value to that of the highest. If all values are
  // whole numbers, bins are joined so that each holds at least one.
  std::vector<uint64_t> Used() const;

  uint64_t count_ = 0;
  double lowest_ = 0, highest_ = 0;
  bool whole_ = true;  // whether all values are whole numbers
  double width_ = 0;   // a power of two
  double first_ = 0;   // the lowest value is in bin first_ * width_
  uint64_t bins_[kBins] = {};
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PICTURES_HISTOGRAM_H_
