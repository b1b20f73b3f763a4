// SPDX-License-Identifier: Apache-2.0
// Mappings that outlive a pass, because to find the pages of a file takes longer than to copy them.
#ifndef MILLHOPPER_FRAMEWORK_IO_MAPPING_CACHE_H_
#define MILLHOPPER_FRAMEWORK_IO_MAPPING_CACHE_H_

#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <string>

#include "framework/base/lane_context.h"
#include "framework/base/ref_counted.h"
#include "framework/io/mapping.h"

namespace millhopper {

// The mappings of one reader's files. One thread at a time.
class MappingCache {
 public:
  // How many are kept in a process. Each has a descriptor, of which many systems allow 1024.
  static constexpr size_t kMost = 64;

  MappingCache() = default;
  ~MappingCache();
  MappingCache(const MappingCache&) = delete;
  MappingCache& operator=(const MappingCache&) = delete;

  // A mapping of an open file: the one that the innermost scope of the calling thread has kept, if
  // it is of this file, unchanged; else a new one, which the scope keeps if there are not too many.
  // Owns the descriptor unless it throws what Mapping's constructor throws.
  static Ref<Mapping> Open(const std::string& path, int descriptor, const struct stat& status);

 private:
  std::map<std::string, Ref<Mapping>> mappings_;  // by path
};

// Within its life, files that the calling thread maps are kept here. Scopes nest.
using MappingCacheScope = LaneScope<&LaneContext::mappings>;

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_MAPPING_CACHE_H_
