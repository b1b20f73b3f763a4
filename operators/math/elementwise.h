// SPDX-License-Identifier: Apache-2.0
// Operators that compute value by value, from X alone or from X and a Y that may be smaller, and
// the gradients of both kinds.
#ifndef MILLHOPPER_OPERATORS_MATH_ELEMENTWISE_H_
#define MILLHOPPER_OPERATORS_MATH_ELEMENTWISE_H_

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/base/attribute.h"
#include "operators/math/broadcast.h"
#include "operators/support/arguments.h"

namespace millhopper {

// X -> Out.
inline OpSchema UnarySchema(std::string doc) {
  return OpSchema(std::move(doc))
      .Input("X", "any dims")
      .Output("Out", "dims, type and levels of detail of X; may be X")
      .Infer(Like("Out", "X"));
}

// Out = function(X), in the type of X.
template <typename... Ts, typename Function>
void RunUnary(OpContext& context, Types<Ts...> types, Function function) {
  DispatchType(types, context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LoDTensor& input = context.In("X");
    T* out = AllocateLike<T>(input, context.Out("Out"));
    const T* x = input.data<T>();
    const int64_t count = input.numel();
    for (int64_t i = 0; i < count; ++i) out[i] = function(x[i]);
  });
}

// Out, Out@GRAD -> X@GRAD, for activations whose derivative can be computed from their value.
inline OpSchema ActivationGradSchema(const std::string& type) {
  return OpSchema("The gradient of " + type + ".")
      .OptionalInput("X", "not read; accepted for older programs")
      .Input("Out", "what " + type + " wrote")
      .Input("Out@GRAD", "gradient of Out")
      .Output("X@GRAD", "dims, type and levels of detail of Out; may be Out@GRAD")
      .Infer(Like("X@GRAD", "Out"));
}

// X@GRAD = function(Out, Out@GRAD).
template <typename Function>
void RunActivationGrad(OpContext& context, Function function) {
  RequireSameShape(context, "Out@GRAD", "Out");
  DispatchType(FloatTypes(), context, "Out", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LoDTensor& output = context.In("Out");
    T* dx = AllocateLike<T>(output, context.Out("X@GRAD"));
    const T* out = output.data<T>();
    const T* dout = context.In("Out@GRAD").data<T>();
    const int64_t count = output.numel();
    for (int64_t i = 0; i < count; ++i) dx[i] = function(out[i], dout[i]);
  });
}

// X, Y -> Out.
inline OpSchema BinarySchema(std::string doc) {
  return OpSchema(std::move(doc))
      .Input("X", "any dims")
      .Input("Y", "type of X; dims of X or a part of them, see axis")
      .Output("Out", "dims and levels of detail of X; may be X or Y")
      .Attr(AxisAttr())
      .Infer(LikeBroadcast({{"Out", "X"}}));
}

// Out = function(X, Y). The type of Out is the one that the function returns.
template <typename... Ts, typename Function>
void RunBinary(OpContext& context, Types<Ts...> types, Function function) {
  const LoDTensor& x_given = context.In("X");
  const LoDTensor& y_given = context.In("Y");
  const Broadcast broadcast = MatchBroadcast(context, x_given, y_given);
  DispatchType(types, context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Result = decltype(function(T(), T()));
    LoDTensor* output = context.Out("Out");
    const StableInput x_input(x_given, std::is_same_v<Result, T> ? nullptr : output);
    const StableInput y_input(y_given, output);
    Result* out = AllocateLike<Result>(*x_input, output);
    const T* x = x_input->data<T>();
    const T* y = y_input->data<T>();
    ForEachPair(broadcast, [=](int64_t i, int64_t j) { out[i] = function(x[i], y[j]); });
  });
}

// X, Y, Out, Out@GRAD -> X@GRAD, Y@GRAD.
inline OpSchema BinaryGradSchema(const std::string& type) {
  return OpSchema("The gradient of " + type + ".")
      .Input("X", "the X of " + type)
      .Input("Y", "the Y of " + type)
      .OptionalInput("Out", "not read")
      .Input("Out@GRAD", "gradient of Out; dims and type of X")
      .OptionalOutput("X@GRAD", "dims, type and levels of detail of X; may be Out@GRAD")
      .OptionalOutput("Y@GRAD",
                      "dims, type and levels of detail of Y; summed over the values of X "
                      "that each value of Y was paired with")
      .Attr(AxisAttr())
      .Infer(LikeBroadcast({{"X@GRAD", "X"}, {"Y@GRAD", "Y"}}));
}

// X@GRAD = of_x(X, Y, Out@GRAD), and Y@GRAD is the sum of of_y(X, Y, Out@GRAD).
template <typename OfX, typename OfY>
void RunBinaryGrad(OpContext& context, OfX of_x, OfY of_y) {
  const Broadcast broadcast = MatchBroadcast(context, context.In("X"), context.In("Y"));
  RequireSameShape(context, "Out@GRAD", "X");
  DispatchType(FloatTypes(), context, "X", [&](auto tag) {
    using T = typename decltype(tag)::type;
    LoDTensor* dx_output = IsWanted(context, "X@GRAD") ? context.Out("X@GRAD") : nullptr;
    LoDTensor* dy_output = IsWanted(context, "Y@GRAD") ? context.Out("Y@GRAD") : nullptr;
    const StableInput x(context.In("X"), dy_output);
    const StableInput y(context.In("Y"), dx_output, dy_output);
    const StableInput dout(context.In("Out@GRAD"), dy_output);
    if (dy_output != nullptr) {
      T* dy = AllocateLike<T>(*y, dy_output);
      std::fill_n(dy, y->numel(), T(0));
      ForEachPair(broadcast, [dy, of_y, x = x->template data<T>(), y = y->template data<T>(),
                              dout = dout->template data<T>()](int64_t i, int64_t j) {
        dy[j] += of_y(x[i], y[j], dout[i]);
      });
    }
    if (dx_output != nullptr) {
      T* dx = AllocateLike<T>(*x, dx_output);
      ForEachPair(broadcast, [dx, of_x, x = x->template data<T>(), y = y->template data<T>(),
                              dout = dout->template data<T>()](int64_t i, int64_t j) {
        dx[i] = of_x(x[i], y[j], dout[i]);
      });
    }
  });
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_ELEMENTWISE_H_
