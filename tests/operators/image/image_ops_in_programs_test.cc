// SPDX-License-Identifier: Apache-2.0
// Every operator that makes an image of an image works in a main program and in a block that is run
// for every element of a reader. (cutmix and mixup work on batches: see their own tests.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/operator.h"
#include "tests/files/encoded_images.h"
#include "tests/framework/program/program_runner.h"
#include "tests/operators/image/image_chains.h"
#include "tests/operators/image/image_checks.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

struct Case {
  ImageOp op;
  bool draws = false;  // other numbers for each image
};

constexpr size_t kImages = 8;

std::vector<Case> Cases() {
  const std::string size = R"(attrs { name: "size" ints: [12, 10] })";
  // With this seed some images are changed in a block and in a main program, and others are not.
  const std::string seed = R"(attrs { name: "seed" i: 2 })";
  const std::string sometimes = R"(attrs { name: "p" f: 0.5 })" + seed;
  return {
      {{"adjust_sharpness", R"(attrs { name: "factor" f: 3 })" + sometimes}, true},
      {{"affine", R"(attrs { name: "degrees" floats: 40 })"}, true},
      {{"aug_mix", ""}, true},
      {{"autocontrast", ""}},
      {{"cast", R"(attrs { name: "in_dtype" i: 20 } attrs { name: "out_dtype" i: 5 })"}},
      {{"center_crop", size}},
      {{"channel_permutation", seed}, true},
      {{"color_jitter", R"(attrs { name: "brightness" floats: 0.5 })"}, true},
      {{"crop", size + R"(attrs { name: "top" i: 3 } attrs { name: "left" i: 1 })"}},
      {{"cutout", seed}, true},
      {{"equalize", ""}},
      {{"flip", sometimes}, true},
      {{"gaussian_blur", R"(attrs { name: "kernel_size" ints: [5, 3] })"}, true},
      {{"gaussian_noise", ""}, true},
      {{"grayscale", ""}},
      {{"jpeg", R"(attrs { name: "quality" ints: 5 ints: 50 })"}, true},
      {{"normalize", R"(attrs { name: "mean" floats: 0.5 } attrs { name: "std" floats: 0.25 })"}},
      {{"pad", R"(attrs { name: "padding" ints: [1, 2, 3, 4] })"}},
      {{"perspective", seed}, true},
      {{"photometric_distort", ""}, true},
      {{"posterize", R"(attrs { name: "bits" i: 3 })"}},
      {{"rand_augment", ""}, true},
      {{"random_crop", size}, true},
      {{"random_resized_crop", size}, true},
      {{"resize", size}},
      {{"rotate", R"(attrs { name: "degrees" floats: 40 })"}, true},
      {{"solarize", ""}},
      {{"transpose", R"(attrs { name: "axis" ints: [0, 3, 1, 2] })"}},
  };
}

std::string Image(uint32_t seed = 1) {
  const ImageShape shape = {21, 26, 3};
  return EncodeWebp(SomePixels(shape, seed), shape);
}

// What the operator makes of these images in a main program.
ElementValue InMainProgram(const ImageOp& op, const LoDTensor& images) {
  ProgramRunner runner;
  *runner.scope().Var("images")->GetMutable<LoDTensor>() = images;
  runner.Main(BlockText(0, -1,
                        {TensorText("images", "UINT8", {-1, -1, -1, 3}, 0, true),
                         R"(vars { name: "out" type { type: LOD_TENSOR } })",
                         StrCat("ops { type: \"", op.type,
                                R"(" inputs { parameter: "X" arguments: "images" } )"
                                R"(outputs { parameter: "Out" arguments: "out" } )",
                                op.attributes, "}")}));
  return ValueOf({runner.Tensor("out")});
}

LoDTensor TensorOf(const ElementValue& element, int64_t copies) {
  const SlotValue& image = element[0];
  Dims dims{copies, image.dims[1], image.dims[2], image.dims[3]};
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < copies; ++i) {
    values.insert(values.end(), image.bytes.begin(), image.bytes.end());
  }
  return MakeTensor<uint8_t>(dims, values);
}

class ImageOpsInPrograms : public testing::TestWithParam<Case> {};

TEST_P(ImageOpsInPrograms, WorkInBlocksAndInMainPrograms) {
  const auto& [op, draws] = GetParam();
  const ImageOp decode = {"decode_image", R"(attrs { name: "channels" i: 3 })"};
  const std::vector<std::string> images(kImages, Image());
  const std::string program = ImageProgram({decode, op}, "\"v0\", \"v1\"");
  const std::vector<ElementValue> elements = RunImageProgram(images, program);
  ASSERT_EQ(elements.size(), kImages);
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    ASSERT_EQ(RunImageProgram(images, program), elements) << threads << " threads";
  }
  // All images are the same.
  const bool all_equal =
      std::all_of(elements.begin(), elements.end(),
                  [&](const ElementValue& element) { return element[1] == elements[0][1]; });
  EXPECT_EQ(all_equal, !draws);

  const ElementValue one = InMainProgram(op, TensorOf(elements[0], 1));
  if (!draws) {
    EXPECT_EQ(one[0], elements[0][1]);
  }
  const ElementValue all = InMainProgram(op, TensorOf(elements[0], kImages));
  EXPECT_EQ(InMainProgram(op, TensorOf(elements[0], kImages)), all);
  ASSERT_EQ(all[0].bytes.size(), kImages * one[0].bytes.size());
  size_t equal = 0;
  for (size_t i = 0; i < kImages; ++i) {
    equal += all[0].bytes.compare(i * one[0].bytes.size(), one[0].bytes.size(), one[0].bytes) == 0;
  }
  EXPECT_EQ(equal == kImages, !draws);
}

