// SPDX-License-Identifier: Apache-2.0
// A cache of remote files on a local disk, which many processes may use at once. It has blocks of
// objects, and what readers have learned of files, each a file with checksums (cached_block.h) in
// one folder (remote_cache_folder.h). Damage to it costs time, never data: what is not whole is
// taken for missing, and what could not be written is read from its server once more.
#ifndef MILLHOPPER_FRAMEWORK_IO_CACHE_REMOTE_CACHE_H_
#define MILLHOPPER_FRAMEWORK_IO_CACHE_REMOTE_CACHE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "framework/base/limits.h"
#include "framework/io/cache/cached_block.h"
#include "framework/io/cache/remote_cache_folder.h"

namespace millhopper {

// What one process has done with its cache.
struct RemoteCacheStats {
  uint64_t reads = 0, read_bytes = 0;       // that the cache has answered
  uint64_t written = 0, written_bytes = 0;  // blocks that it has taken
  uint64_t not_written = 0;                 // blocks that it had no room for or could not write
  uint64_t unfit = 0;                       // entries that were not whole, or of another version
};

// Any thread, also of a forked child.
class RemoteCache {
 public:
  static constexpr uint64_t kDefaultBytes = 64'000'000'000;
  static constexpr size_t kMostBlockBytes = kReadBlockBytes;

  // Which block is asked for. An entry lies under a name that tells the object and the place of the
  // block in it; the digest also tells the version of the object, so that a block of another
  // version takes the place of the one before.
  struct Key {
    RemoteCacheFolder::Name name;
    BlockDigest digest;
  };
  // Of block `number` of what has this name. A version tells the name, too, if another name may
  // have the same.
  static RemoteCacheFolder::Name NameOf(std::string_view name, uint64_t number);
  static Key KeyOf(std::string_view name, std::string_view version, uint64_t number);

  // From now on, files that are opened use the cache in this folder, of at most that many bytes; or
  // none if the folder is "". Throws as RemoteCacheFolder.
  static void Use(const std::string& folder, uint64_t most_bytes = kDefaultBytes);
  // The cache that is used now, or null. It stays to the end of the process.
  static RemoteCache* Get();
  static RemoteCacheStats Stats();

  RemoteCache(const RemoteCache&) = delete;
  RemoteCache& operator=(const RemoteCache&) = delete;

  // Whether there is an entry of this name, whole or not, of this version or another one.
  bool HasAny(const RemoteCacheFolder::Name& name) const;
  // Whether there is an entry of this version, of which a part may be damaged.
  bool Has(const Key& key, size_t block_size) const;
  // Reads bytes of a block that has `block_size` bytes. False if it is not there or not whole, and
  // then the entry is removed and `out` may have any bytes.
  bool Read(const Key& key, size_t block_size, size_t offset, char* out, size_t size) const;
  // All of a block whose size is not known; nothing as for Read.
  std::optional<std::string> ReadWhole(const Key& key) const;
  // The file of an entry, for errors.
  std::string PathOf(const RemoteCacheFolder::Name& name) const { return folder_.PathOf(name); }
  // Whether blocks are kept now. None are for a while after something went wrong.
  bool Takes() const;
  // Keeps a block, of kMostBlockBytes at most, if that is possible.
  void Write(const Key& key, const char* block, size_t size);

 private:
  RemoteCache(const std::string& folder, uint64_t most_bytes, RemoteCache* before)
      : before_(before), folder_(folder, most_bytes) {}
  // Reads of an open entry. If it is not whole, removes it.
  bool ReadFrom(int descriptor, const Key& key, size_t block_size, size_t offset, char* out,
                size_t size) const;
  // Throws kIo. Returns whether the entry is there now.
  bool WriteEntry(const Key& key, const char* block, size_t size);

  static inline std::atomic<RemoteCache*> current{nullptr}, newest{nullptr};

  RemoteCache* const before_;  // files that are open may use it still
  RemoteCacheFolder folder_;
  std::atomic<bool> warned_{false};
  std::atomic<std::chrono::steady_clock::rep> idle_until_{0};  // after something went wrong
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_CACHE_REMOTE_CACHE_H_
