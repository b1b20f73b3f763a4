// SPDX-License-Identifier: Apache-2.0
// mixup: batches whose elements are mixed with one another.
#include "framework/base/attribute.h"
#include "operators/image/batch_mix.h"
#include "operators/image/image_argument.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

constexpr char kWanted[] = "X is float32 with at least one axis and no level of detail";

OpSchema Schema() {
  return MixSchema(
             "Mixes the elements of a batch: lambda times each plus 1 - lambda times the one "
             "before "
             "it, the last for the first, in float32, as torchvision's v2.MixUp (Source: Zhang et "
             "al., \"mixup: Beyond Empirical Risk Minimization\", 2018).",
             "float32 [N, ...]", "dims and type of X; may be X")
      .Infer([](InferContext& context) {
        const TensorSpec& x = context.In("X");
        if (x.dtype.value_or(DataType::kFp32) != DataType::kFp32 || x.lod_level.value_or(0) != 0 ||
            (x.dims && x.dims->empty())) {
          context.ThrowUnfit("X", kWanted);
        }
        InferMix(context);
      });
}

void Run(OpContext& context) {
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  RequireInput(x.dtype() == DataType::kFp32 && !x.dims().empty() && x.lod().empty(), context, "X",
               kWanted);
  const int64_t n = x.dims()[0];
  const double lambda = DrawLambda(ImageKey(context), context.Attr<float>("alpha"));
  MixLabels(context, n, lambda);
  float* const out = context.Out("Out")->Allocate<float>(x.dims());
  const auto own = static_cast<float>(lambda);
  const auto other = static_cast<float>(1 - lambda);
  const int64_t length = n == 0 ? 0 : x.numel() / n;
  for (int64_t i = 0; i < n; ++i) {
    const float* const a = x.data<float>() + i * length;
    const float* const b = x.data<float>() + PartnerOf(i, n) * length;
    for (int64_t k = 0; k < length; ++k) out[i * length + k] = b[k] * other + a[k] * own;
  }
}

REGISTER_OPERATOR(mixup, Schema, Run);

}  // namespace
}  // namespace millhopper
