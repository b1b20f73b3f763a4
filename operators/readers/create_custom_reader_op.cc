// SPDX-License-Identifier: Apache-2.0
// create_custom_reader: runs a block of operators on every element of a reader, in parallel.
#include <memory>
#include <utility>
#include <vector>

#include "operators/readers/support/element_block.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/map_reader.h"

namespace millhopper {
namespace {

void Infer(InferContext& context) { context.SetOutVar("Out", {{}, InferSinks(context)}); }

OpSchema CustomReaderSchema() {
  return WithElementBlock(
             DecoratedReaderSchema(
                 "Runs a block on every element of a reader, in parallel and in order."),
             "variables of the block that become the slots of the yielded element; their dims and "
             "types need be declared only where they cannot be inferred from the block")
      .ByElement()
      .Infer(Infer);
}

void CreateCustomReader(OpContext& context) {
  StoreLaneWise(context, [&context](std::unique_ptr<ReaderBase> below, LaneNumber) {
    const auto block = std::make_shared<const ElementBlock>(context, *below);
    return std::make_unique<MapReader>(
        std::move(below), block->sinks(),
        [block](const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out,
                Rows* rows) { block->Run(id, in, out, rows); },
        block->description());
  });
}

REGISTER_OPERATOR(create_custom_reader, CustomReaderSchema, CreateCustomReader);

}  // namespace
}  // namespace millhopper
