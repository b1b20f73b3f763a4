// SPDX-License-Identifier: Apache-2.0
// Chooses code by the type of a tensor, once a call.
#ifndef MILLHOPPER_OPERATORS_TYPE_DISPATCH_H_
#define MILLHOPPER_OPERATORS_TYPE_DISPATCH_H_

#include <string>
#include <string_view>

#include "operators/arguments.h"

namespace millhopper {

// A type as a value, to be passed to a generic lambda.
template <typename T>
struct Tag {
  using type = T;
};

// A list of types of values.
template <typename... Ts>
struct Types {
  // "float32, float64".
  static std::string Names() {
    std::string names;
    ((names += StrCat(names.empty() ? "" : ", ", ToString(DataTypeOf<Ts>()))), ...);
    return names;
  }
  static bool Has(DataType type) { return ((type == DataTypeOf<Ts>()) || ...); }
};

using FloatTypes = Types<float, double>;
using NumberTypes = Types<float, double, int32_t, int64_t>;

// Calls function(Tag<T>()) for the type T of the list that `type` is; false if it is none of them.
template <typename... Ts, typename Function>
bool VisitType(Types<Ts...>, DataType type, Function function) {
  return ((type == DataTypeOf<Ts>() ? (function(Tag<Ts>()), true) : false) || ...);
}

// The same for the type of the input `slot`; throws if it is none of the list.
template <typename... Ts, typename Function>
void DispatchType(Types<Ts...> types, const OpContext& context, std::string_view slot,
                  Function function) {
  const bool found = VisitType(types, context.In(slot).dtype(), function);
  if (__builtin_expect(!found, 0)) {
    ThrowUnfit(
        context, slot,
        StrCat(sizeof...(Ts) > 1 ? "the types taken are " : "the type taken is ", types.Names()));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_TYPE_DISPATCH_H_
