// SPDX-License-Identifier: Apache-2.0
// create_unbatch_reader: yields the instances of batches.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/unbatch_reader.h"

namespace millhopper {
namespace {

void Infer(InferContext& context) {
  VariableSpec instances = context.InVar("UnderlyingReader");
  for (size_t i = 0; instances.slots && i < instances.slots->size(); ++i) {
    TensorSpec& tensor = (*instances.slots)[i];
    const std::optional<SlotSpec> slot = SlotOf(tensor);
    if (!slot) {
      tensor.dims.reset();
      continue;
    }
    tensor = SpecOf(InstanceSlot(*slot, i, BatchModeOf(context.Attr<std::string>("mode"))));
  }
  context.SetOutVar("Out", std::move(instances));
}

OpSchema UnbatchSchema() {
  return DecoratedReaderSchema(
             "Splits the batches of a reader into instances: single rows, or single sequences "
             "where a slot has levels of detail. An element whose slots have different numbers of "
             "instances is an error.")
      .Attr(AttributeSchema("mode", "concat",
                            "\"concat\": an instance keeps the leading axis, which is 1 or the "
                            "length of its sequence; \"stack\": the leading axis, which a batch of "
                            "this mode has made, is removed")
                .OneOf({"concat", "stack"}))
      .ByElement()
      .Infer(Infer)
      .Composes(Composition::kSameSlots);
}

void CreateUnbatchReader(OpContext& context) {
  const BatchMode mode = BatchModeOf(context.Attr<std::string>("mode"));
  StoreLaneWise(context, [mode](std::unique_ptr<ReaderBase> below, LaneNumber) {
    return std::make_unique<UnbatchReader>(std::move(below), mode);
  });
}

REGISTER_OPERATOR(create_unbatch_reader, UnbatchSchema, CreateUnbatchReader);

}  // namespace
}  // namespace millhopper
