// SPDX-License-Identifier: Apache-2.0
// Text as one of so many numbers.
#ifndef MILLHOPPER_FRAMEWORK_BASE_HASH_BUCKET_H_
#define MILLHOPPER_FRAMEWORK_BASE_HASH_BUCKET_H_

#include <cstdint>
#include <string_view>

namespace millhopper {

// XXH64 of the bytes with seed 0, modulo `buckets`, which is not 0.
uint64_t HashBucket(std::string_view text, uint64_t buckets);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_HASH_BUCKET_H_
