// SPDX-License-Identifier: Apache-2.0
// Operators on images that are run as one, compared with the same operators one after another.
#include "operators/image/runs/fused_images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "framework/program/program.h"
#include "tests/fakes/sources.h"
#include "tests/files/encoded_images.h"
#include "tests/operators/image/image_chains.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Op = ImageOp;

std::string Quoted(const std::vector<std::string>& names) {
  std::string quoted;
  for (const std::string& name : names)
    quoted += StrCat(quoted.empty() ? "\"" : ", \"", name, "\"");
  return quoted;
}

// How many operators of the chain, which begins with operator `first` of the block, are one run.
size_t RunsOf(const std::vector<Op>& ops, const std::vector<std::string>& sinks,
              const MoreOps& more = {}, int first = 0) {
  const auto program = Program::FromString(ImageProgram(ops, Quoted(sinks), more), "startup.pbtxt");
  const std::optional<OperatorRun> run = FuseImages(*program, 1, first, sinks);
  return run ? run->ops.size() : 0;
}

const Op kDecode = {"decode_image",
                    R"(attrs { name: "channels" i: 3 } attrs { name: "exact" b: true })"};
const Op kNormalize = {"normalize",
                       R"(attrs { name: "mean" floats: [0.485, 0.456, 0.406] }
                          attrs { name: "std" floats: [0.229, 0.224, 0.225] })"};
const Op kPlanes = {"transpose", R"(attrs { name: "axis" ints: [0, 3, 1, 2] })"};
const Op kFlip = {"flip", R"(attrs { name: "p" f: 0.5 })"};
const Op kFlipDown = {"flip", R"(attrs { name: "axis" s: "vertical" } attrs { name: "p" f: 0.5 })"};
const Op kRandomResizedCrop = {"random_resized_crop", R"(attrs { name: "size" ints: [24, 20] })"};

Op Sized(const std::string& type, const std::string& size) {
  return {type, StrCat(R"(attrs { name: "size" ints: )", size, " }")};
}

std::vector<std::string> Images() {
  std::vector<std::string> images;
  for (uint32_t i = 0; i < 12; ++i) {
    const ImageShape shape{61 + 7 * i, 93 - 5 * i, 3};
    JpegOptions jpeg;
    if (i % 3 == 0) jpeg.sampling = {{2, 2}, {1, 1}, {1, 1}};
    if (i % 4 == 1) jpeg.exif = ExifWith(static_cast<int>(1 + i % 8));
    if (i % 5 == 2) jpeg.progressive = true;
    images.push_back(EncodeJpeg(SomePixels(shape, i), shape, jpeg));
  }
  const ImageShape shape{64, 70, 3};
  images.push_back(EncodeWebp(SomePixels(shape), shape));
  return images;
}

// The last result, once of operators that are run as one, once of operators that cannot be, since
// all of their results are asked for.
void ExpectSame(const std::vector<std::string>& images, const std::vector<Op>& ops, size_t fused) {
  std::vector<std::string> names;
  for (size_t i = 0; i < ops.size(); ++i) names.push_back(StrCat("v", i));
  const std::string all = Quoted(names), last = Quoted({names.back()});
  ASSERT_EQ(RunsOf(ops, {names.back()}), fused);
  ASSERT_EQ(RunsOf(ops, names), 0u);
  const std::vector<ElementValue> one = RunImageProgram(images, ImageProgram(ops, last));
  const std::vector<ElementValue> plain = RunImageProgram(images, ImageProgram(ops, all));
  ASSERT_EQ(one.size(), images.size());
  ASSERT_EQ(plain.size(), one.size());
  for (size_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i][0], plain[i].back()) << "image " << i;
}

void ExpectSame(const std::vector<Op>& ops, size_t fused) { ExpectSame(Images(), ops, fused); }

TEST(FusedImages, MakeWhatTheOperatorsMakeOneAfterAnother) {
  ExpectSame({kDecode, kRandomResizedCrop, kFlip, kNormalize, kPlanes}, 5);
  ExpectSame({kDecode, kRandomResizedCrop}, 2);
  ExpectSame({kDecode, kNormalize}, 2);
  ExpectSame(
      {kDecode, Sized("resize", "[40]"), Sized("center_crop", "[32, 28]"), kNormalize, kPlanes}, 5);
  ExpectSame({kDecode, Sized("random_crop", "[30, 20]"), kFlip, kPlanes}, 4);
  ExpectSame({kDecode, Sized("center_crop", "[50, 35]"), Sized("resize", "[70, 90]"), kFlip,
              kFlipDown, Sized("random_crop", "[20, 30]"), kNormalize},
             7);
  ExpectSame({kDecode, kFlipDown, Sized("random_crop", "[20, 30]"), kFlip}, 4);
}

