// SPDX-License-Identifier: Apache-2.0
#include "readers/index/cached_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/io/cache/remote_cache.h"

namespace millhopper {
namespace {

// An index that was read from the cache as a whole.
class CachedIndex final : public File {
 public:
  CachedIndex(const std::string& entry, std::string bytes) : File(entry), bytes_(std::move(bytes)) {
    set_size(bytes_.size());
    set_is_view();
  }

 private:
  size_t ReadSome(uint64_t offset, char* out, size_t size) const override {
    if (offset >= bytes_.size()) return 0;
    size = std::min<uint64_t>(size, bytes_.size() - offset);
    std::memcpy(out, bytes_.data() + offset, size);
    return size;
  }

  const std::string bytes_;
};

// The name of the index in the cache: of the file, without what may differ in its path, such as
// signatures.
std::string NameOf(const std::string& path, const std::string& rules) {
  std::string whole;
  if (MayHaveIndex(path)) {
    std::error_code failed;  // then the path is as good as any other
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    whole = (failed ? std::filesystem::path(path) : absolute).lexically_normal().string();
  } else {
    whole = FindUrl(path) < path.size() ? ObjectUrl(path) : path;
  }
  return DigestOf({"index", rules, whole});
}

RemoteCache::Key KeyOf(const File& file, const std::string& rules) {
  const std::string name = NameOf(file.path(), rules);
  return RemoteCache::KeyOf(name, DigestOf({name, file.version()}), 0);
}

}  // namespace

bool MayHaveCachedIndex(const std::string& path, const std::string& rules) {
  const RemoteCache* const cache = RemoteCache::Get();
  return cache != nullptr && cache->HasAny(RemoteCache::NameOf(NameOf(path, rules), 0));
}

std::unique_ptr<const File> FindCachedIndex(const File& file, const std::string& rules) {
  const RemoteCache* const cache = RemoteCache::Get();
  if (cache == nullptr || file.version().empty()) return nullptr;
  const RemoteCache::Key key = KeyOf(file, rules);
  std::optional<std::string> bytes = cache->ReadWhole(key);
  if (!bytes) return nullptr;
  return std::make_unique<CachedIndex>(cache->PathOf(key.name), std::move(*bytes));
}

void CacheIndex(const File& file, const ChunkIndex& index) {
  RemoteCache* const cache = RemoteCache::Get();
  Require(cache != nullptr, "no cache is used");
  const std::string bytes = index.ToBytes();
  if (bytes.size() > RemoteCache::kMostBlockBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("its index has ", bytes.size(), " bytes; the cache keeps ",
                       RemoteCache::kMostBlockBytes, " at most"))
        .InFile(file.path(), -1);
  }
  cache->Write(KeyOf(file, index.rules), bytes.data(), bytes.size());
}

}  // namespace millhopper
