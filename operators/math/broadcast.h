// SPDX-License-Identifier: Apache-2.0
// How the values of a smaller Y are paired with those of X: Y's dims are a consecutive part of X's.
#ifndef MILLHOPPER_OPERATORS_MATH_BROADCAST_H_
#define MILLHOPPER_OPERATORS_MATH_BROADCAST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "operators/support/arguments.h"

namespace millhopper {

// X is seen as [outer, middle, inner] and Y as [middle].
struct Broadcast {
  int64_t outer = 1, middle = 1, inner = 1;
};

// MatchBroadcast where the types or dims of X and Y differ.
Broadcast MatchPart(const OpContext& context);

// The broadcast of the inputs X and Y. The attribute `axis` is the axis of X where Y's dims begin,
// or -1 if Y has the last dims of X; trailing 1s of Y are ignored. Throws if the types differ or
// the dims do not fit.
inline Broadcast MatchBroadcast(const OpContext& context, const LoDTensor& x, const LoDTensor& y) {
  if (x.dtype() == y.dtype() && x.dims() == y.dims()) return {1, x.numel(), 1};
  return MatchPart(context);
}

// The rule Like for operators that broadcast Y; it also throws if Y does not fit X. All outputs
// have `type`, if it is given.
InferRule LikeBroadcast(std::vector<std::pair<std::string, std::string>> outputs,
                        std::optional<DataType> type = {});

// The attribute `axis`.
AttributeSchema AxisAttr();

// Calls function(i, j) for every value i of X, in order; value j of Y is the one paired with it.
template <typename Function>
void ForEachPair(const Broadcast& broadcast, Function function) {
  int64_t i = 0;
  if (broadcast.inner == 1) {
    for (int64_t o = 0; o < broadcast.outer; ++o, i += broadcast.middle) {
      for (int64_t j = 0; j < broadcast.middle; ++j) function(i + j, j);
    }
    return;
  }
  for (int64_t o = 0; o < broadcast.outer; ++o) {
    for (int64_t j = 0; j < broadcast.middle; ++j, i += broadcast.inner) {
      for (int64_t k = 0; k < broadcast.inner; ++k) function(i + k, j);
    }
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_BROADCAST_H_
