// SPDX-License-Identifier: Apache-2.0
#include "operators/image/timm_changes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

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

}  // namespace

TimmChanges::TimmChanges(const std::string& policy) {
  size_t begin = std::min(policy.find('-'), policy.size());
  Require(policy.compare(0, begin, "rand") == 0, "attribute 'policy' is '", policy,
          "'; it begins with 'rand', as 'rand-m9-mstd0.5-inc1' of timm");
  while (begin < policy.size()) {
    const size_t end = std::min(policy.find('-', begin + 1), policy.size());
    const std::string option = policy.substr(begin + 1, end - begin - 1);
    const size_t digit = std::min(option.find_first_of("0123456789"), option.size());
    SetOption(option.substr(0, digit), option.substr(digit), policy);
    begin = end;
  }
}

void TimmChanges::SetOption(const std::string& key, const std::string& number,
                            const std::string& policy) {
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  const bool is_number = !number.empty() && *end == '\0' && number.find('x') == number.npos;
  const bool is_whole = is_number && value == std::floor(value);
  const auto require = [&](bool fits, const char* wanted) {
    Require(fits, "attribute 'policy' is '", policy, "', where '", key, number, "' is no ", wanted);
  };
  if (key == "m") {
    require(is_whole && value <= 100, "'m' with a whole magnitude up to 100");
    magnitude_ = value;
  } else if (key == "n") {
    require(is_whole && value <= 100, "'n' with a number of changes up to 100");
    count_ = static_cast<uint64_t>(value);
  } else if (key == "p") {
    require(is_number && value <= 1, "'p' with a probability");
    p_ = value;
  } else if (key == "mstd") {
    require(is_number && std::isfinite(value), "'mstd' with a standard deviation");
    deviation_ = value;
  } else if (key == "mmax") {
    require(is_whole && value <= 100, "'mmax' with a whole magnitude up to 100");
    if (value > 0) most_ = value;
  } else if (key == "inc") {
    require(is_whole, "'inc' with 0 or 1");
    increasing_ = value != 0;
  } else {
    require(false,
            "option that is known: these are m, n, p, mstd, mmax and inc, each with a number");
  }
}

double TimmChanges::DrawMagnitude(uint64_t bits) const {
  double magnitude = magnitude_;
  if (deviation_ > kMostDeviation) {
    magnitude *= ToUnitDouble(bits);
  } else if (deviation_ > 0) {
    magnitude += deviation_ * NormalOf(bits);
  }
  return std::clamp(magnitude, 0.0, most_);
}

void TimmChanges::Apply(const RandomKey& key, uint64_t i, uint64_t first,
                        const ImageChanger& changer, const PixelsOf<uint8_t>& image) const {
  constexpr double kDenominator = 10;
  const auto kind = static_cast<Kind>(key.Below(kKinds, i, first));
  if (!(ToUnitDouble(key.Bits(i, first + 1)) < p_)) return;
  const double level = DrawMagnitude(key.Bits(i, first + 2)) / kDenominator;
  const double sign = key.Below(2, i, first + 3) == 1 ? -1 : 1;
  const auto warp = [&](const AffineMap& inverse) {
    changer.Move(inverse, key.Below(2, i, first + 4) == 1, image);
  };
  const auto part = [&](int most) { return static_cast<int>(level * most); };
  // The factor of a change of colours, less 1.
  const double factor = increasing_ ? std::max(0.1 - 1, sign * level * 0.9) : level * 1.8 + 0.1 - 1;
  switch (kind) {
    case Kind::kAutoContrast:
      return changer.Apply(Change::kAutoContrast, 0, image);
    case Kind::kEqualize:
      return changer.Apply(Change::kEqualize, 0, image);
    case Kind::kInvert:
      return changer.Apply(Change::kInvert, 0, image);
    case Kind::kRotate:
      return warp(Turned(sign * level * 30));
    case Kind::kPosterize: {
      const int bits = increasing_ ? 4 - part(4) : part(4);
      return changer.Apply(Change::kPosterize, std::clamp(bits, 0, 8), image);
    }
    case Kind::kSolarize: {
      const int threshold = std::min(256, part(256));
      return changer.Apply(Change::kSolarize, increasing_ ? 256 - threshold : threshold, image);
    }
    case Kind::kSolarizeAdd:
      return SolarizeAdd(std::min(128, part(110)), image);
    case Kind::kColor:
      return changer.Apply(Change::kColor, factor, image);
    case Kind::kContrast:
      return changer.Apply(Change::kContrast, factor, image);
    case Kind::kBrightness:
      return changer.Apply(Change::kBrightness, factor, image);
    case Kind::kSharpness:
      return changer.Apply(Change::kSharpness, factor, image);
    case Kind::kShearX:
    case Kind::kShearY:
      return warp(Sheared(kind == Kind::kShearX, sign * level * 0.3, image.shape));
    case Kind::kTranslateX:
    case Kind::kTranslateY:
      return warp(Translated(kind == Kind::kTranslateX, sign * level * 0.45, image.shape));
  }
}

}  // namespace millhopper
