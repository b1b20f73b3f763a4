// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/s3_judge.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "tests/files/record_files.h"

namespace millhopper {
namespace {

constexpr char kBucket[] = "/bucket/";
constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";
constexpr time_t kMostSkew = 15 * 60;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  }
  return text;
}

std::string Sha256(const std::string& text) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), hash, &size, EVP_sha256(), nullptr);
  return Hex(std::string(reinterpret_cast<char*>(hash), size));
}

std::string Hmac(const std::string& key, const std::string& text) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash, &size);
  return {reinterpret_cast<char*>(hash), size};
}

std::string Decode(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return decoded;
}

std::string Encode(const std::string& text, const std::string& plain) {
  std::ostringstream out;
  out << std::uppercase << std::hex;
  for (const unsigned char c : text) {
    if (::isalnum(c) != 0 || plain.find(static_cast<char>(c)) != std::string::npos) {
      out << c;
    } else {
      out << '%' << static_cast<int>(c) / 16 << static_cast<int>(c) % 16;
    }
  }
  return out.str();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

HttpAnswer Refusal(const std::string& status, const std::string& code,
                   const std::string& more = "") {
  return {status, "Content-Type: application/xml\r\n",
          StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>", code,
                 "</Code><Message>that is ", code, "</Message>", more,
                 "<StringToSign>hidden</StringToSign></Error>")};
}

// What a request asks for.
struct Target {
  std::string method, path, query;
};

Target TargetOf(const std::string& head) {
  const std::vector<std::string> words = Split(head.substr(0, head.find("\r\n")), ' ');
  const size_t question = std::min(words.at(1).find('?'), words.at(1).size());
  return {words[0], words[1].substr(0, question),
          question < words[1].size() ? words[1].substr(question + 1) : ""};
}

// The text after `name` up to a comma or the end.
std::string PartOf(const std::string& text, const std::string& name) {
  const size_t begin = text.find(name);
  if (begin == std::string::npos) return "";
  const std::string part = text.substr(begin + name.size());
  return part.substr(0, part.find(','));
}

// What the store calls a part by.
std::string MarkOf(size_t number, const std::string& bytes) {
  return StrCat('"', number, "-", Sha256(bytes), '"');
}

}  // namespace

std::shared_ptr<S3Judge> S3Judge::For(HttpServer* server) {
  std::shared_ptr<S3Judge> judge(new S3Judge(server));
  server->set_judge([judge](const std::string& head, const std::string& body) {
    return judge->Answer(head, body);
  });
  return judge;
}

void S3Judge::Put(const std::string& key, const std::string& content) {
  server_->Put(kBucket + Encode(key, "-._~/"), content);
  const std::lock_guard<std::mutex> lock(mutex_);
  names_.insert(key);
}

void S3Judge::SetUser(const std::string& key, const std::string& secret, const std::string& token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  old_keys_.insert(key_);
  key_ = key;
  secret_ = secret;
  token_ = token;
}

void S3Judge::set_region(const std::string& region) {
  const std::lock_guard<std::mutex> lock(mutex_);
  region_ = region;
}

void S3Judge::set_page(size_t names) {
  const std::lock_guard<std::mutex> lock(mutex_);
  page_ = names;
}

void S3Judge::set_list(const std::string& document) {
  const std::lock_guard<std::mutex> lock(mutex_);
  list_ = document;
}

void S3Judge::set_least_part(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  least_part_ = bytes;
}

void S3Judge::BreakUploads(int64_t times) {
  const std::lock_guard<std::mutex> lock(mutex_);
  breaks_ = times;
}

void S3Judge::ForgetUploads(int64_t times) {
  const std::lock_guard<std::mutex> lock(mutex_);
  forgets_ = times;
}

size_t S3Judge::open_uploads() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return uploads_.size();
}

std::optional<std::string> S3Judge::Get(const std::string& key) const {
  return server_->Get(kBucket + Encode(key, "-._~/"));
}

int64_t S3Judge::right() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return right_;
}

std::optional<HttpAnswer> S3Judge::Answer(const std::string& head, const std::string& body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::optional<HttpAnswer> wrong = Check(head, body)) return wrong;
  ++right_;
  const Target target = TargetOf(head);
  if (target.path.rfind(kBucket, 0) != 0) return Refusal("404 Not Found", "NoSuchBucket");
  if (target.query.find("list-type=2") != std::string::npos) return List(target.query);
  const std::string key = Decode(target.path.substr(sizeof(kBucket) - 1));
  if (!target.query.empty()) return AnswerParts(target.method, key, target.query, body);
  if (target.method == "PUT") names_.insert(key);
  if (target.method == "DELETE") {
    if (names_.erase(key) == 0) return HttpAnswer{"204 No Content", "", ""};
    return std::nullopt;
  }
  if (names_.count(key) == 0) return Refusal("404 Not Found", "NoSuchKey");
  return std::nullopt;
}

