// SPDX-License-Identifier: Apache-2.0
#include "framework/io/s3/s3_credentials.h"

#include <strings.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/url.h"
#include "framework/io/counted_reads.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_transfers.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostAnswerBytes = size_t{64} << 10;  // of a server of credentials
constexpr size_t kMostValueBytes = size_t{16} << 10;   // of a key, a secret or a token
// The SDKs ask for others that long before the end; the servers have new ones by then.
constexpr std::chrono::minutes kBeforeEnd{10};
constexpr std::chrono::seconds kBetweenRenewals{60};
constexpr std::chrono::seconds kFailureStands{1};
// A request may begin with credentials that have this much time left.
constexpr std::chrono::seconds kLeastTime{1};
// These servers are on the same machine, or not there at all.
constexpr milliseconds kConnecting{1000}, kSilence{2000}, kInAll{10'000};
constexpr int kTries = 3;

constexpr char kContainerHost[] = "http://169.254.170.2";
constexpr char kInstanceHost[] = "http://169.254.169.254";
constexpr char kRoles[] = "/latest/meta-data/iam/security-credentials/";
constexpr char kTokenHeader[] = "X-aws-ec2-metadata-token";
constexpr int kTokenSeconds = 6 * 3600;

// A request to a server of credentials.
class CredentialsAccess final : public HttpAccess {
 public:
  explicit CredentialsAccess(HttpTicket ticket) : ticket_(std::move(ticket)) {
    ticket_.direct = true;
  }
  std::optional<HttpTicket> Ticket() const override { return ticket_; }
  // What it answers may hold secrets.
  Explanation Explain(const HttpTicket&, const HttpHead&, const std::string&) const override {
    return {};
  }

 private:
  HttpTicket ticket_;
};

std::string Fetch(HttpTicket ticket, HttpMethod method = HttpMethod::kGet) {
  HttpRequest request;
  request.method = method;
  // Errors name the server alone: the path is enough to get the credentials.
  request.url = ticket.url.substr(0, ticket.url.find_first_of("/?#", FindUrl(ticket.url)));
  request.access = std::make_shared<CredentialsAccess>(std::move(ticket));
  HttpLimits limits = HttpLimits::Get();
  limits.connecting = std::min(limits.connecting, kConnecting);
  limits.silence = std::min(limits.silence, kSilence);
  limits.in_all = std::min(limits.in_all, kInAll);
  limits.opening_tries = std::min(limits.opening_tries, kTries);
  limits.tries = std::min(limits.tries, kTries);
  request.limits = limits;
  request.size = kMostAnswerBytes;
  request.buffer = BufferPool::At(Place()).Take(request.size);
  request.whole = true;
  request.urgent = true;
  const auto transfer = HttpTransfer::Run(std::move(request));
  return {transfer->request().buffer->data(), transfer->received()};
}

// Of printable characters, so that it can stand in a header.
void CheckValue(const std::string& value, const char* what) {
  const bool is_right =
      value.size() <= kMostValueBytes &&
      std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c <= '~'; });
  Require(is_right, "the ", what,
          " has a blank or a character that is not printable, or is too long");
}

S3Credentials Checked(S3Credentials credentials) {
  CheckValue(credentials.key, "access key");
  CheckValue(credentials.secret, "secret key");
  CheckValue(credentials.token, "session token");
  return credentials;
}

// "2030-01-01T00:00:00Z", and parts of a second are left out.
std::chrono::system_clock::time_point TimeIn(const std::string& text) {
  struct tm parts = {};
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) {
    Throw(ErrorCode::kIo, "the server of credentials does not say when they expire");
  }
  // Clocks count nanoseconds in 64 bits, which end in 2262.
  constexpr time_t kLatest = time_t{200} * 365 * 24 * 3600;
  return std::chrono::system_clock::from_time_t(std::clamp<time_t>(::timegm(&parts), 0, kLatest));
}

