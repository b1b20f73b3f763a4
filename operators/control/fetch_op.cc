// SPDX-License-Identifier: Apache-2.0
// fetch: puts one tensor into a list that the host program will look at.
#include <algorithm>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

OpSchema FetchSchema() {
  return OpSchema("Puts a tensor into a list for the caller of the program.")
      .Input("X", "a tensor at any place")
      .Output("Out", "the list, a variable of type FETCH_LIST; grown as needed, on the CPU")
      .AnyKind()
      .Attr(AttributeSchema("col", int32_t{}, "position in the list").Required().AtLeast(0))
      .SideEffects();
}

void Fetch(OpContext& context) {
  auto* list = context.OutVar("Out").GetMutable<std::vector<LoDTensor>>();
  const auto column = static_cast<size_t>(context.Attr<int32_t>("col"));
  list->resize(std::max(list->size(), column + 1));
  (*list)[column] = context.In("X").OnHost();
}

REGISTER_OPERATOR(fetch, FetchSchema, Fetch);

}  // namespace
}  // namespace millhopper
