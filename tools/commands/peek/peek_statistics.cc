// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "tools/commands/pictures/picture.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/digest.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/tensor_text.h"

namespace millhopper {
namespace {

constexpr size_t kShownKinds = 4;

Composition CompositionOf(const ChainStats& chain) {
  const OperatorDef* const created_by = FindOperator(chain.kind);
  return created_by == nullptr ? Composition::kOther : created_by->schema.composition;
}

// Whether the elements are packed rows, or those of a reader on such that has the same slots.
bool ArePacked(const ChainStats& chain) {
  const Composition composition = CompositionOf(chain);
  return composition == Composition::kPackedRows ||
         (composition == Composition::kSameSlots && chain.below.size() == 1 &&
          ArePacked(chain.below[0]));
}

nlohmann::json ToJson(const Statistics& statistics) {
  const bool none = statistics.count == statistics.not_finite;
  nlohmann::json json = {{"count", statistics.count}, {"not_finite", statistics.not_finite}};
  if (none) return json;
  json["lowest"] = JsonNumber(statistics.lowest);
  json["highest"] = JsonNumber(statistics.highest);
  json["mean"] = JsonNumber(statistics.mean);
  json["deviation"] = JsonNumber(statistics.deviation());
  return json;
}

void AddHistogram(const Histogram& histogram, std::ostream* out) {
  if (!histogram.empty()) *out << "    " << histogram.ToText() << "\n";
}

}  // namespace

void Statistics::Add(double value) {
  ++count;
  if (!std::isfinite(value)) {
    ++not_finite;
    return;
  }
  lowest = std::min(lowest, value);
  highest = std::max(highest, value);
  // Welford's method, which loses no precision with many values.
  const double finite = static_cast<double>(count - not_finite);
  const double delta = value - mean;
  mean += delta / finite;
  squares += delta * (value - mean);
}

std::string Statistics::Range() const {
  std::string text = count == not_finite ? "no finite value" : StrCat(lowest, " to ", highest);
  if (not_finite > 0) text += StrCat(", ", WithCommas(not_finite), " nan or infinite");
  return text;
}

double Statistics::deviation() const {
  const uint64_t finite = count - not_finite;
  return finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite));
}

void PassStatistics::PackFill::Add(const LoDTensor& ids) {
  const int64_t length = ids.dims().empty() ? 0 : ids.dims()[ids.dims().size() - 1];
  for (int64_t row = 0; length > 0 && row < ids.numel() / length; ++row) {
    uint64_t used = 0;
    for (int64_t i = 0; i < length; ++i) used += ValueAt(ids, row * length + i) != 0 ? 1 : 0;
    ++rows;
    filled += used;
    all += static_cast<uint64_t>(length);
    steps.Add(static_cast<double>(used));
    histogram.Add(static_cast<double>(used));
  }
}

PassStatistics::PassStatistics(const ChainStats& chain) : are_packed_(ArePacked(chain)) {}

void PassStatistics::Add(const std::vector<LoDTensor>& element) {
  slots_.resize(std::max(slots_.size(), element.size()));
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const LoDTensor tensor = element[slot].OnHost();
    SlotStatistics& statistics = slots_[slot];
    if (statistics.kinds.size() <= kShownKinds) statistics.kinds.insert(Describe(tensor));
    if (!tensor.dims().empty()) statistics.steps.Add(static_cast<double>(tensor.dims()[0]));
    if (!tensor.lod().empty()) {
      const LodLevel& level = tensor.lod().front();
      for (size_t i = 1; i < level.size(); ++i) {
        const auto length = static_cast<double>(level[i] - level[i - 1]);
        statistics.sequences.Add(length);
        statistics.sequence_histogram.Add(length);
      }
    }
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      const double value = ValueAt(tensor, i);
      statistics.values.Add(value);
      statistics.value_histogram.Add(value);
    }
  }
  // The last two slots say of which document a step is, and which of its steps.
  if (are_packed_ && element.size() > 2) packs_.Add(element[element.size() - 2].OnHost());
}

