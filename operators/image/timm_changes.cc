// SPDX-License-Identifier: Apache-2.0
#include "operators/image/timm_changes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/image/image_draws.h"
#include "operators/image/pixels/tones.h"

namespace millhopper {
namespace {

constexpr double kMostDeviation = 100;  // above it magnitudes are uniform

// Where pixels come from when timm shears, moves or turns an image by `amount` of its kind.
AffineMap Sheared(bool horizontal, double tangent, const ImageShape& shape) {
  AffineMap map;
  // About the upper left corner; places of a map are seen from the middle.
  (horizontal ? map.xy : map.yx) = tangent;
  (horizontal ? map.x0 : map.y0) =
      tangent * static_cast<double>(horizontal ? shape.height : shape.width) / 2;
  return map;
}

AffineMap Translated(bool horizontal, double part, const ImageShape& shape) {
  AffineMap map;
  (horizontal ? map.x0 : map.y0) =
      part * static_cast<double>(horizontal ? shape.width : shape.height);
  return map;
}

AffineMap Turned(double degrees) {
  Affine affine;
  affine.clockwise = -degrees;
  return InverseOf(affine);
}

// Calls set("mstd", "0.5") for each option of a policy after its name.
template <typename Set>
void ForEachOption(const std::string& policy, Set set) {
  size_t begin = std::min(policy.find('-'), policy.size());
  while (begin < policy.size()) {
    const size_t end = std::min(policy.find('-', begin + 1), policy.size());
    const std::string option = policy.substr(begin + 1, end - begin - 1);
    const size_t digit = std::min(option.find_first_of("0123456789"), option.size());
    set(option.substr(0, digit), option.substr(digit));
    begin = end;
  }
}

// The number of an option, at least 0; nothing if it is none.
std::optional<double> NumberOf(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && text.find('x') == text.npos;
  return is_number && std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

void RequireOption(bool fits, const std::string& policy, const std::string& option,
                   const char* wanted) {
  Require(fits, "attribute 'policy' is '", policy, "', where '", option, "' is no ", wanted);
}

// A magnitude by its mean and these bits.
double DrawMagnitude(const TimmMagnitudes& magnitudes, double magnitude, uint64_t bits) {
  if (magnitudes.deviation > kMostDeviation) {
    magnitude *= ToUnitDouble(bits);
  } else if (magnitudes.deviation > 0) {
    magnitude += magnitudes.deviation * NormalOf(bits);
  }
  return std::clamp(magnitude, 0.0, magnitudes.most);
}

using Pair = TimmAutoAugment::Pair;
constexpr uint64_t kPairs = 25;

// Source: auto_augment_policy_original of timm, tables of Cubuk et al., "AutoAugment: Learning
// Augmentation Policies from Data", 2019.
constexpr Pair kOriginal[kPairs] = {
    {{{TimmChange::kPosterize, 4, 8}, {TimmChange::kRotate, 6, 9}}},
    {{{TimmChange::kSolarize, 6, 5}, {TimmChange::kAutoContrast, 6, 5}}},
    {{{TimmChange::kEqualize, 8, 8}, {TimmChange::kEqualize, 6, 3}}},
    {{{TimmChange::kPosterize, 6, 7}, {TimmChange::kPosterize, 6, 6}}},
    {{{TimmChange::kEqualize, 4, 7}, {TimmChange::kSolarize, 2, 4}}},
    {{{TimmChange::kEqualize, 4, 4}, {TimmChange::kRotate, 8, 8}}},
    {{{TimmChange::kSolarize, 6, 3}, {TimmChange::kEqualize, 6, 7}}},
    {{{TimmChange::kPosterize, 8, 5}, {TimmChange::kEqualize, 10, 2}}},
    {{{TimmChange::kRotate, 2, 3}, {TimmChange::kSolarize, 6, 8}}},
    {{{TimmChange::kEqualize, 6, 8}, {TimmChange::kPosterize, 4, 6}}},
    {{{TimmChange::kRotate, 8, 8}, {TimmChange::kColor, 4, 0}}},
    {{{TimmChange::kRotate, 4, 9}, {TimmChange::kEqualize, 6, 2}}},
    {{{TimmChange::kEqualize, 0, 7}, {TimmChange::kEqualize, 8, 8}}},
    {{{TimmChange::kInvert, 6, 4}, {TimmChange::kEqualize, 10, 8}}},
    {{{TimmChange::kColor, 6, 4}, {TimmChange::kContrast, 10, 8}}},
    {{{TimmChange::kRotate, 8, 8}, {TimmChange::kColor, 10, 2}}},
    {{{TimmChange::kColor, 8, 8}, {TimmChange::kSolarize, 8, 7}}},
    {{{TimmChange::kSharpness, 4, 7}, {TimmChange::kInvert, 6, 8}}},
    {{{TimmChange::kShearX, 6, 5}, {TimmChange::kEqualize, 10, 9}}},
    {{{TimmChange::kColor, 4, 0}, {TimmChange::kEqualize, 6, 3}}},
    {{{TimmChange::kEqualize, 4, 7}, {TimmChange::kSolarize, 2, 4}}},
    {{{TimmChange::kSolarize, 6, 5}, {TimmChange::kAutoContrast, 6, 5}}},
    {{{TimmChange::kInvert, 6, 4}, {TimmChange::kEqualize, 10, 8}}},
    {{{TimmChange::kColor, 6, 4}, {TimmChange::kContrast, 10, 8}}},
    {{{TimmChange::kEqualize, 8, 8}, {TimmChange::kEqualize, 6, 3}}}};
// Source: auto_augment_policy_v0 of timm, which has it from EfficientNet for TPUs.
constexpr Pair kV0[kPairs] = {{{{TimmChange::kEqualize, 8, 1}, {TimmChange::kShearY, 8, 4}}},
                              {{{TimmChange::kColor, 4, 9}, {TimmChange::kEqualize, 6, 3}}},
                              {{{TimmChange::kColor, 4, 1}, {TimmChange::kRotate, 6, 8}}},
                              {{{TimmChange::kSolarize, 8, 3}, {TimmChange::kEqualize, 4, 7}}},
                              {{{TimmChange::kSolarize, 4, 2}, {TimmChange::kSolarize, 6, 2}}},
                              {{{TimmChange::kColor, 2, 0}, {TimmChange::kEqualize, 8, 8}}},
                              {{{TimmChange::kEqualize, 4, 8}, {TimmChange::kSolarizeAdd, 8, 3}}},
                              {{{TimmChange::kShearX, 2, 9}, {TimmChange::kRotate, 6, 8}}},
                              {{{TimmChange::kColor, 6, 1}, {TimmChange::kEqualize, 10, 2}}},
                              {{{TimmChange::kInvert, 4, 9}, {TimmChange::kRotate, 6, 0}}},
                              {{{TimmChange::kEqualize, 10, 9}, {TimmChange::kShearY, 6, 3}}},
                              {{{TimmChange::kColor, 4, 7}, {TimmChange::kEqualize, 6, 0}}},
                              {{{TimmChange::kPosterize, 4, 6}, {TimmChange::kAutoContrast, 4, 7}}},
                              {{{TimmChange::kSolarize, 6, 8}, {TimmChange::kColor, 6, 9}}},
                              {{{TimmChange::kSolarize, 2, 4}, {TimmChange::kRotate, 8, 9}}},
                              {{{TimmChange::kRotate, 10, 7}, {TimmChange::kTranslateY, 8, 9}}},
                              {{{TimmChange::kShearX, 0, 0}, {TimmChange::kSolarize, 8, 4}}},
                              {{{TimmChange::kShearY, 8, 0}, {TimmChange::kColor, 6, 4}}},
                              {{{TimmChange::kColor, 10, 0}, {TimmChange::kRotate, 6, 2}}},
                              {{{TimmChange::kEqualize, 8, 4}, {TimmChange::kEqualize, 0, 8}}},
                              {{{TimmChange::kEqualize, 10, 4}, {TimmChange::kAutoContrast, 6, 2}}},
                              {{{TimmChange::kShearY, 4, 7}, {TimmChange::kSolarizeAdd, 6, 7}}},
                              {{{TimmChange::kPosterize, 8, 2}, {TimmChange::kSolarize, 6, 10}}},
                              {{{TimmChange::kSolarize, 6, 8}, {TimmChange::kEqualize, 6, 1}}},
                              {{{TimmChange::kColor, 8, 6}, {TimmChange::kRotate, 4, 5}}}};

}  // namespace

Sampling TimmSampling(const AttributeMap& attributes, int64_t channels) {
  Sampling sampling = SamplingOf(attributes, channels);
  if (attributes.Get<std::vector<int32_t>>("fill").empty()) sampling.fill.fill(128);
  return sampling;
}

void TimmMagnitudes::SetDeviation(const std::string& number, const std::string& policy) {
  const std::optional<double> value = NumberOf(number);
  RequireOption(value.has_value(), policy, "mstd" + number, "'mstd' with a standard deviation");
  deviation = *value;
}

void TimmMagnitudes::Apply(TimmChange change, double p, double magnitude, const RandomKey& key,
                           uint64_t i, uint64_t first, const ImageChanger& changer,
                           const PixelsOf<uint8_t>& image) const {
  constexpr double kDenominator = 10;
  if (!(ToUnitDouble(key.Bits(i, first)) < p)) return;
  const double level = DrawMagnitude(*this, magnitude, key.Bits(i, first + 1)) / kDenominator;
  const double sign = key.Below(2, i, first + 2) == 1 ? -1 : 1;
  const auto warp = [&](const AffineMap& inverse) {
    changer.Move(inverse, key.Below(2, i, first + 3) == 1, image);
  };
  const auto part = [&](int most_part) { return static_cast<int>(level * most_part); };
  // The factor of a change of colours, less 1.
  const double factor = increasing ? std::max(0.1 - 1, sign * level * 0.9) : level * 1.8 + 0.1 - 1;
  switch (change) {
    case TimmChange::kAutoContrast:
      return changer.Apply(Change::kAutoContrast, 0, image);
    case TimmChange::kEqualize:
      return changer.Apply(Change::kEqualize, 0, image);
    case TimmChange::kInvert:
      return changer.Apply(Change::kInvert, 0, image);
    case TimmChange::kRotate:
      return warp(Turned(sign * level * 30));
    case TimmChange::kPosterize: {
      const int left = fewer_bits ? bits - part(4) : bits + part(4);
      return changer.Apply(Change::kPosterize, std::clamp(left, 0, 8), image);
    }
    case TimmChange::kSolarize: {
      const int threshold = std::min(256, part(256));
      return changer.Apply(Change::kSolarize, increasing ? 256 - threshold : threshold, image);
    }
    case TimmChange::kSolarizeAdd:
      return SolarizeAdd(std::min(128, part(110)), image);
    case TimmChange::kColor:
      return changer.Apply(Change::kColor, factor, image);
    case TimmChange::kContrast:
      return changer.Apply(Change::kContrast, factor, image);
    case TimmChange::kBrightness:
      return changer.Apply(Change::kBrightness, factor, image);
    case TimmChange::kSharpness:
      return changer.Apply(Change::kSharpness, factor, image);
    case TimmChange::kShearX:
    case TimmChange::kShearY:
      return warp(Sheared(change == TimmChange::kShearX, sign * level * 0.3, image.shape));
    case TimmChange::kTranslateX:
    case TimmChange::kTranslateY:
      return warp(Translated(change == TimmChange::kTranslateX, sign * level * 0.45, image.shape));
  }
}

TimmRandAugment::TimmRandAugment(const std::string& policy) {
  Require(policy.substr(0, policy.find('-')) == "rand", "attribute 'policy' is '", policy,
          "'; it begins with 'rand', as 'rand-m9-mstd0.5-inc1' of timm");
  ForEachOption(policy, [&](const std::string& key, const std::string& number) {
    SetOption(key, number, policy);
  });
}

void TimmRandAugment::SetOption(const std::string& key, const std::string& number,
                                const std::string& policy) {
  const std::optional<double> given = NumberOf(number);
  const double value = given.value_or(-1);
  const bool is_whole = value >= 0 && value == std::floor(value);
  const auto require = [&](bool fits, const char* wanted) {
    RequireOption(fits, policy, key + number, wanted);
  };
  if (key == "m") {
    require(is_whole && value <= 100, "'m' with a whole magnitude up to 100");
    magnitude_ = value;
  } else if (key == "n") {
    require(is_whole && value <= 100, "'n' with a number of changes up to 100");
    count_ = static_cast<uint64_t>(value);
  } else if (key == "p") {
    require(given && value <= 1, "'p' with a probability");
    p_ = value;
  } else if (key == "mstd") {
    magnitudes_.SetDeviation(number, policy);
  } else if (key == "mmax") {
    require(is_whole && value <= 100, "'mmax' with a whole magnitude up to 100");
    if (value > 0) magnitudes_.most = value;
  } else if (key == "inc") {
    require(is_whole, "'inc' with 0 or 1");
    magnitudes_.increasing = magnitudes_.fewer_bits = value != 0;
    magnitudes_.bits = value != 0 ? 4 : 0;
  } else {
    require(false,
            "option that is known: these are m, n, p, mstd, mmax and inc, each with a number");
  }
}

void TimmRandAugment::Apply(const RandomKey& key, uint64_t i, const ImageChanger& changer,
                            const PixelsOf<uint8_t>& image) const {
  for (uint64_t j = 0; j < count_; ++j) {
    const uint64_t first = j * (1 + TimmMagnitudes::kDraws);
    const auto change = static_cast<TimmChange>(key.Below(kTimmChanges, i, first));
    magnitudes_.Apply(change, p_, magnitude_, key, i, first + 1, changer, image);
  }
}

bool TimmAutoAugment::IsMeant(const std::string& policy) {
  const std::string name = policy.substr(0, policy.find('-'));
  return name == "original" || name == "originalr" || name == "v0" || name == "v0r";
}

TimmAutoAugment::TimmAutoAugment(const std::string& policy)
    : pairs_(policy[0] == 'v' ? kV0 : kOriginal) {
  const std::string name = policy.substr(0, policy.find('-'));
  magnitudes_.fewer_bits = name.back() == 'r';
  magnitudes_.bits = name == "v0" ? 0 : 4;
  ForEachOption(policy, [&](const std::string& key, const std::string& number) {
    RequireOption(key == "mstd", policy, key + number,
                  "option that is known: this is mstd, with a number");
    magnitudes_.SetDeviation(number, policy);
    RequireOption(magnitudes_.deviation <= kMostDeviation, policy, key + number,
                  "'mstd' with a standard deviation up to 100");
  });
}

void TimmAutoAugment::Apply(const RandomKey& key, uint64_t i, const ImageChanger& changer,
                            const PixelsOf<uint8_t>& image) const {
  const Pair& pair = pairs_[key.Below(kPairs, i, 0)];
  for (uint64_t j = 0; j < 2; ++j) {
    const auto& [change, tenths, magnitude] = pair.changes[j];
    magnitudes_.Apply(change, tenths / 10.0, magnitude, key, i, 1 + j * TimmMagnitudes::kDraws,
                      changer, image);
  }
}

}  // namespace millhopper
