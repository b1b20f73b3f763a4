// SPDX-License-Identifier: Apache-2.0
#include "framework/io/cached_object.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <strings.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/io/request_carrier.h"

namespace millhopper {
namespace {

// A date has seconds. An object may be replaced in the second in which it was made.
constexpr time_t kSettledSeconds = 2;

// The SHA-256 of texts and of where each of them ends.
std::string DigestOf(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += StrCat(text.size(), ":", text);
  std::string digest(sizeof(BlockDigest), '\0');
  if (EVP_Digest(all.data(), all.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                 EVP_sha256(), nullptr) != 1) {
    Throw(ErrorCode::kResourceLimit, "no memory for a digest");
  }
  return digest;
}

// Whether a part of a query is there to sign a request.
bool IsSignature(std::string_view part) {
  constexpr std::string_view kBegins[] = {"X-Amz-", "X-Goog-"};
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view begin) {
    return part.size() >= begin.size() &&
           ::strncasecmp(part.data(), begin.data(), begin.size()) == 0;
  });
}

// A URL without its password, signature and fragment.
std::string WithoutSecrets(std::string_view url) {
  const size_t host = FindUrl(url);
  url = url.substr(0, url.find('#', host));
  const size_t query = std::min(url.find('?', host), url.size());
  const std::string_view server = url.substr(host, url.find_first_of("/?", host) - host);
  std::string name(url.substr(0, query));
  if (const size_t user = server.rfind('@'); user != std::string_view::npos) {
    const size_t password = std::min(server.find(':'), user);
    name.erase(host + password, user - password);
  }
  char mark = '?';
  for (url.remove_prefix(query); !url.empty();) {
    const std::string_view part = url.substr(0, url.find('&', 1));
    if (!IsSignature(part.substr(1))) {
      name += StrCat(mark, part.substr(1));
      mark = '&';
    }
    url.remove_prefix(part.size());
  }
  return name;
}

// What has an access is no URL: all of it is the name.
std::string NameOf(const HttpRequest& asked) {
  if (asked.carrier != nullptr) return DigestOf({asked.carrier->Name()});
  if (asked.access == nullptr) return DigestOf({WithoutSecrets(asked.url)});
  return DigestOf({asked.url, asked.access->Server()});
}

CacheFolder::Name EntryName(const std::string& name, uint64_t number) {
  const std::string digest = DigestOf({name, std::to_string(number)});
  CacheFolder::Name entry;
  std::copy_n(digest.begin(), entry.size(), entry.begin());
  return entry;
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
  FileCache* const cache = FileCache::Get();
  if (cache == nullptr || !object.has_parts || !HasVersion(object, asked_at)) return nullptr;
  return std::unique_ptr<const CachedObject>(new CachedObject(cache, NameOf(asked), object));
}

bool CachedObject::Knows(const HttpRequest& asked) {
  const FileCache* const cache = FileCache::Get();
  return cache != nullptr && cache->HasAny(EntryName(NameOf(asked), 0));
}

CachedObject::CachedObject(FileCache* cache, const std::string& name, const HttpObject& object)
    : cache_(cache),
      object_(object),
      name_(name),
      version_(DigestOf({name, object.etag, object.modified, object.coding,
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
  const HttpObject& said = transfer.object();
  const bool is_this = said.etag == object_.etag && said.modified == object_.modified &&
                       said.coding == object_.coding && said.size == object_.size;
  if (!is_this || transfer.is_mixed() || transfer.received() != size) return;
  cache_->Write(KeyOf(number), transfer.request().buffer->data(), size);
} catch (...) {
  return;
}

FileCache::Key CachedObject::KeyOf(uint64_t number) const {
  FileCache::Key key;
  key.name = EntryName(name_, number);
  const std::string digest = DigestOf({version_, std::to_string(number)});
  std::copy_n(digest.begin(), key.digest.size(), key.digest.begin());
  return key;
}

size_t CachedObject::BytesOf(uint64_t number) const {
  return std::min<uint64_t>(kBlockBytes, *object_.size - number * kBlockBytes);
}

}  // namespace millhopper