PngImage PngOf(const ImageShape& shape, uint32_t seed, int depth = 8) {
  constexpr int kColors[] = {0, 0, 4, 2, 6};
  PngImage png;
  png.height = shape.height;
  png.width = shape.width;
  png.depth = depth;
  png.colors = kColors[shape.channels];
  const std::vector<uint8_t> bytes =
      SomePixels({shape.height, shape.width * depth / 8, shape.channels}, seed);
  png.rows.assign(bytes.begin(), bytes.end());
  png.exif = ExifWith(static_cast<int>(1 + seed % 8));
  return png;
}

// Images with alpha, masks of a palette, and images of 16 bits, of which none is run as one.
TEST(FusedImages, TakeAlphaAndNumbers) {
  std::vector<std::string> alpha, masks, deep;
  for (uint32_t i = 0; i < 8; ++i) {
    const ImageShape shape{41 + 7 * i, 83 - 5 * i, 1};
    alpha.push_back(EncodePng(PngOf({shape.height, shape.width, i % 2 == 0 ? 2 : 4}, i)));
    deep.push_back(EncodePng(PngOf({shape.height, shape.width, 1 + i % 4}, i, 16)));
    // Places in a palette that is shorter than the numbers are large, and gray of 4 bits, which as
    // pixels would be 17 times as large.
    PngImage mask = PngOf(shape, i);
    if (i % 2 == 0) {
      mask.colors = 3;
      mask.palette = std::string(30, 'x');
    } else {
      mask.depth = 4;
      mask.rows.resize(static_cast<size_t>(shape.height * ((shape.width + 1) / 2)));
    }
    masks.push_back(EncodePng(mask));
  }
  const auto decode = [](const std::string& mode) {
    return Op{"decode_image", StrCat(R"(attrs { name: "mode" s: ")", mode, R"(" })")};
  };
  const Op nearest = {"resize", R"(attrs { name: "size" ints: [20, 24] }
                                   attrs { name: "interpolation" s: "nearest" })"};
  const Op cubic = {"random_resized_crop", R"(attrs { name: "size" ints: [30, 21] }
                                              attrs { name: "interpolation" s: "bicubic" })"};
  ExpectSame(alpha, {decode("pixels"), kRandomResizedCrop, kFlip, kPlanes}, 4);
  ExpectSame(alpha, {decode("pixels"), cubic, Sized("center_crop", "[20, 20]"), kFlip}, 4);
  ExpectSame(alpha, {decode("pixels"), Sized("resize", "[20]")}, 2);
  ExpectSame(masks, {decode("P"), Sized("random_crop", "[20, 25]"), kFlip, kPlanes}, 4);
  ExpectSame(masks, {decode("P"), nearest, kFlip, kPlanes}, 4);
  ExpectSame(deep, {decode("I;16"), Sized("random_crop", "[20, 25]"), cubic, kFlip, kPlanes}, 0);
  ExpectSame(deep, {decode("I;16"), nearest, {"normalize", ""}}, 0);
}

TEST(FusedImages, LeaveOutOperatorsThatDoNotFit) {
  // A resize after a flip, a second resize, and what follows planes are run by themselves.
  ExpectSame({kDecode, kFlip, Sized("resize", "[20, 20]"), kNormalize}, 2);
  ExpectSame({kDecode, Sized("resize", "[40, 40]"), kRandomResizedCrop}, 2);
  ExpectSame({kDecode, kNormalize, kFlip, kPlanes}, 2);
  EXPECT_EQ(RunsOf({kDecode}, {"v0"}), 0u);
  EXPECT_EQ(RunsOf({kDecode, kFlip, kNormalize}, {"v1", "v2"}), 2u);
}

