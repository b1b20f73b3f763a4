// SPDX-License-Identifier: Apache-2.0
// create_concat_reader: one reader after another.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/operator.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/reader_variable.h"
#include "readers/combine/concat_reader.h"
#include "readers/lanes/joined_source.h"

namespace millhopper {
namespace {

OpSchema ConcatSchema() {
  return CombinedReaderSchema(
             "Yields all elements of one reader, then all of the next; all have the same slots, "
             "but an axis of -1 (any size) in one of them may have a size in others. Of lanes that "
             "create_shard_reader has shared, equally many in each reader, it is lane by lane: all "
             "of lane v of one reader, then all of lane v of the next.")
      .LaneWise([](const AttributeMap&, bool shared) { return shared; })
      .Infer(InferUnitedSlots);
}

void CreateConcatReader(OpContext& context) {
  const auto make = [](std::vector<std::unique_ptr<ReaderBase>> readers, LaneNumber number) {
    return std::make_unique<ConcatReader>(std::move(readers), number.lanes);
  };
  // Of one stream all of a reader comes before the next one begins.
  if (HaveEqualLanes(context) && ReaderOf(context, "UnderlyingReaders").lane_shape().shared) {
    StoreLaneWise(context, JoinedSource::Elements::kInTurn, make);
  } else {
    StoreReader(context, make(UnderlyingReaders(context), {}));
  }
}

REGISTER_OPERATOR(create_concat_reader, ConcatSchema, CreateConcatReader);

// Programs and positions from before 0.3 call it create_chain_reader.
[[maybe_unused]] const bool registered = RegisterOperatorLookup(
    {[](const std::string& type) {
       return type == "create_chain_reader" ? FindOperator("create_concat_reader") : nullptr;
     },
     [] { return std::vector<std::string>(); }});

}  // namespace
}  // namespace millhopper
