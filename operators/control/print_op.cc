// SPDX-License-Identifier: Apache-2.0
// print: prints a tensor, one line each time:
//
//   <message> <name>: <dtype> <dims> lod <levels> = {<values>}
//
// for example "pass 1 loss: float32 [1] = {0.693147}". Attributes can leave out each part
// except the values; a tensor without levels of detail is printed without them. Numbers have up to
// 6 significant digits. If a tensor has more than `summarize` values, "... n in all" follows those
// shown.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "framework/tensor/tensor.h"
#include "operators/support/arguments.h"

namespace millhopper {
namespace {

OpSchema PrintSchema() {
  return OpSchema("Prints a tensor on one line of standard output.")
      .Input("In", "a tensor at any place")
      .OptionalOutput("Out", "shares the values of In")
      .Attr({"message", "", "printed first"})
      .Attr(AttributeSchema("first_n", int32_t{-1},
                            "how many times to print in a run, from the first; -1: always")
                .AtLeast(-1))
      .Attr(AttributeSchema("summarize", int32_t{20}, "how many values to print; -1: all")
                .AtLeast(-1))
      .Attr({"print_tensor_name", true, "print the name of the variable"})
      .Attr({"print_tensor_type", true, "print the type of the values"})
      .Attr({"print_tensor_shape", true, "print the dims"})
      .Attr({"print_tensor_lod", true, "print the levels of detail, if there are any"})
      .Attr(AttributeSchema("print_phase", "BOTH",
                            "accepted but ignored: the operator prints where it stands")
                .OneOf({"FORWARD", "BACKWARD", "BOTH"}))
      .Infer(Like("Out", "In"))
      .SideEffects();
}

void PrintValue(const LoDTensor& tensor, int64_t i, std::ostream* out) {
  const void* values = tensor.raw_data();
  switch (tensor.dtype()) {
    case DataType::kBool:
      *out << (static_cast<const bool*>(values)[i] ? "true" : "false");
      return;
    case DataType::kInt8:
      *out << int{static_cast<const int8_t*>(values)[i]};
      return;
    case DataType::kUint8:
      *out << int{static_cast<const uint8_t*>(values)[i]};
      return;
    case DataType::kInt16:
      *out << static_cast<const int16_t*>(values)[i];
      return;
    case DataType::kInt32:
      *out << static_cast<const int32_t*>(values)[i];
      return;
    case DataType::kInt64:
      *out << static_cast<const int64_t*>(values)[i];
      return;
    case DataType::kUint16:
      *out << static_cast<const uint16_t*>(values)[i];
      return;
    case DataType::kUint32:
      *out << static_cast<const uint32_t*>(values)[i];
      return;
    case DataType::kUint64:
      *out << static_cast<const uint64_t*>(values)[i];
      return;
    case DataType::kFp16:
      *out << Fp16ToFloat(static_cast<const uint16_t*>(values)[i]);
      return;
    case DataType::kBf16:
      *out << Bf16ToFloat(static_cast<const uint16_t*>(values)[i]);
      return;
    case DataType::kFp32:
      *out << static_cast<const float*>(values)[i];
      return;
    case DataType::kFp64:
      *out << static_cast<const double*>(values)[i];
      return;
  }
}

std::string Line(const OpContext& context, const LoDTensor& tensor) {
  std::string head = context.Attr<std::string>("message");
  const auto add = [&head](const std::string& part) {
    if (!head.empty()) head += " ";
    head += part;
  };
  const bool type = context.Attr<bool>("print_tensor_type");
  const bool shape = context.Attr<bool>("print_tensor_shape");
  const bool lod = context.Attr<bool>("print_tensor_lod") && !tensor.lod().empty();
  if (context.Attr<bool>("print_tensor_name")) {
    add(context.InVar("In").name() + (type || shape || lod ? ":" : ""));
  }
  if (type) add(ToString(tensor.dtype()));
  if (shape) add(ToString(tensor.dims()));
  if (lod) add("lod " + ToString(tensor.lod()));
  add(head.empty() ? "{" : "= {");

  const int64_t most = context.Attr<int32_t>("summarize");
  const int64_t shown = most < 0 ? tensor.numel() : std::min(most, tensor.numel());
  std::ostringstream line;  // six significant digits are a stream's default
  line.exceptions(std::ios_base::badbit);
  line << head;
  for (int64_t i = 0; i < shown; ++i) {
    if (i > 0) line << ", ";
    PrintValue(tensor, i, &line);
  }
  if (shown < tensor.numel()) {
    line << (shown > 0 ? ", " : "") << "... " << tensor.numel() << " in all";
  }
  line << "}\n";
  return line.str();
}

void Print(OpContext& context) {
  const LoDTensor& tensor = context.In("In");
  const int32_t first_n = context.Attr<int32_t>("first_n");
  if (first_n < 0 || context.run().times[&context.desc()]++ < first_n) {
    std::ostream* const given = context.run().output;
    std::ostream& output = given == nullptr ? std::cout : *given;
    errno = 0;
    if (!(output << Line(context, tensor.OnHost()))) {
      Throw(ErrorCode::kIo,
            "standard output: ", errno == 0 ? "cannot be written" : std::strerror(errno));
    }
  }
  if (context.OutCount("Out") > 0) *context.Out("Out") = tensor;
}

REGISTER_OPERATOR(print, PrintSchema, Print);

}  // namespace
}  // namespace millhopper
