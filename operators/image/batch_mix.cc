// SPDX-License-Identifier: Apache-2.0
#include "operators/image/batch_mix.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/attribute.h"
#include "operators/image/image_argument.h"
#include "operators/image/image_draws.h"

namespace millhopper {
OpSchema MixSchema(std::string doc, std::string x, std::string out) {
  return OpSchema(
             std::move(doc) +
             " One lambda a batch is drawn from Beta(alpha, alpha) as a / (a + b), where a and "
             "b of Gamma(alpha, 1) are drawn from images 0 and 1 by the method of Marsaglia and "
             "Tsang (2000) for alpha + 1: attempt t, from 0, has the normal number of Box and "
             "Muller with the cosine of draws 3t + 1 and 3t + 2 and the uniform one of draw 3t "
             "+ 3; what is accepted is multiplied by u ^ (1 / alpha), u being draw 0. Uniform "
             "numbers are 1 minus 53 bits, but for the angle.")
      .Input("X", std::move(x))
      .Input("Label", "int64 [N] or [N, 1], classes from 0 to num_classes - 1")
      .OptionalInput("Step",
                     "int64 [1]; other numbers are drawn for each value. Only needed in a main "
                     "program: in a block for the elements of a reader each element has its own")
      .Output("Out", std::move(out))
      .Output(
          "LabelOut",
          "float32 [N, num_classes]: lambda at the class of each element, 1 - lambda at that of "
          "the one before; not Label itself")
      .Attr({"alpha", 1.0f, "of the Beta distribution, from 0.001 to 1000"})
      .Attr(AttributeSchema("num_classes", int64_t{0}, "how many").Required().AtLeast(1))
      .Attr({"seed", int32_t{0}, "decides the draws together with --seed and the name of Out"})
      .Check(
          [](const proto::OpDesc&, const AttributeMap& attributes) { RequireAlpha(attributes); });
}

void InferMix(InferContext& context) {
  const TensorSpec& label = context.In("Label");
  const auto are_labels = [](const Dims& dims) {
    return dims.size() == 1 || (dims.size() == 2 && (dims[1] < 0 || dims[1] == 1));
  };
  if (label.dtype.value_or(DataType::kInt64) != DataType::kInt64 ||
      label.lod_level.value_or(0) != 0 || (label.dims && !are_labels(*label.dims))) {
    context.ThrowUnfit("Label", "labels are int64 [N] or [N, 1]");
  }
  context.SetOut("Out", context.In("X"));
  const int64_t n = label.dims ? (*label.dims)[0] : -1;
  context.SetOut("LabelOut", {DataType::kFp32, Dims{n, context.Attr<int64_t>("num_classes")}, 0});
}

double DrawLambda(const RandomKey& key, double alpha) {
  return 1 / (1 + std::exp(LogGammaOf(key, 1, alpha) - LogGammaOf(key, 0, alpha)));
}

void MixLabels(OpContext& context, int64_t n, double lambda) {
  const LoDTensor label = context.In("Label");
  RequireInput(
      label.dtype() == DataType::kInt64 && (label.dims() == Dims{n} || label.dims() == Dims{n, 1}),
      context, "Label", "it must be int64 [", n, "] or [", n,
      ", 1], one label for each element of X");
  const auto classes = context.Attr<int64_t>("num_classes");
  const auto* const values = label.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    Require(values[i] >= 0 && values[i] < classes, "label ", i, " is ", values[i],
            "; with 'num_classes' ", classes, " classes are from 0 to ", classes - 1);
  }
  float* const out = context.Out("LabelOut")->Allocate<float>({n, classes});
  std::fill_n(out, n * classes, 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    float* const row = out + i * classes;
    row[values[PartnerOf(i, n)]] = static_cast<float>(1 - lambda);
    row[values[i]] += static_cast<float>(lambda);
  }
}

}  // namespace millhopper
