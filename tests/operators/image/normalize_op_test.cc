// SPDX-License-Identifier: Apache-2.0
// normalize.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/image/image_checks.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST(NormalizeOp, ScalesEveryChannel) {
  const LoDTensor x = RandomImages({2, 3, 4, 3});
  const Floats mean = {0.485f, 0.456f, 0.406f}, deviation = {0.229f, 0.224f, 0.225f};
  const LoDTensor out =
      RunOp("normalize", {{"X", x}}, {"Out"}, {{"mean", mean}, {"std", deviation}}).at("Out");
  EXPECT_EQ(out.dims(), x.dims());
  const std::vector<uint8_t> from = ValuesOf<uint8_t>(x);
  const Floats values = ValuesOf<float>(out);
  for (size_t i = 0; i < from.size(); ++i) {
    const double exact = (from[i] / 255.0 - mean[i % 3]) / deviation[i % 3];
    EXPECT_NEAR(values[i], exact, 2e-7 * (1 + std::abs(exact)) + 3e-7) << i;
  }
  EXPECT_EQ(ValuesOf<float>(RunOp("normalize", {{"X", AsFloats(x)}}, {"Out"},
                                  {{"mean", mean}, {"std", deviation}})
                                .at("Out")),
            values);
}

TEST(NormalizeOp, TakesOneValueForAllChannels) {
  const LoDTensor x = MakeTensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      ValuesOf<float>(RunOp("normalize", {{"X", x}}, {"Out"},
                            {{"mean", Floats{1}}, {"std", Floats{0.5f, 0.25f}}, {"scale", 1.0f}})
                          .at("Out")),
      (Floats{0, 4, 4, 12}));
}

TEST(NormalizeOp, TakesEitherLayout) {
  const LoDTensor x = RandomImages({2, 5, 6, 3});
  const auto normalized = [](const LoDTensor& images) {
    return RunOp("normalize", {{"X", images}}, {"Out"},
                 {{"mean", Floats{0.1f, 0.2f, 0.3f}}, {"std", Floats{1, 2, 3}}})
        .at("Out");
  };
  const LoDTensor planar = normalized(ChannelsFirst(x));
  EXPECT_EQ(planar.dims(), (Dims{2, 3, 5, 6}));
  EXPECT_EQ(ValuesOf<float>(planar), ValuesOf<float>(ChannelsFirst(normalized(x))));
  ExpectRefused("attributes 'mean' and 'std' have 2 values for 3 channels", "normalize",
                {{"X", ChannelsFirst(x)}}, {"Out"}, {{"mean", Floats{1, 2}}});
  ExpectRefused("[N, H, W, C] or [N, C, H, W]", "normalize", {{"X", RandomImages({1, 5, 6, 7})}},
                {"Out"}, {});
}

TEST(NormalizeOp, RefusesWrongNumbersOfValues) {
  const LoDTensor x = RandomImages({1, 2, 2, 3});
  ExpectRefused("attributes 'mean' and 'std' have 2 values for 3 channels", "normalize", {{"X", x}},
                {"Out"}, {{"mean", Floats{1, 2}}});
  ExpectRefused("attribute 'mean' has 2 values, 'std' 3", "normalize", {{"X", x}}, {"Out"},
                {{"mean", Floats{1, 2}}, {"std", Floats{1, 2, 3}}});
  ExpectRefused("attribute 'std' has the value 0", "normalize", {{"X", x}}, {"Out"},
                {{"std", Floats{0}}});
  ExpectRefused("have one value for all channels", "normalize", {{"X", x}}, {"Out"},
                {{"std", Floats{}}});
}

}  // namespace
}  // namespace millhopper
