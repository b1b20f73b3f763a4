// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/reader_variable.h"

#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "framework/program/scope.h"
#include "framework/tensor/rows.h"

namespace millhopper {
namespace {

HeldReader Look(const Variable& variable) {
  if (!variable.Holds<ReaderHolder>()) return HeldReader::kNone;
  return variable.Get<ReaderHolder>().has_reader() ? HeldReader::kCreated : HeldReader::kNotCreated;
}

const std::vector<SlotSpec>& Slots(const Variable& variable) {
  return variable.Get<ReaderHolder>().slots();
}

[[maybe_unused]] const bool registered = RegisterReaderVariables(&Look, &Slots);

}  // namespace

void InferRead(InferContext& context) {
  context.SetOut("HasData", {DataType::kBool, Dims{1}, 0});
  const std::optional<std::vector<TensorSpec>>& slots = context.InVar("Reader").slots;
  if (!slots) return;
  Require(context.OutCount("Out") == slots->size(), "reader '", Escaped(context.InName("Reader")),
          "' has ", slots->size(), " slots, but slot 'Out' has ", context.OutCount("Out"),
          " arguments");
  for (size_t i = 0; i < slots->size(); ++i) context.SetOut("Out", (*slots)[i], i);
  if (context.OutCount("HasData") > 0) context.SetMayStay("Out");  // at the end of a pass
}

ReaderHolder& ReaderOf(const OpContext& context, std::string_view input, size_t i) {
  Variable& variable = context.InVar(input, i);
  if (__builtin_expect(!variable.Holds<ReaderHolder>(), 0)) {
    Require(!variable.has_value(), "input '", input, "': variable '", Escaped(variable.name()),
            "' is no reader");
    Throw(ErrorCode::kInvalidArgument, "input '", input, "': reader '", Escaped(variable.name()),
          "' has not been created: no startup program that creates it has run");
  }
  return *variable.GetMutable<ReaderHolder>();
}

ReaderHolder::ReadersByName ReadersOf(const OpContext& context, std::string_view input) {
  ReaderHolder::ReadersByName readers;
  for (size_t i = 0; i < context.InCount(input); ++i) {
    readers.insert_or_assign(context.InVar(input, i).name(), &ReaderOf(context, input, i));
  }
  return readers;
}

}  // namespace millhopper
