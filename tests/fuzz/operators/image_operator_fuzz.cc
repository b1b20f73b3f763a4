// SPDX-License-Identifier: Apache-2.0
// Fuzzes the attributes of operators on images, with small images. The first bytes choose the
// operator, the images and their labels, the others its attributes, in the order of its schema:
// values of any kind, within their limits and beyond.
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/operator.h"
#include "tests/fuzz/target.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// The order is that of the corpus: new ones go to the end.
constexpr const char* kTypes[] = {"adjust_sharpness",
                                  "affine",
                                  "autocontrast",
                                  "center_crop",
                                  "color_jitter",
                                  "crop",
                                  "cutout",
                                  "equalize",
                                  "flip",
                                  "gaussian_blur",
                                  "grayscale",
                                  "normalize",
                                  "pad",
                                  "posterize",
                                  "rand_augment",
                                  "random_crop",
                                  "resize",
                                  "random_resized_crop",
                                  "rotate",
                                  "solarize",
                                  "cast",
                                  "cutmix",
                                  "mixup",
                                  "transpose",
                                  "perspective",
                                  "photometric_distort",
                                  "channel_permutation",
                                  "gaussian_noise",
                                  "jpeg",
                                  "aug_mix",
                                  "scale_jitter",
                                  "random_shortest_size",
                                  "resize_keep_ratio",
                                  "five_crop",
                                  "elastic"};

// Bytes one after another; 0 when there are no more.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t Next() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  int64_t Below(int64_t n) { return Next() % n; }

 private:
  const uint8_t* data_;
  size_t size_;
};

// Small, or so large that what is made of it is refused before it takes memory: in between lie
// images that are allowed, and that a fuzzer has no time for.
int32_t NextInt(Bytes* bytes) {
  const uint8_t value = bytes->Next();
  if (value == 255) return int32_t{1} << 30;
  if (value == 254) return -(int32_t{1} << 30);
  return value < 240 ? value : 239 - value;
}

// A quarter of a small number, or any four bytes.
float NextFloat(Bytes* bytes) {
  const uint8_t value = bytes->Next();
  if (value < 240) return static_cast<float>(value) / 4 - (value >= 200 ? 60.0f : 0.0f);
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits = bits << 8 | bytes->Next();
  float any = 0;
  std::memcpy(&any, &bits, sizeof(any));
  return any;
}

template <typename T, typename Next>
std::vector<T> NextList(Bytes* bytes, Next next) {
  std::vector<T> values(static_cast<size_t>(bytes->Below(6)));
  for (T& value : values) value = next(bytes);
  return values;
}

Attribute NextValue(const AttributeSchema& schema, Bytes* bytes) {
  return std::visit(
      [&](const auto& of) -> Attribute {
        using T = std::decay_t<decltype(of)>;
        if constexpr (std::is_same_v<T, int32_t>) {
          return NextInt(bytes);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          // The number of classes, which may be any that there is memory for.
          return int64_t{bytes->Next()} - 15;
        } else if constexpr (std::is_same_v<T, float>) {
          return NextFloat(bytes);
        } else if constexpr (std::is_same_v<T, bool>) {
          return bytes->Below(2) == 1;
        } else if constexpr (std::is_same_v<T, std::string>) {
          const auto words = static_cast<int64_t>(schema.words.size());
          const int64_t word = bytes->Below(words + 1);
          return word == words ? std::string("nothing") : schema.words[static_cast<size_t>(word)];
        } else if constexpr (std::is_same_v<T, std::vector<int32_t>>) {
          return NextList<int32_t>(bytes, NextInt);
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          return NextList<float>(bytes, NextFloat);
        } else {
          LOG(FATAL) << "attribute '" << schema.name << "' has a type that is not known here";
          return {};
        }
      },
      schema.default_value);
}

LoDTensor NextImages(Bytes* bytes) {
  const Dims dims = {bytes->Below(3), bytes->Below(24), bytes->Below(24), bytes->Below(5)};
  const int64_t type = bytes->Below(4);
  std::vector<uint8_t> values(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  const uint32_t step = bytes->Next();
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<uint8_t>((k * k / 7 + 3 * k) * step);
  }
  if (type < 2) return MakeTensor<uint8_t>(dims, values);
  if (type == 3) {
    return MakeTensor<float>(dims, std::vector<float>(values.begin(), values.end()));
  }
  std::vector<uint16_t> numbers;
  for (const uint8_t value : values) numbers.push_back(static_cast<uint16_t>(value * 257));
  return MakeTensor<uint16_t>(dims, numbers);
}

struct Made {
  std::string error, values;
  Dims dims;
};

// Operators on batches are given labels, too.
SlotTensors InputsOf(const std::string& type, Bytes* bytes) {
  const LoDTensor images = NextImages(bytes);
  if (type != "cutmix" && type != "mixup") return {{"X", images}};
  std::vector<int64_t> labels(static_cast<size_t>(images.dims()[0]));
  for (int64_t& label : labels) label = NextInt(bytes);
  return {{"X", images}, {"Label", MakeTensor<int64_t>({images.dims()[0], 1}, labels)}};
}

Made Run(const std::string& type, const SlotTensors& inputs, const Attributes& attributes) {
  std::vector<std::string> slots = {"Out"};
  if (inputs.size() > 1) slots.emplace_back("LabelOut");
  Made made;
  made.error = Outcome([&] {
    const auto outputs = RunOp(type, inputs, slots, attributes);
    made.dims = outputs.at("Out").dims();
    for (const std::string& slot : slots) {
      const LoDTensor& out = outputs.at(slot);
      made.values.append(static_cast<const char*>(out.raw_data()), out.bytes());
    }
  });
  return made;
}

void Fuzz(Bytes bytes) {
  const std::string type = kTypes[bytes.Below(sizeof(kTypes) / sizeof(kTypes[0]))];
  const SlotTensors inputs = InputsOf(type, &bytes);
  Attributes attributes;
  for (const AttributeSchema& schema : FindOperator(type)->schema.attributes) {
    if (bytes.Below(2) == 1) attributes.emplace_back(schema.name, NextValue(schema, &bytes));
  }
  const Made once = Run(type, inputs, attributes);
  const Made again = Run(type, inputs, attributes);
  CHECK_EQ(once.error, again.error);
  CHECK(once.values == again.values);
  if (!once.error.empty()) return;
  CHECK_EQ(once.dims.size(), 4u);
  if (type != "transpose") CHECK_EQ(once.dims[0], inputs[0].second.dims()[0]);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(millhopper::Bytes(data, size));
  return 0;
}