// What is drawn for an image stays when the program gets a shuffle.
TEST_P(ImageOpsInPrograms, DrawTheSameAfterAShuffle) {
  std::vector<std::string> images;
  for (uint32_t i = 0; i < kImages; ++i) images.push_back(Image(i));
  const ImageOp decode = {"decode_image", R"(attrs { name: "channels" i: 3 })"};
  const std::string program = ImageProgram({decode, GetParam().op}, "\"v1\"");
  const std::string creation = R"(  ops { type: "create_custom_reader")", source = R"("source")";
  std::string with_shuffle = program;
  with_shuffle.replace(program.find(source), source.size(), R"("mixed")");
  with_shuffle.insert(program.find(creation), R"(
  vars { name: "mixed" type { type: READER } persistable: true }
  ops { type: "create_shuffle_reader" inputs { parameter: "UnderlyingReader" arguments: "source" }
        outputs { parameter: "Out" arguments: "mixed" } attrs { name: "buffer_size" i: 5 } }
)");
  std::vector<ElementValue> plain = RunImageProgram(images, program);
  std::vector<ElementValue> mixed = RunImageProgram(images, with_shuffle);
  EXPECT_NE(plain, mixed);
  const auto by_bytes = [](const ElementValue& a, const ElementValue& b) {
    return a[0].bytes < b[0].bytes;
  };
  std::sort(plain.begin(), plain.end(), by_bytes);
  std::sort(mixed.begin(), mixed.end(), by_bytes);
  EXPECT_EQ(plain, mixed);
}

// An operator that moves pixels does with values of 16 bits what it does with their lower and their
// upper bytes.
TEST(ImageOps, MoveValuesOf16BitsAsTheyMoveBytes) {
  using Ints = std::vector<int32_t>;
  const Attributes size = {{"size", Ints{12, 10}}};
  const Attributes nearest = {{"size", Ints{12, 10}}, {"interpolation", std::string("nearest")}};
  const std::pair<std::string, Attributes> ops[] = {
      {"center_crop", size},
      {"crop", {{"size", Ints{12, 10}}, {"top", 3}, {"left", 1}}},
      {"cutout", {{"p", 1.0f}}},
      {"flip", {{"p", 0.5f}}},
      {"pad", {{"padding", Ints{1, 2, 3, 4}}}},
      {"pad", {{"padding", Ints{3}}, {"mode", std::string("reflect")}}},
      {"random_crop", size},
      {"random_resized_crop", nearest},
      {"resize", nearest},
      {"transpose", {{"axis", Ints{0, 3, 1, 2}}}},
  };
  for (const int64_t channels : {1, 2, 3, 4}) {
    const Dims dims = {kImages, 15, 17, channels};
    const LoDTensor low = RandomImages(dims, 1), high = RandomImages(dims, 2);
    const auto both = [](const LoDTensor& lower, const LoDTensor& upper) {
      std::vector<uint16_t> values;
      for (int64_t i = 0; i < lower.numel(); ++i) {
        values.push_back(
            static_cast<uint16_t>(lower.data<uint8_t>()[i] | upper.data<uint8_t>()[i] << 8));
      }
      return values;
    };
    for (const auto& [type, attributes] : ops) {
      SCOPED_TRACE(type);
      const LoDTensor out =
          RunImageOp(type, MakeTensor<uint16_t>(dims, both(low, high)), attributes);
      const LoDTensor out_low = RunImageOp(type, low, attributes);
      EXPECT_EQ(out.dims(), out_low.dims());
      EXPECT_EQ(ValuesOf<uint16_t>(out), both(out_low, RunImageOp(type, high, attributes)));
    }
  }
}

TEST(ImageOps, TakeNumbersAsLargeAs16BitsHold) {
  using Numbers = std::vector<uint16_t>;
  const LoDTensor x = MakeTensor<uint16_t>({1, 1, 1, 1}, {40000});
  const std::vector<int32_t> around = {1, 0, 0, 0};
  const auto padded = [&](float fill) {
    return RunImageOp("pad", x, {{"padding", around}, {"fill", fill}});
  };
  EXPECT_EQ(ValuesOf<uint16_t>(padded(65535)), (Numbers{65535, 40000}));
  ExpectRefused("attribute 'fill' is 65536", "pad", {{"X", x}}, {"Out"},
                {{"padding", around}, {"fill", 65536.0f}});
  const Attributes covered = {{"p", 1.0f}, {"size", 1}, {"value", Floats{50000}}};
  EXPECT_EQ(ValuesOf<uint16_t>(RunImageOp("cutout", x, covered)), (Numbers{50000}));
  ExpectRefused("for uint16 images it must be whole and from 0 to 65535", "cutout", {{"X", x}},
                {"Out"}, {{"p", 1.0f}, {"value", Floats{65536}}});
  EXPECT_EQ(ValuesOf<float>(RunImageOp("normalize", x, {{"scale", 0.5f}})), (Floats{20000}));
}

INSTANTIATE_TEST_SUITE_P(All, ImageOpsInPrograms, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.op.type; });

}  // namespace
}  // namespace millhopper
