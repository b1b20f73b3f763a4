// SPDX-License-Identifier: Apache-2.0
// create_batch_reader: makes batches.
#include "framework/program/infer_context.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/reader_variable.h"
#include "readers/decorate/batch_reader.h"
#include "readers/lanes/lane_batch_reader.h"
#include "readers/lanes/lanes_reader.h"

namespace millhopper {
namespace {

// How many batches lanes may be ahead of the consumer, if these are small.
constexpr int64_t kLaneDepth = 16;

void InferBatch(InferContext& context) {
  VariableSpec batches = context.InVar("UnderlyingReader");
  if (!batches.slots) return;
  const BatchMode mode = BatchModeOf(context.Attr<std::string>("mode"));
  for (TensorSpec& slot : *batches.slots) {
    if (slot.dims && !slot.dims->empty()) slot.dims = BatchDims(*slot.dims, mode);
  }
  context.SetOutVar("Out", std::move(batches));
}

OpSchema BatchSchema() {
  return DecoratedReaderSchema("Joins every batch_size elements of a reader into one.")
      .Attr(AttributeSchema("batch_size", int32_t{}, "elements in a batch").Required().AtLeast(1))
      .Attr(DiscardLeftoverAttribute("leave out a last batch that is not full"))
      .Attr(AttributeSchema("mode", "concat",
                            "\"concat\" joins elements along axis 0, \"stack\" along a new "
                            "outer axis")
                .OneOf({"concat", "stack"}))
      .Infer(InferBatch)
      .Composes(Composition::kSameSlots);
}

void CreateBatchReader(OpContext& context) {
  const auto size = static_cast<size_t>(context.Attr<int32_t>("batch_size"));
  const auto leftover = context.Attr<bool>("discard_leftover");
  const BatchMode mode = BatchModeOf(context.Attr<std::string>("mode"));
  std::optional<LaneSet> lanes = ReaderOf(context, "UnderlyingReader").TakeLanes();
  if (!lanes) {
    StoreReader(context,
                std::make_unique<BatchReader>(UnderlyingReader(context), size, leftover, mode));
    return;
  }
  const size_t all = lanes->lanes.size() * lanes->ranks;
  const size_t stripe = size % all == 0 ? size / all : 1;
  const size_t own = ShareOfBatch(size, stripe, *lanes);
  StoreReader(context, std::make_unique<LaneBatchReader>(
                           std::make_unique<LanesReader>(*std::move(lanes), stripe),
                           static_cast<int64_t>(own), leftover, mode, kLaneDepth));
}

REGISTER_OPERATOR(create_batch_reader, BatchSchema, CreateBatchReader);

}  // namespace
}  // namespace millhopper
