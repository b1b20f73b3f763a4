// SPDX-License-Identifier: Apache-2.0
#include "operators/image/image_draws.h"

#include <cmath>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"

namespace millhopper {
namespace {

// Layers of one area under the bell curve exp(-x^2 / 2): layer i ends at edge[i], and all of it
// below edge[i + 1] lies under the curve. The lowest one has the tail beyond edge[1].
struct Ziggurat {
  static constexpr size_t kLayers = 128;
  static constexpr double kTail = 3.442619855899;
  static constexpr double kArea = 9.91256303526217e-3;

  Ziggurat() {
    edge[0] = kArea / Height(kTail);
    edge[1] = kTail;
    for (size_t i = 2; i < kLayers; ++i) {
      edge[i] = std::sqrt(-2 * std::log(kArea / edge[i - 1] + Height(edge[i - 1])));
    }
    edge[kLayers] = 0;
  }

  static double Height(double x) { return std::exp(-x * x / 2); }

  double edge[kLayers + 1];
};

double AboveZero(uint64_t bits) { return 1.0 - ToUnitDouble(bits); }

}  // namespace

double NormalOf(uint64_t bits) {
  static const Ziggurat ziggurat;
  const auto next = [&] { return bits = MixBits(bits + 0x9e3779b97f4a7c15u); };
  for (;; next()) {
    const size_t layer = bits % Ziggurat::kLayers;
    const double side = 2 * ToUnitDouble(bits) - 1;
    const double x = side * ziggurat.edge[layer];
    if (std::abs(x) < ziggurat.edge[layer + 1]) return x;
    if (layer == 0) {
      double beyond = 0, y = 0;
      do {
        beyond = -std::log(AboveZero(next())) / Ziggurat::kTail;
        y = -std::log(AboveZero(next()));
      } while (2 * y < beyond * beyond);
      return std::copysign(Ziggurat::kTail + beyond, side);
    }
    const double low = Ziggurat::Height(ziggurat.edge[layer]);
    const double high = Ziggurat::Height(ziggurat.edge[layer + 1]);
    if (low + ToUnitDouble(next()) * (high - low) < Ziggurat::Height(x)) return x;
  }
}

double LogGammaOf(const RandomKey& key, uint64_t which, double alpha) {
  constexpr double kFullTurn = 6.283185307179586;
  const auto above_zero = [&](uint64_t k) { return AboveZero(key.Bits(which, k)); };
  const double d = alpha + 1 - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (uint64_t first = 1;; first += 3) {
    const double normal = std::sqrt(-2 * std::log(above_zero(first))) *
                          std::cos(kFullTurn * ToUnitDouble(key.Bits(which, first + 1)));
    const double root = 1 + c * normal;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(above_zero(first + 2)) < normal * normal / 2 + d - d * cube + d * std::log(cube)) {
      return std::log(d * cube) + std::log(above_zero(0)) / alpha;
    }
  }
}

void RequireAlpha(const AttributeMap& attributes) {
  const float alpha = attributes.Get<float>("alpha");
  Require(alpha >= 0.001f && alpha <= 1000, "attribute 'alpha' is ", alpha,
          "; it must be from 0.001 to 1000");
}

DrawnRange RangeAround(const AttributeMap& attributes, const std::string& name, double centre) {
  const auto& given = attributes.Get<std::vector<float>>(name);
  Require(given.size() <= 2, "attribute '", name, "' has ", given.size(),
          " values; it is one, or the lowest and the highest");
  for (const float value : given) {
    Require(std::isfinite(value), "attribute '", name, "' has the value ", value,
            "; it must be finite");
  }
  DrawnRange range{centre, centre};
  if (given.size() == 1) range = {centre - given[0], centre + given[0]};
  if (given.size() == 2) range = {given[0], given[1]};
  Require(range.low <= range.high, "attribute '", name, "' asks for the range from ", range.low,
          " to ", range.high, "; the lowest comes first");
  return range;
}

void RequireProbability(const AttributeMap& attributes) {
  const float p = attributes.Get<float>("p");
  Require(p >= 0 && p <= 1, "attribute 'p' is ", p, "; a probability is from 0 to 1");
}

}  // namespace millhopper
