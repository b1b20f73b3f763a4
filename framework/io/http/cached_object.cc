// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/cached_object.h"

#include <curl/curl.h>

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/io/digest.h"
#include "framework/io/http/request_carrier.h"

namespace millhopper {
namespace {

// A date has seconds. An object may be replaced in the second in which it was made.
constexpr time_t kSettledSeconds = 2;

// What has an access is no URL: all of it is the name.
std::string NameOf(const HttpRequest& asked) {
  if (asked.carrier != nullptr) return DigestOf({asked.carrier->Name()});
  if (asked.access == nullptr) return DigestOf({ObjectUrl(asked.url)});
  return DigestOf({asked.url, asked.access->Server()});
}

bool HasVersion(const HttpObject& object, time_t asked_at) {
  const time_t modified = ::curl_getdate(object.modified.c_str(), nullptr);
  const time_t said = ::curl_getdate(object.date.c_str(), nullptr);
  const bool settled = modified >= 0 && modified <= (said >= 0 ? said : asked_at) - kSettledSeconds;
  const bool strong = !object.etag.empty() && object.etag.substr(0, 2) != "W/";
  return settled || (strong && modified < 0);
}

}  // namespace

std::unique_ptr<const CachedObject> CachedObject::Of(const HttpRequest& asked,
                                                     const HttpObject& object, time_t asked_at) {
  RemoteCache* const cache = RemoteCache::Get();
  if (cache == nullptr || !object.has_parts || !HasVersion(object, asked_at)) return nullptr;
  return std::unique_ptr<const CachedObject>(new CachedObject(cache, NameOf(asked), object));
}

bool CachedObject::Knows(const HttpRequest& asked) {
  const RemoteCache* const cache = RemoteCache::Get();
  return cache != nullptr && cache->HasAny(RemoteCache::NameOf(NameOf(asked), 0));
}

CachedObject::CachedObject(RemoteCache* cache, const std::string& name, const HttpObject& object)
    : cache_(cache),
      object_(object),
      name_(name),
      version_(DigestOf({name, object.etag, object.modified, object.coding, object.version,
                         std::to_string(*object.size), std::to_string(kBlockBytes)})) {}

bool CachedObject::Has(uint64_t number) const try {
  return cache_->Has(KeyOf(number), BytesOf(number));
} catch (...) {
  return false;
}

size_t CachedObject::Read(uint64_t offset, char* out, size_t size) const try {
  const uint64_t number = offset / kBlockBytes;
  const size_t begin = offset % kBlockBytes;
  const size_t block_size = BytesOf(number);
  size = std::min(size, block_size - begin);
  return cache_->Read(KeyOf(number), block_size, begin, out, size) ? size : 0;
} catch (...) {
  return 0;
}

void CachedObject::Write(uint64_t number, const HttpTransfer& transfer) const try {
  const size_t size = BytesOf(number);
  if (object_.Differs(transfer.object()) || transfer.received() != size) return;
  cache_->Write(KeyOf(number), transfer.request().buffer->data(), size);
} catch (...) {
  return;
}

RemoteCache::Key CachedObject::KeyOf(uint64_t number) const {
  return RemoteCache::KeyOf(name_, version_, number);
}

size_t CachedObject::BytesOf(uint64_t number) const {
  return std::min<uint64_t>(kBlockBytes, *object_.size - number * kBlockBytes);
}

}  // namespace millhopper
