// SPDX-License-Identifier: Apache-2.0
// create_concat_reader: one reader after another.
#include <memory>
#include <string>
#include <vector>

#include "framework/program/operator.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/combine/concat_reader.h"

namespace millhopper {
namespace {

OpSchema ConcatSchema() {
  return CombinedReaderSchema(
             "Yields all elements of one reader, then all of the next; all have the same slots, "
             "but an axis of -1 (any size) in one of them may have a size in others.")
      .Infer(InferUnitedSlots);
}

void CreateConcatReader(OpContext& context) {
  StoreReader(context, std::make_unique<ConcatReader>(UnderlyingReaders(context)));
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
