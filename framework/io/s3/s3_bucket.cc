// SPDX-License-Identifier: Apache-2.0
#include "framework/io/s3/s3_bucket.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/own_object.h"
#include "framework/io/s3/s3_xml.h"

namespace millhopper {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr char kFirstRegion[] = "us-east-1";  // its servers tell where a bucket lies
constexpr size_t kMostNameBytes = 255;        // of a bucket
constexpr size_t kMostRegionBytes = 64;
constexpr size_t kMostRegions = 10'000;    // of buckets, that are remembered
constexpr size_t kMostMessageBytes = 300;  // of what a server says
constexpr std::string_view kTokenHeader = "x-amz-security-token: ";

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A region and a bucket are parts of the names of servers.
bool IsRegion(const std::string& text) {
  return !text.empty() && text.size() <= kMostRegionBytes &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLetterOrDigit(c) || c == '-'; });
}

bool IsBucket(const std::string& text) {
  return !text.empty() && text.size() <= kMostNameBytes && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLetterOrDigit(c) || c == '-' || c == '.' || c == '_'; });
}

bool StartsWith(const std::string& text, std::string_view begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

std::string Sha256(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  unsigned char digest[SHA256_DIGEST_LENGTH];
  if (EVP_Digest(bytes.data(), bytes.size(), digest, nullptr, EVP_sha256(), nullptr) != 1) {
    Throw(ErrorCode::kResourceLimit, "no memory for a digest");
  }
  std::string text;
  for (const unsigned char byte : digest) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

// The first of these settings that is set, or "".
std::string FirstOf(const AwsSettings& settings, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    std::string value = ValueOf(settings, name);
    if (!value.empty()) return value;
  }
  return "";
}

// An endpoint without the slash at its end.
std::string Endpoint(std::string text) {
  while (!text.empty() && text.back() == '/') text.pop_back();
  if (text.empty()) return text;
  const bool is_url = (StartsWith(text, "http://") || StartsWith(text, "https://")) &&
                      text.find_first_of("@?# \t\r\n") == std::string::npos;
  Require(
      is_url,
      "AWS_ENDPOINT_URL is no URL such as http://localhost:9000 or https://host, without a user, "
      "a query and blanks");
  return text;
}

// What a server says, without keys and tokens, which it may repeat.
std::string Shown(std::string text, const HttpTicket& ticket) {
  constexpr std::string_view kHidden = "...";
  std::vector<std::string> secrets;
  for (const std::string& header : ticket.headers) {
    if (StartsWith(header, kTokenHeader)) secrets.push_back(header.substr(kTokenHeader.size()));
  }
  secrets.insert(secrets.end(), {ticket.user, ticket.password});
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    std::string shown;
    size_t begin = 0;
    for (size_t at = 0; (at = text.find(secret, begin)) != std::string::npos;) {
      shown.append(text, begin, at - begin).append(kHidden);
      begin = at + secret.size();
    }
    text = shown.append(text, begin);
  }
  return Escaped(text.substr(0, kMostMessageBytes));
}

std::string InWords(const S3Error& error, const HttpTicket& ticket) {
  return StrCat("(", Shown(error.code, ticket), ": ", Shown(error.message, ticket), ")");
}

// The store that was used last.
struct StoreInUse {
  Mutex mutex;
  std::shared_ptr<S3Store> store GUARDED_BY(mutex);
};

// Asks for an object, or for what is in a bucket, or sends one.
class BucketAccess final : public HttpAccess {
 public:
  BucketAccess(const S3Path& path, const std::string& query, std::string_view body)
      : store_(S3Store::Get()),
        hash_(Sha256(body)),
        bucket_(path.bucket),
        behind_bucket_(StrCat("/", S3Encoded(path.key, true), query.empty() ? "" : "?", query)) {}

  std::optional<HttpTicket> Ticket() const override {
    HttpTicket ticket = Unsigned();
    if (store_->anonymous()) return ticket;
    std::optional<S3Credentials> credentials = store_->credentials()->Get();
    if (!credentials) return std::nullopt;
    ticket.headers.push_back(StrCat("x-amz-content-sha256: ", hash_));
    if (!credentials->token.empty()) {
      ticket.headers.push_back(StrCat(kTokenHeader, credentials->token));
    }
    ticket.user = std::move(credentials->key);
    ticket.password = std::move(credentials->secret);
    return ticket;
  }

  void Renew() const override {
    if (!store_->anonymous()) store_->credentials()->Renew();
  }

  std::string Server() const override { return store_->endpoint(); }

  Explanation Explain(const HttpTicket& ticket, const HttpHead& head,
                      const std::string& body) const override {
    const S3Error error = ReadS3Error(body);
    Explanation explanation;
    if (!error.code.empty()) explanation.text = " " + InWords(error, ticket);
    const std::string region = head.region.empty() ? error.region : head.region;
    const bool moved = error.code == "PermanentRedirect" ||
                       error.code == "AuthorizationHeaderMalformed" ||
                       error.code == "IllegalLocationConstraintException";
    if (!region.empty() && (moved || error.code.empty())) {
      store_->SetRegion(bucket_, region);
      const HttpTicket next = Unsigned();
      explanation.passes = next.url != ticket.url || next.scheme != ticket.scheme;
      explanation.text += StrCat("; the bucket lies in region '", Escaped(region), "'");
    }
    if (error.code == "ExpiredToken" || error.code == "InvalidToken" ||
        error.code == "TokenRefreshRequired") {
      explanation.passes = store_->credentials()->Expire(ticket.user);
    }
    if (error.code == "RequestTimeout") explanation.passes = true;
    return explanation;
  }