S3Credentials FromJson(const std::string& answer) {
  const nlohmann::json json = nlohmann::json::parse(answer, nullptr, false);
  const auto value = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!json.is_object()) {
    Throw(ErrorCode::kIo, "what the server of credentials sends is no JSON object");
  }
  S3Credentials credentials;
  credentials.key = value("AccessKeyId");
  credentials.secret = value("SecretAccessKey");
  credentials.token = value("Token");
  if (credentials.key.empty() || credentials.secret.empty()) {
    const std::string code = value("Code");
    Throw(ErrorCode::kIo, "the server of credentials sends none",
          code.empty() ? "" : StrCat(" (", Escaped(code.substr(0, 100)), ")"));
  }
  const std::string expiration = value("Expiration");
  if (!expiration.empty()) credentials.expires = TimeIn(expiration);
  return credentials;
}

// Tokens are sent by https, or to addresses that no other machine can have.
void CheckContainerUrl(const std::string& url) {
  constexpr std::string_view kHttps = "https://", kHttp = "http://";
  if (url.substr(0, kHttps.size()) == kHttps) return;
  std::string host = url.substr(0, kHttp.size()) == kHttp ? url.substr(kHttp.size()) : "";
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.find('@') != std::string::npos) host.clear();  // what is before it is a user
  host = host.substr(0, host[0] == '[' ? host.find(']') + 1 : host.find(':'));
  const auto is_number = [&host] {
    return host.find_first_not_of("0123456789.") == std::string::npos;
  };
  const bool is_near = host == "localhost" || host == "[::1]" || host == "169.254.170.2" ||
                       host == "169.254.170.23" || host == "[fd00:ec2::23]" ||
                       (host.substr(0, 4) == "127." && is_number());
  Require(is_near,
          "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor an address of this machine");
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

std::string ReadToken(const std::string& path) {
  const CountedReads uncounted(nullptr);
  const std::unique_ptr<const File> file = FileSystemOf("").Open(path);
  std::string token(std::min<uint64_t>(file->size(), kMostValueBytes + 1), '\0');
  file->Read(0, token.data(), token.size());
  token = FirstLine(token);
  Require(token.size() <= kMostValueBytes, "the container's authorization token is too long");
  return token;
}

