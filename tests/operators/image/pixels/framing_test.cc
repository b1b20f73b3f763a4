// SPDX-License-Identifier: Apache-2.0
// Framings, compared with what becomes of a small image pixel by pixel.
#include "operators/image/pixels/framing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/base/random.h"

namespace millhopper {
namespace {

// Each pixel is the place it had in the whole image.
struct Places {
  int64_t height, width;
  std::vector<int64_t> places;

  int64_t at(int64_t y, int64_t x) const { return places[static_cast<size_t>(y * width + x)]; }
  template <typename Place>
  Places Mapped(int64_t new_height, int64_t new_width, Place place) const {
    Places mapped{new_height, new_width, {}};
    for (int64_t y = 0; y < new_height; ++y) {
      for (int64_t x = 0; x < new_width; ++x) mapped.places.push_back(place(y, x));
    }
    return mapped;
  }
  Places Cropped(const Box& box) const {
    return Mapped(box.height, box.width,
                  [&](int64_t y, int64_t x) { return at(box.y + y, box.x + x); });
  }
  Places Flipped(bool horizontal) const {
    return Mapped(height, width, [&](int64_t y, int64_t x) {
      return horizontal ? at(y, width - 1 - x) : at(height - 1 - y, x);
    });
  }
};

Places Whole(int64_t height, int64_t width) {
  return Places{height, width, {}}.Mapped(height, width,
                                          [&](int64_t y, int64_t x) { return y * width + x; });
}

Places Result(const Framing& framing, const Places& whole) {
  Places result = whole.Cropped(framing.window());
  if (framing.mirrored()) result = result.Flipped(true);
  return framing.upside_down() ? result.Flipped(false) : result;
}

TEST(Framing, IsTheWholeImageAtFirst) {
  const Framing framing({3, 5, 1});
  EXPECT_EQ(framing.window(), (Box{0, 0, 5, 3}));
  EXPECT_FALSE(framing.is_resized());
}

TEST(Framing, KeepsTrackOfCropsAndFlips) {
  const RandomKey key(0, 0, "framing");
  for (uint64_t round = 0; round < 500; ++round) {
    uint64_t draw = 0;
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(key.Below(static_cast<uint64_t>(n), round, draw++));
    };
    const Places whole = Whole(1 + below(9), 1 + below(9));
    Places expected = whole;
    Framing framing({whole.height, whole.width, 3});
    for (int step = 0; step < 6; ++step) {
      if (below(2) == 0) {
        const bool horizontal = below(2) == 0;
        framing.Flip(horizontal);
        expected = expected.Flipped(horizontal);
      } else {
        Box box;
        box.x = below(expected.width);
        box.y = below(expected.height);
        box.width = 1 + below(expected.width - box.x);
        box.height = 1 + below(expected.height - box.y);
        framing.Crop(box);
        expected = expected.Cropped(box);
      }
      ASSERT_EQ(framing.height(), expected.height);
      ASSERT_EQ(framing.width(), expected.width);
      ASSERT_EQ(Result(framing, whole).places, expected.places);
    }
  }
}

TEST(Framing, ResizesWhatWasCropped) {
  Framing framing({100, 200, 3});
  framing.Crop({20, 10, 120, 80});
  framing.Resize(40, 60);
  framing.Flip(true);
  framing.Crop({5, 6, 30, 20});
  EXPECT_TRUE(framing.is_resized());
  EXPECT_EQ(framing.source(), (Box{20, 10, 120, 80}));
  EXPECT_EQ(framing.resized_height(), 40);
  EXPECT_EQ(framing.resized_width(), 60);
  EXPECT_EQ(framing.window(), (Box{60 - 5 - 30, 6, 30, 20}));
  EXPECT_TRUE(framing.mirrored());
  EXPECT_FALSE(framing.upside_down());
}

}  // namespace
}  // namespace millhopper