// Operators that change colors end a run. The operators after them are run by themselves, with the
// same draws.
TEST(FusedImages, EndBeforeOperatorsThatChangeColors) {
  const std::string sometimes = R"(attrs { name: "p" f: 0.5 })";
  const Op changes[] = {
      {"posterize", R"(attrs { name: "bits" i: 3 })" + sometimes},
      {"solarize", sometimes},
      {"autocontrast", sometimes},
      {"equalize", sometimes},
      {"adjust_sharpness", R"(attrs { name: "factor" f: 2.5 })" + sometimes},
      {"gaussian_blur", R"(attrs { name: "kernel_size" ints: [5, 3] })"},
      {"rand_augment", ""},
      {"color_jitter", R"(attrs { name: "brightness" floats: 0.5 })"},
  };
  for (const Op& change : changes) {
    SCOPED_TRACE(change.type);
    ExpectSame({kDecode, kRandomResizedCrop, change, kFlip, kNormalize, kPlanes}, 2);
    ExpectSame({kDecode, Sized("center_crop", "[50, 35]"), change, kNormalize}, 2);
    ExpectSame({kDecode, change, kNormalize}, 0);
    const std::string program =
        ImageProgram({kDecode, kRandomResizedCrop, change, kNormalize}, "\"v3\"");
    const std::vector<ElementValue> first = RunImageProgram(Images(), program);
    for (const int workers : {0, 1, 7}) {
      const PoolSize pool(workers);
      ASSERT_EQ(RunImageProgram(Images(), program), first) << workers << " workers";
    }
  }
}

TEST(FusedImages, LeaveErrorsToTheOperators) {
  std::vector<std::string> images = Images();
  images[3] = "this is no image";
  const std::string program = ImageProgram({kDecode, kRandomResizedCrop, kNormalize}, "\"v2\"");
  ExpectError(ErrorCode::kDataLoss, "while running operator 'decode_image'",
              [&] { RunImageProgram(images, program); });
  const std::string crop =
      ImageProgram({kDecode, Sized("crop", "[200, 20]"), kNormalize}, "\"v2\"");
  ExpectError(ErrorCode::kInvalidArgument, "while running operator 'crop'",
              [&] { RunImageProgram(Images(), crop); });
}

std::string OpOf(const std::string& type, const std::string& in, const std::string& out,
                 const std::string& attributes) {
  return StrCat("vars { name: \"", out, "\" type { type: LOD_TENSOR } } ops { type: \"", type,
                "\" ", in, " outputs { parameter: \"Out\" arguments: \"", out, "\" } ", attributes,
                " }\n");
}

// An operator of the chain, number `i`, that moves masks, boxes and points of that number on to
// those of the next one.
Op Moving(const Op& op, int i) {
  std::string text = op.attributes;
  for (const char* const kind : {"Masks", "Boxes", "Points"}) {
    text +=
        StrCat(" inputs { parameter: \"", kind, "\" arguments: \"", kind, i,
               "\" } outputs { parameter: \"Out", kind, "\" arguments: \"", kind, i + 1, "\" }");
  }
  return {op.type, text};
}

// Numbers from 0 to 60 that are drawn.
std::string DrawnOp(const std::string& name, const std::string& shape) {
  return OpOf("uniform_random", "", name,
              StrCat(R"(attrs { name: "shape" ints: )", shape,
                     R"( } attrs { name: "min" f: 0 } attrs { name: "max" f: 60 })"));
}

// A mask, boxes and points of each image, and variables for what these become.
MoreOps MovedAlong(int steps) {
  MoreOps more;
  more.before = OpOf("decode_image", R"(inputs { parameter: "X" arguments: "encoded" })", "Masks0",
                     R"(attrs { name: "channels" i: 1 })") +
                DrawnOp("Boxes0", "[5, 4]") + DrawnOp("Points0", "[7, 2]");
  for (int i = 1; i <= steps; ++i) {
    for (const char* const kind : {"Masks", "Boxes", "Points"}) {
      more.before += StrCat("vars { name: \"", kind, i, "\" type { type: LOD_TENSOR } }");
    }
  }
  return more;
}

