// SPDX-License-Identifier: Apache-2.0
#include "operators/reader_variable.h"

#include "framework/base/error.h"

namespace millhopper {
namespace {

HeldReader Look(const Variable& variable) {
  if (!variable.Holds<ReaderHolder>()) return HeldReader::kNone;
  return variable.Get<ReaderHolder>().has_reader() ? HeldReader::kCreated : HeldReader::kNotCreated;
}

[[maybe_unused]] const bool registered = RegisterReaderVariables(&Look);

}  // namespace

ReaderHolder& ReaderOf(const OpContext& context, std::string_view input) {
  Variable& variable = context.InVar(input);
  if (__builtin_expect(!variable.Holds<ReaderHolder>(), 0)) {
    Require(!variable.has_value(), "input '", input, "': variable '", Escaped(variable.name()),
            "' is no reader");
    Throw(ErrorCode::kInvalidArgument, "input '", input, "': reader '", Escaped(variable.name()),
          "' has not been created: no startup program that does so has run");
  }
  return *variable.GetMutable<ReaderHolder>();
}

}  // namespace millhopper
