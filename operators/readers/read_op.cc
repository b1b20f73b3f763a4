// SPDX-License-Identifier: Apache-2.0
// read: reads the next element of a reader into one output for each slot.
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "operators/readers/support/reader_variable.h"

namespace millhopper {
namespace {

OpSchema ReadSchema() {
  return OpSchema("Reads the next element of a reader into one variable for each slot.")
      .Input("Reader", "the top-most reader of a chain")
      .Reader()
      .Outputs("Out", "as many variables as the reader has slots")
      .OptionalOutput("HasData",
                      "bool [1]: false at the end of the pass, where Out stays as it was; "
                      "without HasData the end of the pass is an error")
      .Attr({"throw_eof_exp", true, "must be true; connect HasData to be told of the end"})
      .Attr({"infer_out", true, "accepted but ignored"})
      .Infer(InferRead)
      .SideEffects()
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        Require(attributes.Get<bool>("throw_eof_exp"),
                "attribute 'throw_eof_exp' is false; connect the output HasData instead");
      });
}

void Read(OpContext& context) {
  ReaderHolder& reader = ReaderOf(context, "Reader");
  const size_t slots = reader.slots().size();
  Require(context.OutCount("Out") == slots, reader.origin(), " has ", slots,
          " slots, but slot 'Out' has ", context.OutCount("Out"), " arguments");
  if (context.OutCount("HasData") > 0) {
    const bool has_data = reader.HasNext();
    *context.Out("HasData")->Allocate<bool>({1}) = has_data;
    if (!has_data) return;
  }
  // Kept between reads to save its allocation; it holds no tensor then.
  static thread_local std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  for (size_t i = 0; i < slots; ++i) *context.Out("Out", i) = std::exchange(element[i], {});
}

REGISTER_OPERATOR(read, ReadSchema, Read);

}  // namespace
}  // namespace millhopper
