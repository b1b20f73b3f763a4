// SPDX-License-Identifier: Apache-2.0
// sum: all inputs added up, value by value.
#include <algorithm>

#include "framework/program/infer_context.h"
#include "framework/program/scope.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema("All inputs added up, value by value, in the order given.")
      .Inputs("X", "at least one, all of the same type and dims")
      .Output("Out", "dims, type and levels of detail of the first X; may be one of them")
      .Infer([](InferContext& context) {
        for (size_t i = 1; i < context.InCount("X"); ++i) context.RequireSameShape("X", "X", i);
        context.SetOut("Out", context.In("X"));
      });
}

void Run(OpContext& context) {
  const size_t terms = context.InCount("X");
  Require(terms > 0, "input 'X' needs at least one argument");
  const LoDTensor& first = context.In("X");
  LoDTensor* output = context.Out("Out");
  LoDTensor before;  // the old values of an X that is also Out
  for (size_t k = 1; k < terms; ++k) {
    const LoDTensor& x = context.In("X", k);
    Require(x.dtype() == first.dtype() && x.dims() == first.dims(), "input 'X' number ", k,
            " (variable '", context.InVar("X", k).name(), "') is ", Describe(x), "; ",
            Describe(first), " is needed, as the first is");
    if (&x == output) before = x;
  }
  DispatchType(NumberTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = AllocateLike<T>(first, output);
    const int64_t count = first.numel();
    if (&first != output) std::copy_n(first.data<T>(), count, out);
    for (size_t k = 1; k < terms; ++k) {
      const LoDTensor& term = context.In("X", k);
      const T* x = (&term == output ? before : term).data<T>();
      for (int64_t i = 0; i < count; ++i) out[i] += x[i];
    }
  });
}

REGISTER_OPERATOR(sum, Schema, Run);

}  // namespace
}  // namespace millhopper
