// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/pictures/histogram.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "framework/base/error.h"
#include "tools/commands/pictures/picture.h"

namespace millhopper {
namespace {

constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr int kFirstWidth = -30;  // of the first value's size, as a power of two
constexpr Color kColumn = {220, 220, 220};

}  // namespace

double Histogram::BinOf(double value) const { return std::floor(value / width_); }

void Histogram::Add(double value) {
  if (!std::isfinite(value)) return;
  if (count_ == 0) {
    int exponent = 0;
    std::frexp(value, &exponent);
    width_ = std::ldexp(1.0, std::max(exponent + kFirstWidth, -1000));
    first_ = BinOf(value);
    lowest_ = highest_ = value;
  }
  ++count_;
  whole_ = whole_ && std::trunc(value) == value;
  lowest_ = std::min(lowest_, value);
  highest_ = std::max(highest_, value);
  while (BinOf(highest_) - BinOf(lowest_) >= static_cast<double>(kBins)) Widen();
  const double lowest = BinOf(lowest_);
  if (lowest < first_) {
    // There is room after the last bin that is used.
    const auto by = static_cast<size_t>(first_ - lowest);
    std::move_backward(std::begin(bins_), std::end(bins_) - by, std::end(bins_));
    std::fill_n(bins_, by, 0);
    first_ = lowest;
  }
  ++bins_[static_cast<size_t>(BinOf(value) - first_)];
}

void Histogram::Widen() {
  width_ *= 2;
  const double first = std::floor(first_ / 2);
  uint64_t merged[kBins] = {};
  for (size_t i = 0; i < kBins; ++i) {
    const double bin = std::floor((first_ + static_cast<double>(i)) / 2) - first;
    merged[static_cast<size_t>(bin)] += bins_[i];
  }
  std::copy(std::begin(merged), std::end(merged), std::begin(bins_));
  first_ = first;
}

std::vector<uint64_t> Histogram::Used() const {
  if (empty()) return {};
  const double join = whole_ && width_ < 1 ? 1 / width_ : 1;
  const auto of = [&](double bin) { return std::floor(bin / join); };
  std::vector<uint64_t> used(static_cast<size_t>(of(BinOf(highest_)) - of(first_)) + 1);
  for (size_t i = 0; i < kBins; ++i) {
    if (bins_[i] == 0) continue;
    used[static_cast<size_t>(of(first_ + static_cast<double>(i)) - of(first_))] += bins_[i];
  }
  return used;
}

std::string Histogram::ToText() const {
  if (empty()) return "";
  const std::vector<uint64_t> used = Used();
  const uint64_t most = *std::max_element(used.begin(), used.end());
  constexpr uint64_t kWhole = std::size(kBlocks) - 1;
  std::string text = StrCat(lowest_, " ");
  for (const uint64_t bin : used) {
    const double share = static_cast<double>(bin) / static_cast<double>(most);
    const auto block = static_cast<uint64_t>(std::lround(share * kWhole));
    text += kBlocks[std::max<uint64_t>(block, bin > 0 ? 1 : 0)];
  }
  return StrCat(text, " ", highest_);
}

void Histogram::Draw(size_t left, size_t top, size_t width, size_t height, Picture* picture) const {
  const std::vector<uint64_t> used = Used();
  if (used.empty()) return;
  const uint64_t most = *std::max_element(used.begin(), used.end());
  for (size_t x = 0; x < width; ++x) {
    const uint64_t bin = used[x * used.size() / width];
    const double share = static_cast<double>(bin) / static_cast<double>(most);
    const auto column = static_cast<size_t>(std::lround(share * static_cast<double>(height)));
    for (size_t y = height - std::max<size_t>(column, bin > 0 ? 1 : 0); y < height; ++y) {
      picture->Set(left + x, top + y, kColumn);
    }
  }
}

}  // namespace millhopper
