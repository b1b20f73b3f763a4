// SPDX-License-Identifier: Apache-2.0
// create_cache_reader: keeps elements in memory for later passes.
#include "operators/reader_creation.h"
#include "readers/cache_reader.h"

namespace millhopper {
namespace {

OpSchema CacheSchema() {
  return DecoratedReaderSchema(
             "Keeps the first elements of a pass in memory, and yields them from there in later "
             "passes. The others are read again. Every pass is pass 0 of the reader below, which "
             "no other reader may read: put readers that shuffle above it.")
      .Attr(AttributeSchema("memory_bytes", int64_t{}, "memory for elements").Required().AtLeast(0))
      .Infer(InferSameSlots);
}

void CreateCacheReader(OpContext& context) {
  StoreReader(context, std::make_unique<CacheReader>(UnderlyingReader(context),
                                                     context.Attr<int64_t>("memory_bytes")));
}

REGISTER_OPERATOR(create_cache_reader, CacheSchema, CreateCacheReader);

}  // namespace
}  // namespace millhopper