// The last image, its mask, boxes, points and what is left of its boxes, once of operators that are
// run as one as far as they concern the image, once of operators that are run one after another.
void ExpectSameTogether(const std::vector<Op>& chain, size_t moving, size_t fused) {
  std::vector<Op> ops = chain;
  const int steps = static_cast<int>(moving);
  for (int i = 0; i < steps; ++i)
    ops[static_cast<size_t>(i) + 1] = Moving(ops[static_cast<size_t>(i) + 1], i);
  MoreOps more = MovedAlong(steps);
  // Only the size of an image in the middle of the run is asked for.
  more.after =
      StrCat("vars { name: \"left\" type { type: LOD_TENSOR } } ops { type: \"sanitize_boxes\" ",
             "inputs { parameter: \"X\" arguments: \"v", steps, "\" } ",
             "inputs { parameter: \"Boxes\" arguments: \"Boxes", steps, "\" } ",
             "outputs { parameter: \"OutBoxes\" arguments: \"left\" } }\n");
  std::vector<std::string> sinks = {StrCat("Masks", steps), StrCat("Boxes", steps),
                                    StrCat("Points", steps), "left"};
  std::vector<std::string> all = sinks;
  for (size_t i = 0; i < ops.size(); ++i) all.push_back(StrCat("v", i));
  sinks.push_back(all.back());
  ASSERT_EQ(RunsOf(ops, sinks, more, 3), fused);
  ASSERT_EQ(RunsOf(ops, all, more, 3), 0u);
  const std::vector<ElementValue> plain =
      RunImageProgram(Images(), ImageProgram(ops, Quoted(all), more));
  for (const int workers : {0, 3}) {
    const PoolSize pool(workers);
    const std::vector<ElementValue> one =
        RunImageProgram(Images(), ImageProgram(ops, Quoted(sinks), more));
    ASSERT_EQ(one.size(), plain.size());
    for (size_t i = 0; i < one.size(); ++i) {
      for (size_t slot = 0; slot < 4; ++slot)
        ASSERT_EQ(one[i][slot], plain[i][slot]) << i << ", " << slot;
      ASSERT_EQ(one[i][4], plain[i].back()) << "image " << i;
    }
  }
}

TEST(FusedImages, MoveWhatBelongsToTheImage) {
  const Op shortest = {"random_shortest_size", R"(attrs { name: "min_size" ints: [20, 31, 80] })"};
  const Op jitter = {"scale_jitter", R"(attrs { name: "size" ints: [60, 60] })"};
  ExpectSameTogether({kDecode, kRandomResizedCrop, kFlip, kNormalize, kPlanes}, 2, 5);
  ExpectSameTogether({kDecode, shortest, kFlipDown, Sized("random_crop", "[16, 18]"), kPlanes}, 3,
                     5);
  ExpectSameTogether({kDecode, jitter, kFlip, kNormalize}, 2, 4);
  ExpectSameTogether({kDecode, Sized("center_crop", "[50, 35]"), Sized("resize", "[30]"), kFlip}, 3,
                     4);
  // The crop does not move what belongs to the image, nor is anything asked of it.
  ExpectSameTogether({kDecode, kFlip, Sized("random_crop", "[16, 18]"), kPlanes}, 1, 4);
  ExpectSame({kDecode, shortest, kFlip, kNormalize}, 4);
  ExpectSame({kDecode, jitter, kPlanes}, 3);
  const Op keeping = {"resize_keep_ratio", R"(attrs { name: "size" ints: [30, 40] }
      attrs { name: "scale_p" f: 0.5 } attrs { name: "aspect_p" f: 0.5 })"};
  ExpectSameTogether({kDecode, keeping, kFlip, kNormalize}, 2, 4);
  // What is asked for the size of a normalised image ends the run before.
  const std::string asks = R"(vars { name: "left" type { type: LOD_TENSOR } } ops {
      type: "sanitize_boxes" inputs { parameter: "X" arguments: "v2" }
      inputs { parameter: "Boxes" arguments: "Boxes0" }
      outputs { parameter: "OutBoxes" arguments: "left" } })";
  EXPECT_EQ(RunsOf({kDecode, kFlip, kNormalize, kPlanes}, {"v3"}, {MovedAlong(0).before, asks}, 3),
            3u);
  // Boxes that are written twice, or in place, are others if they are moved again.
  const Op in_place = {"flip", R"(inputs { parameter: "Boxes" arguments: "Boxes0" }
                                  outputs { parameter: "OutBoxes" arguments: "Boxes0" })"};
  EXPECT_EQ(RunsOf({kDecode, kFlip, in_place, kPlanes}, {"v3"}, MovedAlong(0), 3), 2u);
}

