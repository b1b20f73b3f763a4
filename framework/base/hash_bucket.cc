// SPDX-License-Identifier: Apache-2.0
// Source: XXH64 (https://github.com/Cyan4973/xxHash).
#include "framework/base/hash_bucket.h"

#include <xxhash.h>

namespace millhopper {

uint64_t HashBucket(std::string_view text, uint64_t buckets) {
  return XXH64(text.data(), text.size(), 0) % buckets;
}

}  // namespace millhopper