HttpAnswer S3Judge::AnswerParts(const std::string& method, const std::string& key,
                                const std::string& query, const std::string& body) {
  const auto value = [&query](const std::string& name) {
    const std::string part = PartOf('&' + query, '&' + name + '=');
    return Decode(part.substr(0, part.find('&')));
  };
  if (method == "POST" && query == "uploads=") {
    const std::string id = StrCat("an id/+", ++begun_uploads_);
    uploads_[id].key = key;
    return {"200 OK", "",
            StrCat("<InitiateMultipartUploadResult><Bucket>bucket</Bucket><UploadId>", id,
                   "</UploadId></InitiateMultipartUploadResult>")};
  }
  const std::string id = value("uploadId");
  const auto upload = uploads_.find(id);
  if (upload == uploads_.end() || upload->second.key != key) {
    return Refusal("404 Not Found", "NoSuchUpload");
  }
  if (method == "PUT") {
    const size_t number = std::stoul(value("partNumber"));
    upload->second.bytes[number] = body;
    return {"200 OK", StrCat("ETag: ", MarkOf(number, body), "\r\n"), ""};
  }
  if (method == "POST") return PutTogether(id, body);
  uploads_.erase(upload);
  return {"204 No Content", "", ""};
}

HttpAnswer S3Judge::PutTogether(const std::string& id, const std::string& list) {
  const Parts& parts = uploads_[id];
  std::string content, expected;
  for (const auto& [number, bytes] : parts.bytes) {
    const bool is_last = number == parts.bytes.rbegin()->first;
    if (!is_last && bytes.size() < least_part_) return Refusal("400 Bad Request", "EntityTooSmall");
    expected += StrCat("<Part><PartNumber>", number, "</PartNumber><ETag>", MarkOf(number, bytes),
                       "</ETag></Part>");
    content += bytes;
  }
  if (list != StrCat("<CompleteMultipartUpload>", expected, "</CompleteMultipartUpload>")) {
    return Refusal("400 Bad Request", "InvalidPart");
  }
  if (forgets_ > 0) {
    --forgets_;
    uploads_.erase(id);
    return Refusal("404 Not Found", "NoSuchUpload");
  }
  if (breaks_ > 0) {
    --breaks_;
    return Refusal("200 OK", "InternalError");
  }
  server_->Put(kBucket + Encode(parts.key, "-._~/"), content);
  names_.insert(parts.key);
  uploads_.erase(id);
  return {"200 OK", "",
          "<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>"};
}

std::optional<HttpAnswer> S3Judge::Check(const std::string& head, const std::string& body) {
  const std::string authorization = HeaderOf(head, "Authorization");
  if (key_.empty()) {
    if (authorization.empty()) return std::nullopt;
    return Refusal("403 Forbidden", "SignedForNobody");
  }
  if (authorization.empty()) return Refusal("403 Forbidden", "AccessDenied");
  const auto wrong = [](const std::string& what) {
    return Refusal("403 Forbidden", "SignatureDoesNotMatch", what);
  };
  if (authorization.rfind(kAlgorithm, 0) != 0) return wrong("algorithm");
  // Key, date, region, service, "aws4_request".
  const std::vector<std::string> scope = Split(PartOf(authorization, "Credential="), '/');
  const std::string names = PartOf(authorization, "SignedHeaders=");
  const std::string signature = PartOf(authorization, "Signature=");
  const std::string date = HeaderOf(head, "x-amz-date");
  if (scope.size() != 5 || scope[3] != "s3" || scope[4] != "aws4_request") return wrong("scope");
  struct tm time = {};
  if (::strptime(date.c_str(), "%Y%m%dT%H%M%SZ", &time) == nullptr) return wrong("date");
  if (std::abs(::timegm(&time) - ::time(nullptr)) > kMostSkew || date.substr(0, 8) != scope[1]) {
    return Refusal("403 Forbidden", "RequestTimeTooSkewed");
  }
  if (old_keys_.count(scope[0]) > 0 && scope[0] != key_) {
    return Refusal("400 Bad Request", "ExpiredToken");
  }
  if (scope[0] != key_) {
    return Refusal("403 Forbidden", "InvalidAccessKeyId",
                   StrCat("<Message>who is ", scope[0], " with ",
                          HeaderOf(head, "x-amz-security-token"), "?</Message>"));
  }
  if (scope[2] != region_) {
    HttpAnswer answer = Refusal("400 Bad Request", "AuthorizationHeaderMalformed",
                                StrCat("<Region>", region_, "</Region>"));
    answer.headers += StrCat("x-amz-bucket-region: ", region_, "\r\n");
    return answer;
  }
  if (HeaderOf(head, "x-amz-security-token") != token_) {
    return Refusal("403 Forbidden", "InvalidToken");
  }
  const Target target = TargetOf(head);
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const std::string& parameter : Split(target.query, '&')) {
    const size_t equals = parameter.find('=');
    parameters.emplace_back(Encode(Decode(parameter.substr(0, equals)), "-._~"),
                            Encode(Decode(parameter.substr(equals + 1)), "-._~"));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string query;
  for (const auto& [name, value] : parameters) {
    query += StrCat(query.empty() ? "" : "&", name, "=", value);
  }
  const std::vector<std::string> signed_names = Split(names, ';');
  for (const char* const needed :
       {"host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"}) {
    const bool is_there = std::count(signed_names.begin(), signed_names.end(), needed) == 1;
    if (!is_there && !HeaderOf(head, needed).empty()) return wrong(StrCat("no ", needed));
  }
  if (!std::is_sorted(signed_names.begin(), signed_names.end())) return wrong("order");
  std::string headers;
  for (const std::string& name : signed_names) {
    headers += StrCat(name, ":", HeaderOf(head, name), "\n");
  }
  const std::string payload = HeaderOf(head, "x-amz-content-sha256");
  if (payload != Sha256(body) && payload != "UNSIGNED-PAYLOAD") return wrong("payload");
  const std::string request = StrCat(target.method, "\n", Encode(Decode(target.path), "-._~/"),
                                     "\n", query, "\n", headers, "\n", names, "\n", payload);
  const std::string text = StrCat(kAlgorithm, "\n", date, "\n", scope[1], "/", scope[2], "/s3/",
                                  scope[4], "\n", Sha256(request));
  std::string key = "AWS4" + secret_;
  for (size_t i = 1; i < scope.size(); ++i) key = Hmac(key, scope[i]);
  return signature == Hex(Hmac(key, text)) ? std::nullopt : std::optional(wrong("signature"));
}

