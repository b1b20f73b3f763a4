// SPDX-License-Identifier: Apache-2.0
// Fuzzes operators on images that are run as one. The first bytes choose the operators after
// decode_image and their attributes, the others are an encoded image. What the run makes of a sound
// image is what the operators make one after another, and it fails only where they fail.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "tests/operators/image/image_chains.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int kMostPixels = 1 << 13;
constexpr int kMostLength = 24;  // of a side that is asked for
constexpr size_t kOperatorBytes = 3;

struct Choice {
  bool partial, exact;
  std::vector<ImageOp> ops;
};

ImageOp DecodeOp(uint8_t choice, bool partial, bool exact) {
  constexpr int kChannels[] = {0, 1, 3, 4};
  constexpr const char* kModes[] = {"pixels", "P", "I;16", "pixels"};
  return {"decode_image", StrCat("attrs { name: \"channels\" i: ", kChannels[choice >> 2 & 3],
                                 " } attrs { name: \"mode\" s: \"", kModes[choice >> 5 & 3], "\"",
                                 " } attrs { name: \"orientation\" b: ", choice >> 4 & 1,
                                 " } attrs { name: \"partial\" b: ", partial,
                                 " } attrs { name: \"exact\" b: ", exact,
                                 " } attrs { name: \"max_pixels\" l: ", kMostPixels, " }")};
}

// Sizes, places and numbers of draws within and beyond what an image allows.
ImageOp OpOf(const uint8_t* bytes) {
  const int height = 1 + bytes[1] % kMostLength, width = 1 + bytes[2] % kMostLength;
  const std::string size = StrCat(" attrs { name: \"size\" ints: [", height, ", ", width, "] }");
  const std::string seed = StrCat(" attrs { name: \"seed\" i: ", bytes[1] + bytes[2], " }");
  constexpr const char* kFilters[] = {"nearest", "bilinear", "bicubic", "area", "lanczos"};
  const std::string filter =
      StrCat(" attrs { name: \"interpolation\" s: \"", kFilters[bytes[0] / 16 % 5],
             "\" } attrs { name: \"antialias\" b: ", bytes[0] < 128, " }");
  switch (bytes[0] % 9) {
    case 0:
      return {"crop", StrCat(size, " attrs { name: \"top\" i: ", bytes[1] / kMostLength,
                             " } attrs { name: \"left\" i: ", bytes[2] / kMostLength, " }")};
    case 1:
      return {"center_crop", size};
    case 2:
      return {"random_crop", size + seed};
    case 3:
      return {"resize", size + filter};
    case 4:
      return {"resize",
              StrCat(" attrs { name: \"size\" ints: ", height, " } attrs { name: \"side\" s: \"",
                     bytes[2] % 2 == 0 ? "short" : "long", "\" }", filter)};
    case 5:
      return {"random_resized_crop", size + filter + seed};
    case 6:
      return {"flip",
              StrCat(" attrs { name: \"axis\" s: \"", bytes[1] % 2 == 0 ? "horizontal" : "vertical",
                     "\" } attrs { name: \"p\" f: 0.5 }", seed)};
    case 7:
      return {"normalize", StrCat(" attrs { name: \"mean\" floats: ", bytes[1],
                                  " } attrs { name: \"std\" floats: ", 1 + bytes[2], " }")};
    default:
      return {"transpose", " attrs { name: \"axis\" ints: [0, 3, 1, 2] }"};
  }
}

struct Made {
  std::string error;
  ElementValue element;
};

Made Run(const std::string& image, const std::vector<ImageOp>& ops, const std::string& sinks) {
  Made made;
  made.error = Outcome([&] {
    const std::vector<ElementValue> elements = RunImageProgram({image}, ImageProgram(ops, sinks));
    CHECK_EQ(elements.size(), 1u);
    made.element = elements[0];
  });
  return made;
}

// Bytes 0 and 1 say how the image is decoded and how many operators follow.
void Fuzz(const uint8_t* data, size_t size) {
  if (size < 2) return;
  const bool partial = (data[0] & 1) != 0, exact = (data[0] & 2) == 0;
  std::vector<ImageOp> ops = {DecodeOp(data[0], partial, exact)};
  const size_t count = 1 + data[1] % 6;
  if (size < 2 + count * kOperatorBytes) return;
  for (size_t i = 0; i < count; ++i) ops.push_back(OpOf(data + 2 + i * kOperatorBytes));
  const uint8_t* const image = data + 2 + count * kOperatorBytes;
  const std::string encoded(image, data + size);

  std::string all;
  for (size_t i = 0; i < ops.size(); ++i) all += StrCat(i == 0 ? "\"v" : ", \"v", i, "\"");
  const Made one = Run(encoded, ops, StrCat("\"v", count, "\""));
  const Made plain = Run(encoded, ops, all);
  if (!one.error.empty()) CHECK(!plain.error.empty()) << one.error;
  if (!one.error.empty() || !plain.error.empty()) return;
  CHECK(one.element[0].dims == plain.element.back().dims);
  if (exact && !partial) CHECK(one.element[0] == plain.element.back());
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const millhopper::PoolSize one_thread(0);
  millhopper::Fuzz(data, size);
  return 0;
}
