// SPDX-License-Identifier: Apache-2.0
// For tests of operators on images: images with known values, and one line for running them.
#ifndef MILLHOPPER_TESTS_OPERATORS_IMAGE_IMAGE_CHECKS_H_
#define MILLHOPPER_TESTS_OPERATORS_IMAGE_IMAGE_CHECKS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/random.h"
#include "tests/files/images.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {

// Images whose values change slowly, so that a place that is off by little changes them little.
inline LoDTensor SmoothImages(const Dims& dims) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < dims[0]; ++i) {
    for (int64_t y = 0; y < dims[1]; ++y) {
      for (int64_t x = 0; x < dims[2]; ++x) {
        for (int64_t c = 0; c < dims[3]; ++c) {
          values.push_back(static_cast<uint8_t>(20 + 3 * y + 4 * x + 17 * c + i));
        }
      }
    }
  }
  return MakeTensor<uint8_t>(dims, values);
}

// [N, H, W, C] as [N, C, H, W].
inline LoDTensor ChannelsFirst(const LoDTensor& images) {
  return RunOp("transpose", {{"X", images}}, {"Out"}, {{"axis", std::vector<int32_t>{0, 3, 1, 2}}})
      .at("Out");
}

// The output of an operator on images.
inline LoDTensor RunImageOp(const std::string& type, const LoDTensor& images,
                            const Attributes& attributes = {}, uint64_t seed = 0) {
  return RunOp(type, {{"X", images}}, {"Out"}, attributes, {{}, seed}).at("Out");
}

// The key that such an operator draws from.
inline RandomKey ImageOpKey(uint64_t seed = 0, uint64_t operator_seed = 0) {
  return RandomKey(seed, operator_seed, "out_variable");
}

// A draw as a number in [0, 1).
inline double UnitOf(uint64_t bits) { return static_cast<double>(bits >> 11) / 9007199254740992.0; }

using Floats = std::vector<float>;

// The first `count` images.
inline LoDTensor FirstImages(const LoDTensor& images, int64_t count) {
  Dims dims = images.dims();
  const int64_t values = count * (images.numel() / dims[0]);
  dims[0] = count;
  const uint8_t* const first = images.data<uint8_t>();
  return MakeTensor<uint8_t>(dims, std::vector<uint8_t>(first, first + values));
}

// Expects that the result of an image depends on its number and pixels and on no image after it,
// that Step, --seed and `seed` decide the draws, and that Out may be X.
inline void ExpectDrawsForEachImage(const std::string& type, const LoDTensor& images,
                                    Attributes attributes) {
  const auto all = ValuesOf<uint8_t>(RunImageOp(type, images, attributes, 3));
  const LoDTensor some = FirstImages(images, images.dims()[0] / 2);
  const auto first = ValuesOf<uint8_t>(RunImageOp(type, some, attributes, 3));
  EXPECT_EQ(first, std::vector<uint8_t>(all.begin(), all.begin() + some.numel()));
  EXPECT_NE(ValuesOf<uint8_t>(RunImageOp(type, images, attributes, 4)), all);
  const auto at = [&](int64_t step) {
    const SlotTensors inputs = {{"X", images}, {"Step", MakeTensor<int64_t>({1}, {step})}};
    return ValuesOf<uint8_t>(RunOp(type, inputs, {"Out"}, attributes, {{}, 3}).at("Out"));
  };
  EXPECT_EQ(at(5), at(5));
  EXPECT_NE(at(5), at(6));
  const auto in_place =
      RunOp(type, {{"X", images}}, {"Out"}, attributes, {{{"Out", "X"}}, 3}).at("Out");
  EXPECT_EQ(in_place.dims(), images.dims());
  attributes.emplace_back("seed", int32_t{8});
  EXPECT_NE(ValuesOf<uint8_t>(RunImageOp(type, images, attributes, 3)), all);
}

// The same of an operator that changes images with probability `p`, and expects that it changes
// those whose draw says so.
inline void ExpectChangesSomeImages(const std::string& type, Attributes attributes) {
  constexpr int64_t kImages = 60;
  const Dims dims = {kImages, 20, 15, 3};
  auto in = ValuesOf<uint8_t>(RandomImages(dims));
  for (uint8_t& value : in) value = static_cast<uint8_t>(20 + value / 2);  // room for more contrast
  const LoDTensor images = MakeTensor<uint8_t>(dims, in);
  const auto changed = ValuesOf<uint8_t>(RunImageOp(type, images, attributes));
  attributes.emplace_back("p", 0.4f);
  const auto some = ValuesOf<uint8_t>(RunImageOp(type, images, attributes, 3));
  const RandomKey key = ImageOpKey(3);
  int count = 0;
  for (int64_t i = 0; i < kImages; ++i) {
    const bool is_changed = UnitOf(key.Bits(static_cast<uint64_t>(i), 0)) < 0.4;
    const auto& expected = is_changed ? changed : in;
    const int64_t begin = i * 900;
    EXPECT_TRUE(
        std::equal(some.begin() + begin, some.begin() + begin + 900, expected.begin() + begin))
        << "image " << i;
    EXPECT_FALSE(std::equal(in.begin() + begin, in.begin() + begin + 900, changed.begin() + begin))
        << "image " << i;
    count += is_changed ? 1 : 0;
  }
  EXPECT_TRUE(count > 10 && count < 40) << count;
  ExpectDrawsForEachImage(type, images, attributes);
  attributes.back().second = 0.0f;
  EXPECT_EQ(ValuesOf<uint8_t>(RunImageOp(type, images, attributes)), in);
  attributes.back().second = 1.5f;
  ExpectRefused("attribute 'p' is 1.5", type, {{"X", images}}, {"Out"}, attributes);
  attributes.pop_back();
  ExpectRefused("uint8 images with 1 or 3 channels", type, {{"X", RandomImages({1, 5, 5, 4})}},
                {"Out"}, attributes);
  EXPECT_EQ(RunImageOp(type, RandomImages({2, 0, 3, 3}), attributes).numel(), 0);
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_IMAGE_IMAGE_CHECKS_H_
