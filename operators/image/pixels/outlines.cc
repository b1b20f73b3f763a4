// SPDX-License-Identifier: Apache-2.0
#include "operators/image/pixels/outlines.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

constexpr int kFiner = 5;
constexpr uint64_t kMostSteps = uint64_t{1} << 26;

// Rounded as C does it, upwards from the middle, and towards 0 below 0.
int Rounded(double value) { return static_cast<int>(std::trunc(value + .5)); }

}  // namespace

void Outline::BeginPolygon() {
  places_.clear();
  steps_ = 0;
  has_corner_ = has_point_ = false;
}

void Outline::AddCorner(double x, double y) {
  const auto is_far = [](double value, int64_t side) {
    return !(value >= -kFarthest && value <= kFarthest + static_cast<double>(side));
  };
  Require(!is_far(x, width_) && !is_far(y, height_), "a corner of a polygon is at ", x, ", ", y,
          ", far from an image of ", height_, " x ", width_, " pixels");
  const Corner corner{Rounded(kFiner * x), Rounded(kFiner * y)};
  if (has_corner_) {
    DrawSide(last_, corner);
  } else {
    first_ = corner;
  }
  last_ = corner;
  has_corner_ = true;
}

void Outline::EndPolygon() {
  CheckStop();
  if (has_corner_) DrawSide(last_, first_);
  std::sort(places_.begin(), places_.end());
}

// Goes along the side in steps of one, in the direction in which it is longer, beginning at the end
// with the lower number: so both polygons beside a side see the same points of it.
void Outline::DrawSide(Corner from, Corner to) {
  const int across = std::abs(to.x - from.x), down = std::abs(to.y - from.y);
  const int steps = std::max(across, down);
  steps_ += static_cast<uint64_t>(steps);
  if (steps_ > kMostSteps) {
    Throw(ErrorCode::kResourceLimit, "the sides of a polygon are longer than ", kMostSteps / kFiner,
          " pixels together");
  }
  const bool is_flat = across >= down;
  const bool is_backwards = is_flat ? from.x > to.x : from.y > to.y;
  if (is_backwards) std::swap(from, to);
  // As in COCO's tools, 0 / 0 of a side without length: its one point is then where it begins,
  // which no other point needs.
  const double slope = is_flat ? static_cast<double>(to.y - from.y) / across
                               : static_cast<double>(to.x - from.x) / down;
  for (int i = 0; i <= steps; ++i) {
    const int step = is_backwards ? steps - i : i;
    const double other = steps == 0 ? 0 : slope * step;
    if (is_flat) {
      Visit(from.x + step, Rounded(from.y + other));
    } else {
      Visit(Rounded(from.x + other), from.y + step);
    }
  }
}

// Where the outline enters another column of the fine grid in the middle of a column of pixels, the
// pixels below it change.
void Outline::Visit(int x, int y) {
  const bool has_moved = has_point_ && x != x_;
  const int upper = std::min(y, y_);
  const int before = x < x_ ? x : x - 1;
  x_ = x, y_ = y;
  has_point_ = true;
  if (!has_moved) return;
  const double column = (before + .5) / kFiner - .5;
  if (std::floor(column) != column || column < 0 || column > static_cast<double>(width_ - 1))
    return;
  const double row =
      std::ceil(std::clamp((upper + .5) / kFiner - .5, 0., static_cast<double>(height_)));
  places_.push_back(static_cast<uint64_t>(column) * static_cast<uint64_t>(height_) +
                    static_cast<uint64_t>(row));
}

void Outline::BeginRuns() {
  places_.clear();
  pixels_ = 0;
}

void Outline::AddRun(uint64_t pixels) {
  pixels_ += pixels;
  places_.push_back(std::min(pixels_, size()));
}

}  // namespace millhopper
