// SPDX-License-Identifier: Apache-2.0
// create_chain_reader: one reader after another.
#include "operators/readers/support/reader_creation.h"
#include "readers/combine/chain_reader.h"

namespace millhopper {
namespace {

OpSchema ChainSchema() {
  return CombinedReaderSchema(
             "Yields all elements of one reader, then all of the next; all have the same slots, "
             "but an axis of -1 (any size) in one of them may have a size in others.")
      .Infer(InferUnitedSlots);
}

void CreateChainReader(OpContext& context) {
  StoreReader(context, std::make_unique<ChainReader>(UnderlyingReaders(context)));
}

REGISTER_OPERATOR(create_chain_reader, ChainSchema, CreateChainReader);

}  // namespace
}  // namespace millhopper