void PassStatistics::AddMixes(const ChainStats& chain) {
  if (CompositionOf(chain) == Composition::kByTurns) {
    mixes_.push_back({chain.name, {}});
    for (const ChainStats& below : chain.below) {
      mixes_.back().shares.Add(StrCat("'", Escaped(below.name), "'"), below.elements);
    }
  }
  for (const ChainStats& below : chain.below) AddMixes(below);
}

std::string PassStatistics::ToText(const std::vector<std::string>& slot_names) const {
  std::ostringstream out;
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    const SlotStatistics& statistics = slots_[slot];
    out << SlotTitle(slot, slot_names) << ":";
    size_t shown = 0;
    for (const std::string& kind : statistics.kinds) {
      if (shown++ == kShownKinds) break;
      out << (shown == 1 ? " " : ", ") << kind;
    }
    out << (statistics.kinds.size() > kShownKinds ? ", ...\n" : "\n");
    out << "  values: " << WithCommas(statistics.values.count) << ", " << statistics.values.Range()
        << ", mean " << statistics.values.mean << ", deviation " << statistics.values.deviation()
        << "\n";
    AddHistogram(statistics.value_histogram, &out);
    if (statistics.steps.count > 0) {
      out << "  length of axis 0: " << statistics.steps.Range() << ", mean "
          << statistics.steps.mean << "\n";
    }
    if (statistics.sequences.count > 0) {
      out << "  sequences: " << WithCommas(statistics.sequences.count) << ", of length "
          << statistics.sequences.Range() << ", mean " << statistics.sequences.mean << "\n";
      AddHistogram(statistics.sequence_histogram, &out);
    }
  }
  if (packs_.rows > 0) {
    out << "packed rows: " << WithCommas(packs_.rows) << ", " << WithCommas(packs_.filled) << " of "
        << WithCommas(packs_.all) << " steps filled, padding "
        << std::lround(1000 * packs_.padding()) / 10.0
        << " %\n  filled steps of a row: " << packs_.steps.Range() << ", mean " << packs_.steps.mean
        << "\n";
    AddHistogram(packs_.histogram, &out);
  }
  for (const MixShares& mix : mixes_) {
    if (mix.shares.empty()) continue;
    out << "mix '" << Escaped(mix.name) << "':\n" << mix.shares.ToText("  ");
  }
  return out.str();
}

nlohmann::json PassStatistics::SlotsToJson() const {
  nlohmann::json json = nlohmann::json::array();
  for (const SlotStatistics& slot : slots_) {
    json.push_back({{"kinds", slot.kinds},
                    {"values", ToJson(slot.values)},
                    {"length_of_axis_0", ToJson(slot.steps)},
                    {"sequences", ToJson(slot.sequences)}});
  }
  return json;
}

std::string PassStatistics::ToPng(std::string* what) const {
  constexpr size_t kGap = 16, kWidth = 512, kHeight = 160;
  using Drawing = std::function<void(size_t left, size_t top, Picture * picture)>;
  std::vector<Drawing> drawings;
  const auto add = [&drawings](const auto& what) {
    if (what.empty()) return;
    drawings.emplace_back([&what](size_t left, size_t top, Picture* picture) {
      what.Draw(left, top, kWidth, kHeight, picture);
    });
  };
  for (const SlotStatistics& slot : slots_) {
    add(slot.value_histogram);
    add(slot.sequence_histogram);
  }
  Require(!drawings.empty(), "--png: this reader yields no values");
  *what = "histograms of the values, then the lengths, of every slot";
  add(packs_.histogram);
  if (!packs_.histogram.empty()) *what += ", then of the filled steps of packed rows";
  for (const MixShares& mix : mixes_) {
    add(mix.shares);
    if (!mix.shares.empty()) *what += StrCat(", then the shares of mix '", Escaped(mix.name), "'");
  }
  Picture picture(kGap + kWidth + kGap, kGap + drawings.size() * (kHeight + kGap), {32, 32, 32});
  for (size_t i = 0; i < drawings.size(); ++i) {
    drawings[i](kGap, kGap + i * (kHeight + kGap), &picture);
  }
  return picture.ToPng();
}

}  // namespace millhopper
