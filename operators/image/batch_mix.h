// SPDX-License-Identifier: Apache-2.0
// For operators that mix each element of a batch with the one before it (the first with the last),
// and their labels likewise, as torchvision.transforms.v2 does.
#ifndef MILLHOPPER_OPERATORS_IMAGE_BATCH_MIX_H_
#define MILLHOPPER_OPERATORS_IMAGE_BATCH_MIX_H_

#include <cstdint>
#include <string>

#include "framework/base/random.h"
#include "framework/program/operator.h"

namespace millhopper {

// A schema of X and Label -> Out and LabelOut, with the attributes alpha, num_classes and seed and
// the input Step; draws are numbered as image_argument.h says.
OpSchema MixSchema(std::string doc, std::string x, std::string out);
// The rule of the outputs of Label and of Out, which has the dims and the type of X. Throws if
// Label cannot be int64 [N, 1].
void InferMix(InferContext& context);

// The number lambda that decides how much of each element stays, drawn from Beta(alpha, alpha) by
// draws of "images" 0 and 1. alpha is above 0.
double DrawLambda(const RandomKey& key, double alpha);

// The element that element i of n is mixed with.
inline int64_t PartnerOf(int64_t i, int64_t n) { return i == 0 ? n - 1 : i - 1; }

// Writes LabelOut: lambda at the element's own class, 1 - lambda at its partner's. Throws unless
// Label is int64 [n, 1] with classes from 0 to num_classes - 1.
void MixLabels(OpContext& context, int64_t n, double lambda);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_BATCH_MIX_H_