S3Credentials FromContainer(const AwsSettings& environment) {
  HttpTicket ticket;
  const std::string path = ValueOf(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!path.empty()) {
    Require(path[0] == '/', "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with '/'");
    ticket.url = kContainerHost + path;
  } else {
    ticket.url = ValueOf(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    CheckContainerUrl(ticket.url);
  }
  const std::string file = ValueOf(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  std::string token = ValueOf(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (!file.empty()) token = ReadToken(file);
  if (!token.empty()) {
    Require(token.find_first_of("\r\n") == std::string::npos,
            "the container's authorization token has more than one line");
    ticket.headers.push_back("Authorization: " + token);
  }
  return FromJson(Fetch(std::move(ticket)));
}

S3Credentials FromInstance(const AwsSettings& environment) {
  std::string host = ValueOf(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (host.empty()) host = kInstanceHost;
  while (!host.empty() && host.back() == '/') host.pop_back();
  HttpTicket ticket;
  ticket.url = host + "/latest/api/token";
  ticket.headers.push_back(StrCat(kTokenHeader, "-ttl-seconds: ", kTokenSeconds));
  const std::string token = FirstLine(Fetch(std::move(ticket), HttpMethod::kPut));
  CheckValue(token, "token of the instance's server");
  const auto get = [&](const std::string& path) {
    HttpTicket next;
    next.url = host + path;
    next.headers.push_back(StrCat(kTokenHeader, ": ", token));
    return Fetch(std::move(next));
  };
  const std::string role = FirstLine(get(kRoles));
  const bool is_name = !role.empty() && std::all_of(role.begin(), role.end(), [](char c) {
    return c > ' ' && c <= '~' && std::strchr("/?#%\\", c) == nullptr;
  });
  if (!is_name) Throw(ErrorCode::kIo, "the instance has no role");
  return FromJson(get(kRoles + role));
}

// For such a profile SDKs do more than read credentials.
void CheckProfile(const AwsSettings& profile) {
  for (const char* const name : {"role_arn", "sso_session", "sso_start_url", "sso_account_id"}) {
    Require(profile.count(std::string_view(name)) == 0, "the profile has '", name,
            "', which is not supported; give its credentials in the environment (aws configure "
            "export-credentials --format env)");
  }
}

}  // namespace

S3Credentials FindS3Credentials(const AwsSettings& environment) {
  S3Credentials credentials;
  credentials.key = ValueOf(environment, "AWS_ACCESS_KEY_ID");
  credentials.secret = ValueOf(environment, "AWS_SECRET_ACCESS_KEY");
  credentials.token = ValueOf(environment, "AWS_SESSION_TOKEN");
  if (!credentials.key.empty() && !credentials.secret.empty()) return Checked(credentials);
  Require(credentials.key.empty() && credentials.secret.empty(),
          "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, one is set and the other is not");
  const AwsSettings profile = AwsProfile(environment);
  CheckProfile(profile);
  Require(environment.count(std::string_view("AWS_WEB_IDENTITY_TOKEN_FILE")) == 0,
          "AWS_WEB_IDENTITY_TOKEN_FILE is set, which is not supported; give credentials in the "
          "environment (aws configure export-credentials --format env)");
  credentials.key = ValueOf(profile, "aws_access_key_id");
  credentials.secret = ValueOf(profile, "aws_secret_access_key");
  credentials.token = ValueOf(profile, "aws_session_token");
  if (!credentials.key.empty() && !credentials.secret.empty()) return Checked(credentials);
  Require(credentials.key.empty() && credentials.secret.empty(),
          "of aws_access_key_id and aws_secret_access_key, the profile has one and not the other");
  Require(profile.count(std::string_view("credential_process")) == 0,
          "the profile has 'credential_process', which is not supported; give its credentials in "
          "the environment (aws configure export-credentials --format env)");
  if (environment.count(std::string_view("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) > 0 ||
      environment.count(std::string_view("AWS_CONTAINER_CREDENTIALS_FULL_URI")) > 0) {
    return Checked(FromContainer(environment));
  }
  constexpr char kAdvice[] =
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or "
      "AWS_NO_SIGN_REQUEST=true "
      "for what everybody may read";
  if (IsTrue(environment, "AWS_EC2_METADATA_DISABLED")) {
    Throw(ErrorCode::kIo, "there are no credentials: ", kAdvice);
  }
  try {
    return Checked(FromInstance(environment));
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    Throw(error.code(),
          "there are no credentials in the environment, a profile or the instance's metadata (",
          error.message(), "); ", kAdvice);
  }
}

std::optional<S3Credentials> S3CredentialStore::Get() const {
  const MutexLock lock(&mutex_);
  if (IsUsable()) return credentials_;
  if (failure_ && Clock::now() < tried_ + kFailureStands) throw Error(*failure_);
  return std::nullopt;
}

void S3CredentialStore::Renew() {
  {
    const MutexLock lock(&mutex_);
    if (!WantsOthers()) return;
  }
  if (!renewing_.TryLock()) return;
  const MutexLock renewing(&renewing_, std::adopt_lock);
  {
    const MutexLock lock(&mutex_);
    if (!WantsOthers()) return;
  }
  std::optional<S3Credentials> found;
  std::optional<Error> failure;
  try {
    found = FindS3Credentials(environment_);
    if (found->expires && *found->expires <= std::chrono::system_clock::now() + kLeastTime) {
      Throw(ErrorCode::kIo, "the credentials that were found have expired");
    }
  } catch (...) {
    failure = CurrentError();
    if (failure->interrupts()) throw Error(*failure);
  }
  const MutexLock lock(&mutex_);
  tried_ = Clock::now();
  failure_ = failure;
  if (!found) return;
  credentials_ = std::move(found);
  refused_ = false;
}

bool S3CredentialStore::Expire(const std::string& key) {
  if (ValueOf(environment_, "AWS_ACCESS_KEY_ID") == key) return false;
  const MutexLock lock(&mutex_);
  if (!credentials_ || credentials_->key != key) return true;
  if (credentials_->token.empty()) return false;
  refused_ = true;
  return true;
}

bool S3CredentialStore::IsUsable() const {
  if (!credentials_ || refused_) return false;
  return !credentials_->expires ||
         std::chrono::system_clock::now() + kLeastTime < *credentials_->expires;
}

bool S3CredentialStore::WantsOthers() const {
  if (!IsUsable()) return !failure_ || Clock::now() >= tried_ + kFailureStands;
  return credentials_->expires &&
         std::chrono::system_clock::now() + kBeforeEnd >= *credentials_->expires &&
         Clock::now() >= tried_ + kBetweenRenewals;
}

}  // namespace millhopper
