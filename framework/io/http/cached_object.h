// SPDX-License-Identifier: Apache-2.0
// The blocks of one version of a remote object in the cache of the process.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_CACHED_OBJECT_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_CACHED_OBJECT_H_

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>

#include "framework/base/limits.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/io/http/http_head.h"
#include "framework/io/http/http_transfers.h"

namespace millhopper {

// An object is told by its URL without what is secret there: a password, and what signs a request
// (X-Amz-..., X-Goog-...). Other parts of a query may say which object it is. They are part of a
// digest (SHA-256), which does not reveal them. Its version is what the server says: the ETag,
// date, size, coding and the version that a store names. Any thread.
class CachedObject {
 public:
  static constexpr size_t kBlockBytes = kReadBlockBytes;

  // Null if no cache is used, or if the server does not tell versions of the object apart: by a
  // date that was over when it was asked for the object, or by a strong ETag without a date. Beside
  // a date that was not over, an ETag is not enough: some servers make it of the date. When the
  // server was asked is told by its own clock, or by `asked_at` if it does not say its time.
  static std::unique_ptr<const CachedObject> Of(const HttpRequest& asked, const HttpObject& object,
                                                time_t asked_at);
  // Whether the cache has the beginning of some version of the object.
  static bool Knows(const HttpRequest& asked);

  // A digest of which object it is, and of its version.
  const std::string& version() const { return version_; }

  // Failures of the cache, such as a lack of memory, are no errors here: what is asked for is then
  // not there, and what should be kept is not.
  bool Has(uint64_t number) const;
  // Whether whole blocks are worth asking for, because they would be kept.
  bool Takes() const { return cache_->Takes(); }
  // Reads 1 to `size` bytes of the block that has the byte at `offset`. Returns 0 if it is not
  // there.
  size_t Read(uint64_t offset, char* out, size_t size) const;
  // Keeps a block that has come from the server: the first one or all bytes of the request.
  void Write(uint64_t number, const HttpTransfer& transfer) const;

 private:
  CachedObject(RemoteCache* cache, const std::string& name, const HttpObject& object);
  RemoteCache::Key KeyOf(uint64_t number) const;
  size_t BytesOf(uint64_t number) const;

  RemoteCache* const cache_;
  const HttpObject object_;
  const std::string name_;  // a digest
  const std::string version_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_CACHED_OBJECT_H_
