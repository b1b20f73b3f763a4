// SPDX-License-Identifier: Apache-2.0
// feed: takes one tensor of a list that the host program has filled.
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

OpSchema FeedSchema() {
  return OpSchema("Takes one tensor of a list that the caller of the program has filled.")
      .Input("X", "the list, a variable of type FEED_MINIBATCH")
      .AnyKind()
      .Output("Out", "the tensor; it shares the values")
      .Attr(AttributeSchema("col", int32_t{}, "position in the list").Required().AtLeast(0));
}

void Feed(OpContext& context) {
  const auto& list = context.InVar("X").Get<std::vector<LoDTensor>>();
  const auto column = static_cast<size_t>(context.Attr<int32_t>("col"));
  Require(column < list.size(), "attribute 'col' is ", column, ", but variable '",
          context.InVar("X").name(), "' was fed ", list.size(), " tensors");
  *context.Out("Out") = list[column];
}

REGISTER_OPERATOR(feed, FeedSchema, Feed);

}  // namespace
}  // namespace millhopper
