// SPDX-License-Identifier: Apache-2.0
// What Claim knows of each record of a chunk, for Fetch.
#ifndef MILLHOPPER_READERS_CHUNKS_CLAIMED_LIST_H_
#define MILLHOPPER_READERS_CHUNKS_CLAIMED_LIST_H_

#include <any>

#include "framework/base/ref_counted.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// Claim takes one, fills it, and stores it as Chunk::claimed. Pooled, so that chunk after chunk
// uses the same memory.
template <typename T>
class ClaimedList final : public RefCounted {
 public:
  static Ref<ClaimedList> Take() { return Pool<ClaimedList>::Take(); }
  // The values that Claim has stored so.
  static const PooledVector<T>& Of(const Chunk& chunk) {
    return std::any_cast<const Ref<ClaimedList>&>(chunk.claimed)->values;
  }

  PooledVector<T> values;

 private:
  void Dispose() override {
    Empty(&values);
    Pool<ClaimedList>::Give(this);
  }
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CHUNKS_CLAIMED_LIST_H_