// Blocks within the block count for what they use.
TEST(FusedImages, RunBesideConditions) {
  const std::string condition = R"(
      vars { name: "yes" type { type: LOD_TENSOR } }
      ops { type: "fill_constant" outputs { parameter: "Out" arguments: "yes" }
            attrs { name: "shape" ints: 1 } attrs { name: "dtype" i: 0 }
            attrs { name: "value" f: 1 } }
      vars { name: "kept" type { type: LOD_TENSOR lod_tensor {
               tensor { data_type: UINT8 dims: [1, -1, -1, 3] } } } }
      ops { type: "conditional_block" inputs { parameter: "X" arguments: "yes" }
            attrs { name: "sub_block" block_idx: 2 }
            attrs { name: "is_scalar_condition" b: true } } }
      blocks { idx: 2 parent_idx: 1
        ops { type: "assign" inputs { parameter: "X" arguments: "%" }
              outputs { parameter: "Out" arguments: "kept" } }
      )";
  const auto reading = [&](const std::string& name) {
    std::string text = condition;
    return MoreOps{"", text.replace(text.find('%'), 1, name)};
  };
  const std::vector<Op> ops = {kDecode, kRandomResizedCrop, kFlip};
  EXPECT_EQ(RunsOf(ops, {"v2"}, reading("encoded")), 3u);
  EXPECT_EQ(RunsOf(ops, {"v2"}, reading("v2")), 3u);
  EXPECT_EQ(RunsOf(ops, {"v2"}, reading("v1")), 2u);
  EXPECT_EQ(RunsOf(ops, {"v2"}, reading("v0")), 0u);
  const std::vector<ElementValue> plain =
      RunImageProgram(Images(), ImageProgram(ops, R"("v0", "v1", "v2")"));
  for (const char* const name : {"v2", "v1", "v0"}) {
    const std::vector<ElementValue> made =
        RunImageProgram(Images(), ImageProgram(ops, R"("kept", "v2")", reading(name)));
    for (size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(made[i][0], plain[i][static_cast<size_t>(name[1] - '0')]) << name;
      ASSERT_EQ(made[i][1], plain[i][2]) << name;
    }
  }
}

TEST(FusedImages, LeaveErrorsOfWhatMovesToTheOperators) {
  const Op crop = {"random_resized_crop", kRandomResizedCrop.attributes +
                                              R"(inputs { parameter: "Boxes" arguments: "Boxes0" }
                          outputs { parameter: "OutBoxes" arguments: "Boxes1" })"};
  const MoreOps boxes = {
      DrawnOp("Boxes0", "[5, 4]") + R"(vars { name: "Boxes1" type { type: LOD_TENSOR } })", ""};
  const std::vector<Op> ops = {kDecode, crop, kNormalize};
  ASSERT_EQ(RunsOf(ops, {"v2", "Boxes1"}, boxes, 1), 3u);
  std::vector<std::string> images = Images();
  images[3].resize(images[3].size() / 2);  // its header is whole
  ExpectError(ErrorCode::kDataLoss, "while running operator 'decode_image'",
              [&] { RunImageProgram(images, ImageProgram(ops, R"("v2", "Boxes1")", boxes)); });
  images[3] = "this is no image";
  ExpectError(ErrorCode::kDataLoss, "while running operator 'decode_image'",
              [&] { RunImageProgram(images, ImageProgram(ops, R"("v2", "Boxes1")", boxes)); });
  MoreOps other = MovedAlong(1);
  other.before += OpOf("crop", R"(inputs { parameter: "X" arguments: "Masks0" })", "part",
                       R"(attrs { name: "size" ints: [9, 9] })");
  Op moving = Moving(kRandomResizedCrop, 0);
  moving.attributes.replace(moving.attributes.find("Masks0"), 6, "part");
  ExpectError(ErrorCode::kInvalidArgument, "what moves together has the same number and size", [&] {
    RunImageProgram(Images(), ImageProgram({kDecode, moving}, R"("v1", "Masks1")", other));
  });
}

// Without `exact`, a much smaller image is made of an image that is decoded smaller.
TEST(FusedImages, StayNearTheOperatorsWhereTheyDecodeSmaller) {
  const ImageShape shape{610, 730, 3};
  const std::vector<std::string> images = {EncodeJpeg(SomePixels(shape, 5), shape)};
  const Op decode = {"decode_image", R"(attrs { name: "channels" i: 3 })"};
  const std::vector<Op> ops = {decode, Sized("resize", "[60, 72]")};
  const ElementValue one = RunImageProgram(images, ImageProgram(ops, "\"v1\""))[0];
  const ElementValue plain = RunImageProgram(images, ImageProgram(ops, "\"v0\", \"v1\""))[0];
  ASSERT_EQ(one[0].bytes.size(), plain[1].bytes.size());
  EXPECT_NE(one[0].bytes, plain[1].bytes);
  int most = 0;
  double sum = 0;
  for (size_t i = 0; i < one[0].bytes.size(); ++i) {
    const int difference =
        std::abs(static_cast<uint8_t>(one[0].bytes[i]) - static_cast<uint8_t>(plain[1].bytes[i]));
    most = std::max(most, difference);
    sum += difference;
  }
  EXPECT_LE(most, 16);
  EXPECT_LE(sum / static_cast<double>(one[0].bytes.size()), 1.0);
}

}  // namespace
}  // namespace millhopper