HttpAnswer S3Judge::List(const std::string& query) const {
  std::map<std::string, std::string> parameters;
  for (const std::string& parameter : Split(query, '&')) {
    const size_t equals = parameter.find('=');
    parameters[parameter.substr(0, equals)] = Decode(parameter.substr(equals + 1));
  }
  if (!list_.empty()) return {"200 OK", "", list_};
  const std::string prefix = parameters["prefix"];
  const std::string delimiter = parameters["delimiter"];
  // Names in their order, and whether each is a prefix of several.
  std::map<std::string, bool> found;
  for (const std::string& name : names_) {
    if (name.rfind(prefix, 0) != 0) continue;
    const size_t end = delimiter.empty() ? delimiter.npos : name.find(delimiter, prefix.size());
    found[name.substr(0, end == name.npos ? end : end + 1)] = end != name.npos;
  }
  size_t most = page_;
  if (!parameters["max-keys"].empty()) most = std::stoul(parameters["max-keys"]);
  // The token is one that must be encoded.
  const std::string token = parameters["continuation-token"];
  const size_t first = token.empty() ? 0 : std::stoul(token.substr(token.find(' ')));
  std::string body;
  size_t number = 0;
  for (const auto& [name, is_prefix] : found) {
    if (number++ < first || number > first + most) continue;
    const std::string shown = Encode(name, "-._/");
    std::string plus = shown;  // a blank is written as AWS does
    for (size_t at = 0; (at = plus.find("%20", at)) != plus.npos;) plus.replace(at, 3, "+");
    body += is_prefix ? StrCat("<CommonPrefixes><Prefix>", plus, "</Prefix></CommonPrefixes>")
                      : StrCat("<Contents><Key>", plus, "</Key><Size>1</Size></Contents>");
  }
  const bool is_truncated = found.size() > first + most;
  return {"200 OK", "Content-Type: application/xml\r\n",
          StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                 "<Name>bucket</Name><EncodingType>url</EncodingType><IsTruncated>",
                 is_truncated ? "true" : "false", "</IsTruncated>", body,
                 is_truncated ? StrCat("<NextContinuationToken>+/ ", first + most,
                                       "</NextContinuationToken>")
                              : "",
                 "</ListBucketResult>")};
}

AwsTestEnvironment::AwsTestEnvironment(const std::string& endpoint)
    : home_(NewFolder("home")),
      home_before_(std::getenv("HOME") == nullptr ? "" : std::getenv("HOME")) {
  Clear();
  ::setenv("HOME", home_.c_str(), 1);
  if (!endpoint.empty()) ::setenv("AWS_ENDPOINT_URL", endpoint.c_str(), 1);
}

AwsTestEnvironment::~AwsTestEnvironment() {
  Clear();
  ::setenv("HOME", home_before_.c_str(), 1);
}

void AwsTestEnvironment::Clear() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (text.rfind("AWS_", 0) == 0) names.push_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

void SetS3User() {
  ::setenv("AWS_ACCESS_KEY_ID", "KEY", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "SECRET/+=", 1);
}

}  // namespace millhopper