  std::optional<Explanation> ExplainSuccess(const HttpTicket& ticket,
                                            const std::string& body) const override {
    Explanation explanation;
    explanation.passes = true;
    try {
      ReadServersXml(body, [](const std::string&, const std::string&) {});
    } catch (const Error& wrong) {  // so it is unknown what was done
      explanation.text = StrCat(" then ", wrong.message());
      return explanation;
    }
    const S3Error error = ReadS3Error(body);
    if (error.code.empty()) return std::nullopt;
    explanation.text = StrCat(" then it sent an error ", InWords(error, ticket));
    return explanation;
  }

 private:
  // What does not depend on credentials.
  HttpTicket Unsigned() const {
    HttpTicket ticket;
    ticket.url = store_->UrlOf(bucket_) + behind_bucket_;
    if (!store_->anonymous()) {
      ticket.scheme = StrCat("aws:amz:", store_->RegionOf(bucket_), ":s3");
    }
    return ticket;
  }

  const std::shared_ptr<S3Store> store_;
  const std::string hash_;  // of the body, as the store wants it
  const std::string bucket_, behind_bucket_;
};

}  // namespace

S3Path S3Path::Of(const std::string& path) {
  S3Path result;
  const size_t begin = StartsWith(path, kScheme) ? kScheme.size() : 0;
  const size_t slash = std::min(path.find('/', begin), path.size());
  result.bucket = path.substr(begin, slash - begin);
  result.key = path.substr(std::min(slash + 1, path.size()));
  if (!IsBucket(result.bucket)) {
    throw Error(ErrorCode::kInvalidArgument,
                "it is not written s3://BUCKET/KEY; the name of a bucket has letters, digits, '-', "
                "'.' and '_'")
        .InFile(path, -1);
  }
  return result;
}

S3Path S3Path::OfObject(const std::string& path) {
  S3Path object = Of(path);
  if (!object.key.empty()) return object;
  throw Error(ErrorCode::kInvalidArgument, "the name of a bucket without that of an object")
      .InFile(path, -1);
}

std::string S3Encoded(const std::string& text, bool keep_slashes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = IsLetterOrDigit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
                       (c == '/' && keep_slashes);
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

std::shared_ptr<S3Store> S3Store::Get() {
  const AwsSettings environment = AwsEnvironment();
  StoreInUse& last = OwnObject<StoreInUse>();
  const auto is_for_now = [&]() REQUIRES(last.mutex) {
    return last.store != nullptr && last.store->environment_ == environment;
  };
  {
    const MutexLock lock(&last.mutex);
    if (is_for_now()) return last.store;
  }
  auto store = std::make_shared<S3Store>(environment);
  const MutexLock lock(&last.mutex);
  // Threads that come at once share one store, so that only one of them asks for credentials.
  if (!is_for_now()) last.store = std::move(store);
  return last.store;
}

S3Store::S3Store(AwsSettings environment)
    : environment_(environment),
      anonymous_(IsTrue(environment, "AWS_NO_SIGN_REQUEST")),
      credentials_(std::move(environment)) {
  const AwsSettings profile = AwsProfile(environment_);
  endpoint_ = FirstOf(environment_, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint_.empty()) endpoint_ = ValueOf(profile, "endpoint_url");
  endpoint_ = Endpoint(std::move(endpoint_));
  region_ = FirstOf(environment_, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region_.empty()) region_ = ValueOf(profile, "region");
  if (region_.empty()) region_ = kFirstRegion;
  Require(IsRegion(region_), "AWS_REGION is '", Escaped(region_), "', which is no region");
}

std::string S3Store::RegionOf(const std::string& bucket) const {
  const MutexLock lock(&mutex_);
  const auto found = regions_.find(bucket);
  return found == regions_.end() ? region_ : found->second;
}

void S3Store::SetRegion(const std::string& bucket, const std::string& region) {
  if (!IsRegion(region)) return;
  const MutexLock lock(&mutex_);
  if (regions_.size() >= kMostRegions) regions_.clear();
  regions_[bucket] = region;
}

std::string S3Store::UrlOf(const std::string& bucket) const {
  if (!endpoint_.empty()) return StrCat(endpoint_, "/", bucket);
  const std::string region = RegionOf(bucket);
  const std::string host =
      StrCat("s3.", region, ".amazonaws.com", StartsWith(region, "cn-") ? ".cn" : "");
  // A certificate is for one name in front of the host's, without capital letters and dots.
  const bool is_name =
      bucket.find_first_of("._") == std::string::npos &&
      std::none_of(bucket.begin(), bucket.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_name ? StrCat("https://", bucket, ".", host) : StrCat("https://", host, "/", bucket);
}

HttpRequest S3Request(const std::string& shown, const S3Path& path, const std::string& query,
                      std::shared_ptr<const std::string> body) {
  HttpRequest request;
  request.url = shown;
  try {
    request.access = std::make_shared<BucketAccess>(
        path, query, body == nullptr ? std::string_view() : std::string_view(*body));
    request.body = std::move(body);
  } catch (const Error& error) {
    throw error.InFile(shown, -1);
  }
  return request;
}

}  // namespace millhopper
