// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/pictures/shares.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "tools/commands/pictures/picture.h"
#include "tools/commands/shared/amounts.h"

namespace millhopper {
namespace {

// A whole block is the last of them.
constexpr const char* kBlocks[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr int64_t kParts = 8;  // of a block
constexpr int64_t kBarBlocks = 20;
constexpr Color kBar = {220, 220, 220};
constexpr Color kRest = {64, 64, 64};

}  // namespace

void Shares::Add(std::string name, uint64_t count) {
  shares_.push_back({std::move(name), count});
  sum_ += count;
}

double Shares::PartOf(const Share& share) const {
  return sum_ == 0 ? 0 : static_cast<double>(share.count) / static_cast<double>(sum_);
}

std::string Shares::ToText(const std::string& indent) const {
  size_t longest = 0;
  for (const Share& share : shares_) longest = std::max(longest, share.name.size());
  std::ostringstream text;
  text << std::fixed << std::setprecision(1);
  for (const Share& share : shares_) {
    const double part = PartOf(share);
    const int64_t eighths = std::lround(part * static_cast<double>(kBarBlocks * kParts));
    text << indent << share.name << std::string(longest - share.name.size(), ' ') << " ";
    int64_t drawn = 0;
    for (; (drawn + 1) * kParts <= eighths; ++drawn) text << kBlocks[kParts];
    if (eighths % kParts > 0) {
      text << kBlocks[eighths % kParts];
      ++drawn;
    }
    text << std::string(static_cast<size_t>(kBarBlocks - drawn), ' ') << " " << std::setw(5)
         << 100 * part << " %  " << WithCommas(share.count) << "\n";
  }
  return text.str();
}

void Shares::Draw(size_t left, size_t top, size_t width, size_t height, Picture* picture) const {
  if (empty()) return;
  const size_t row = height / shares_.size();
  for (size_t i = 0; i < shares_.size(); ++i) {
    const auto bar =
        static_cast<size_t>(std::lround(PartOf(shares_[i]) * static_cast<double>(width)));
    const size_t gap = row > 4 ? 2 : 0;  // below each bar
    for (size_t y = i * row; y + gap < (i + 1) * row; ++y) {
      for (size_t x = 0; x < width; ++x) picture->Set(left + x, top + y, x < bar ? kBar : kRest);
    }
  }
}

}  // namespace millhopper
