// SPDX-License-Identifier: Apache-2.0
#include "framework/io/mapping_cache.h"

#include <unistd.h>

#include <atomic>

namespace millhopper {
namespace {

std::atomic<size_t> kept_in_process{0};

}  // namespace

Ref<Mapping> MappingCache::Open(const std::string& path, int descriptor,
                                const struct stat& status) {
  MappingCache* const scope = ThisLane().mappings;
  if (scope == nullptr) return Ref<Mapping>(new Mapping(path, descriptor, status));
  std::map<std::string, Ref<Mapping>>& kept = scope->mappings_;
  const auto found = kept.find(path);
  if (found != kept.end()) {
    if (found->second->IsOf(status)) {
      ::close(descriptor);
      return found->second;
    }
    kept.erase(found);
    --kept_in_process;
  }
  Ref<Mapping> mapping(new Mapping(path, descriptor, status));
  if (++kept_in_process <= kMost) {
    kept.emplace(path, mapping);
  } else {
    --kept_in_process;
  }
  return mapping;
}

MappingCache::~MappingCache() { kept_in_process -= mappings_.size(); }

}  // namespace millhopper
