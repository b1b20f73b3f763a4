// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/http_server.h"

#include <arpa/inet.h>
#include <glog/logging.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kSentAtOnce = size_t{64} << 10;
constexpr size_t kSlowBytes = 20;
constexpr std::chrono::milliseconds kSlowPause{2};

}  // namespace

std::string HeaderOf(const std::string& head, const std::string& name) {
  for (size_t line = head.find("\r\n"); line != std::string::npos; line = head.find("\r\n", line)) {
    line += 2;
    if (::strncasecmp(head.c_str() + line, (name + ": ").c_str(), name.size() + 2) != 0) continue;
    const size_t begin = line + name.size() + 2;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  return "";
}

// One connection and the thread that serves it.
class HttpServer::Connection {
 public:
  Connection(int socket, SSL_CTX* tls) : socket_(socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (tls == nullptr) return;
    tls_ = SSL_new(tls);
    SSL_set_fd(tls_, socket);
  }
  ~Connection() {
    if (thread.joinable()) thread.join();
    SSL_free(tls_);
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool Begin() { return tls_ == nullptr || SSL_accept(tls_) == 1; }
  // The next request with all its headers, or "" at the end.
  std::string ReadHead() {
    for (;;) {
      const size_t end = read_.find("\r\n\r\n");
      if (end != std::string::npos) {
        std::string head = read_.substr(0, end + 4);
        read_.erase(0, end + 4);
        return head;
      }
      if (!ReadMore()) return "";
    }
  }
  // The body after a head. Nothing if the client is gone before its end.
  template <typename Pace>
  std::optional<std::string> ReadBody(const std::string& head, const Pace& pace) {
    const std::string length = HeaderOf(head, "Content-Length");
    const size_t size = length.empty() ? 0 : std::stoul(length);
    if (HeaderOf(head, "Expect") == "100-continue") Send("HTTP/1.1 100 Continue\r\n\r\n");
    while (read_.size() < size) {
      const size_t before = read_.size();
      if (!ReadMore()) return std::nullopt;
      pace(read_.size() - before);
    }
    std::string body = read_.substr(0, size);
    read_.erase(0, size);
    return body;
  }
  // False if the client is gone.
  bool Send(const char* bytes, size_t size) {
    while (size > 0) {
      const int sent = tls_ != nullptr
                           ? SSL_write(tls_, bytes, static_cast<int>(size))
                           : static_cast<int>(::send(socket_, bytes, size, MSG_NOSIGNAL));
      if (sent <= 0) return false;
      bytes += sent;
      size -= static_cast<size_t>(sent);
    }
    return true;
  }
  bool Send(const std::string& bytes) { return Send(bytes.data(), bytes.size()); }
  void Shutdown() const { ::shutdown(socket_, SHUT_RDWR); }
  // The client is told that something is wrong, not that this is the end.
  void Reset() {
    const linger now = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    ::close(socket_.exchange(-1));
  }

  std::thread thread;
  bool ended = false;  // guarded by the server's mutex

 private:
  bool ReadMore() {
    char bytes[65536];
    const int got = tls_ != nullptr ? SSL_read(tls_, bytes, sizeof(bytes))
                                    : static_cast<int>(::recv(socket_, bytes, sizeof(bytes), 0));
    if (got > 0) read_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }

  std::atomic<int> socket_;
  SSL* tls_ = nullptr;
  std::string read_;
};

HttpServer::HttpServer(const std::string& certificate, const std::string& key) {
  ::setenv("no_proxy", "127.0.0.1", 1);  // for the clients in this process and in its children
  if (!certificate.empty()) {
    SSL_CTX* const tls = SSL_CTX_new(TLS_server_method());
    CHECK_EQ(SSL_CTX_use_certificate_file(tls, certificate.c_str(), SSL_FILETYPE_PEM), 1);
    CHECK_EQ(SSL_CTX_use_PrivateKey_file(tls, key.c_str(), SSL_FILETYPE_PEM), 1);
    tls_ = tls;
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  CHECK_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  CHECK_EQ(::listen(listener_, 256), 0);
  CHECK_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    for (const auto& connection : connections_) {
      if (!connection->ended) connection->Shutdown();
    }
  }
  Mend();
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  ::close(listener_);
  connections_.clear();
  SSL_CTX_free(static_cast<SSL_CTX*>(tls_));
}

void HttpServer::Put(const std::string& path, std::string content) {
  const std::lock_guard<std::mutex> lock(mutex_);
  objects_[path] = std::make_shared<const std::string>(std::move(content));
}

void HttpServer::Delete(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  objects_.erase(path);
}

std::optional<std::string> HttpServer::Get(const std::string& path) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = objects_.find(path);
  return found == objects_.end() ? std::nullopt : std::optional(*found->second);
}

void HttpServer::Redirect(const std::string& path, const std::string& target) {
  const std::lock_guard<std::mutex> lock(mutex_);
  redirects_[path] = target;
}

void HttpServer::set_judge(Judge judge) {
  const std::lock_guard<std::mutex> lock(mutex_);
  judge_ = std::move(judge);
}

std::string HttpServer::Url(const std::string& path) const {
  return StrCat(tls_ == nullptr ? "http" : "https", "://127.0.0.1:", port_, path);
}

void HttpServer::Break(HttpTrouble trouble, int64_t first, int64_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  trouble_ = trouble;
  first_ = first;
  count_ = count;
  requests_ = 0;
  most_at_once_ = at_once_;
  heads_.clear();
  ++troubles_;
  hit_ = replaced_ = false;
  others_.clear();
}

void HttpServer::set_status(int status, int retry_after) {
  const std::lock_guard<std::mutex> lock(mutex_);
  status_ = status;
  retry_after_ = retry_after;
}

void HttpServer::Mend() {
  const std::lock_guard<std::mutex> lock(mutex_);
  trouble_ = HttpTrouble::kNone;
  replaced_ = false;
  ++troubles_;
  mended_.notify_all();
}

bool HttpServer::hit() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hit_;
}

int64_t HttpServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

size_t HttpServer::most_at_once() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return most_at_once_;
}

size_t HttpServer::at_once() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return at_once_;
}

std::vector<std::string> HttpServer::heads() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return heads_;
}

void HttpServer::set_validators(Validators validators) {
  const std::lock_guard<std::mutex> lock(mutex_);
  validators_ = validators;
}

void HttpServer::set_headers(const std::string& before, const std::string& after) {
  const std::lock_guard<std::mutex> lock(mutex_);
  validators_ = Validators::kNone;
  headers_before_ = before;
  headers_after_ = after;
}

void HttpServer::set_coding(const std::string& coding) {
  const std::lock_guard<std::mutex> lock(mutex_);
  coding_ = coding;
}

void HttpServer::Accept() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closing_ || socket < 0) {
      if (socket >= 0) ::close(socket);
      return;
    }
    connections_.remove_if([](const auto& connection) { return connection->ended; });
    connections_.push_back(std::make_unique<Connection>(socket, static_cast<SSL_CTX*>(tls_)));
    Connection* const connection = connections_.back().get();
    ++accepted_;
    connection->thread = std::thread([this, connection] { Serve(connection); });
  }
}

void HttpServer::Serve(Connection* connection) {
  sigset_t broken_pipe;  // OpenSSL writes to connections that the client has closed
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  if (connection->Begin()) {
    for (std::string head; !(head = connection->ReadHead()).empty();) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++at_once_;
        most_at_once_ = std::max(most_at_once_, at_once_);
      }
      const std::optional<std::string> body =
          connection->ReadBody(head, [this](size_t bytes) { Pace(bytes); });
      const bool stays_open = body && AnswerTo(head, *body, connection);
      const std::lock_guard<std::mutex> lock(mutex_);
      --at_once_;
      if (!stays_open) break;
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  connection->Shutdown();
  connection->ended = true;
}

bool HttpServer::AnswerTo(const std::string& head, const std::string& body,
                          Connection* connection) {
  std::this_thread::sleep_for(std::chrono::milliseconds(latency_.load()));
  const size_t path_begin = head.find(' ') + 1;
  std::string path = head.substr(path_begin, head.find(' ', path_begin) - path_begin);
  path = path.substr(0, path.find('?'));
  HttpTrouble trouble = HttpTrouble::kNone;
  std::shared_ptr<const std::string> object;
  std::string target;
  std::string validator;
  bool ignores_conditions = false;
  int status = 0;
  int retry_after = 0;
  uint64_t troubles = 0;
  std::string coding, headers;
  Judge judge;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    heads_.push_back(head);
    const int64_t request = requests_++;
    if (trouble_ != HttpTrouble::kNone && request >= first_ && request - first_ < count_) {
      trouble = trouble_;
      hit_ = true;
    }
    ignores_conditions = trouble == HttpTrouble::kReplaceSlyly;
    replaced_ = replaced_ || trouble == HttpTrouble::kReplace ||
                trouble == HttpTrouble::kReplaceSlyly || trouble == HttpTrouble::kGrow;
    const auto found = objects_.find(path);
    if (found != objects_.end()) object = found->second;
    if (replaced_ && object != nullptr) object = Other(object);
    if (validators_ == Validators::kETag) validator = replaced_ ? "\"new\"" : "\"old\"";
    if (validators_ == Validators::kWeakETag) validator = replaced_ ? "W/\"new\"" : "W/\"old\"";
    if (validators_ == Validators::kLongETag) {
      validator = StrCat('"', std::string(5000, replaced_ ? 'n' : 'o'), '"');
    }
    if (validators_ == Validators::kDate) {
      validator = replaced_ ? "Thu, 02 Jan 2020 00:00:00 GMT" : "Wed, 01 Jan 2020 00:00:00 GMT";
    }
    headers = replaced_ ? headers_after_ : headers_before_;
    ignores_conditions = ignores_conditions || !headers_before_.empty();
    const auto redirect = redirects_.find(path);
    if (redirect != redirects_.end()) target = redirect->second;
    status = status_;
    retry_after = retry_after_;
    troubles = troubles_;
    coding = coding_;
    judge = judge_;
  }
  const auto refuse = [&](const std::string& line, const std::string& headers = "") {
    const std::string page = "this is not what was asked for";
    return connection->Send(StrCat("HTTP/1.1 ", line, "\r\n", headers,
                                   "Content-Length: ", page.size(), "\r\n\r\n", page));
  };
  if (trouble == HttpTrouble::kSilent) {
    WaitForMend(troubles);
    return false;
  }
  if (trouble == HttpTrouble::kGarbage) {
    connection->Send("what do you want?\r\n\r\n");
    return false;
  }
  if (trouble == HttpTrouble::kStatus) {
    return refuse(StrCat(status, " Trouble"),
                  retry_after < 0 ? "" : StrCat("Retry-After: ", retry_after, "\r\n"));
  }
  if (judge != nullptr) {
    if (const std::optional<HttpAnswer> answer = judge(head, body)) {
      if (trouble == HttpTrouble::kReset) {
        connection->Reset();
        return false;
      }
      return connection->Send(StrCat("HTTP/1.1 ", answer->status, "\r\n", answer->headers,
                                     "Content-Length: ", answer->body.size(), "\r\n\r\n",
                                     answer->body));
    }
  }
  if (!target.empty()) return refuse("302 Found", StrCat("Location: ", target, "\r\n"));
  const std::string method = head.substr(0, head.find(' '));
  if (method == "PUT") Put(path, body);
  if (method == "PUT" && trouble == HttpTrouble::kReset) {
    connection->Reset();
    return false;
  }
  if (method == "PUT") return connection->Send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  if (object == nullptr) return refuse("404 Not Found");
  if (method == "DELETE") {
    Delete(path);
    return connection->Send("HTTP/1.1 204 No Content\r\n\r\n");
  }
  const std::string_view content = *object;
  const std::string wanted = HeaderOf(head, "If-Match");
  const std::string unmodified = HeaderOf(head, "If-Unmodified-Since");
  if (!ignores_conditions && ((!wanted.empty() && wanted != validator) ||
                              (!unmodified.empty() && unmodified != validator))) {
    return refuse("412 Precondition Failed");
  }
  if (!validator.empty()) {
    const bool is_date = validator.find("GMT") != std::string::npos;
    headers += StrCat(is_date ? "Last-Modified: " : "ETag: ", validator, "\r\n");
  }
  if (!coding.empty()) headers += StrCat("Content-Encoding: ", coding, "\r\n");
  const std::string range = HeaderOf(head, "Range");
  if (trouble == HttpTrouble::kChunks) {
    return connection->Send(StrCat("HTTP/1.1 200 OK\r\n", headers,
                                   "Transfer-Encoding: chunked\r\n\r\n", std::hex, content.size(),
                                   "\r\n", content, "\r\n", content.empty() ? "" : "0\r\n\r\n"));
  }
  if (trouble == HttpTrouble::kNoLength) {
    return connection->Send(StrCat("HTTP/1.1 200 OK\r\n", headers, "Connection: close\r\n\r\n")) &&
           SendBody(content, trouble, troubles, connection);
  }
  if (range.empty() || trouble == HttpTrouble::kNoParts || trouble == HttpTrouble::kBrokenWhole) {
    return connection->Send(StrCat("HTTP/1.1 200 OK\r\n", headers,
                                   "Content-Length: ", content.size(), "\r\n\r\n")) &&
           SendBody(content, trouble, troubles, connection);
  }
  unsigned long long first = 0, last = 0;
  CHECK_EQ(std::sscanf(range.c_str(), "bytes=%llu-%llu", &first, &last), 2) << range;
  if (first >= content.size()) {
    return refuse("416 Range Not Satisfiable",
                  StrCat("Content-Range: bytes */", content.size(), "\r\n"));
  }
  last = std::min<unsigned long long>(last, content.size() - 1);
  if (trouble == HttpTrouble::kFewer) last = first + (last - first) / 2;
  if (trouble == HttpTrouble::kOtherPart && first < last) ++first;
  std::string_view part = content.substr(first, last - first + 1);
  std::string longer;
  const uint64_t more = trouble == HttpTrouble::kOtherSize ? 1 : 0;
  if (trouble != HttpTrouble::kNoRange) {
    headers +=
        StrCat("Content-Range: bytes ", first, "-", last, "/", content.size() + more, "\r\n");
  }
  if (trouble == HttpTrouble::kTooMuch) {
    longer = StrCat(part, "and more");
    part = longer;
    headers += "Connection: close\r\n";
  } else if (trouble == HttpTrouble::kOpenEnd) {
    headers += "Connection: close\r\n";
  } else {
    headers += StrCat("Content-Length: ", part.size() + (trouble == HttpTrouble::kTooLong ? 1 : 0),
                      "\r\n");
  }
  return connection->Send(StrCat("HTTP/1.1 206 Partial Content\r\n", headers, "\r\n")) &&
         SendBody(part, trouble, troubles, connection);
}

bool HttpServer::SendBody(std::string_view body, HttpTrouble trouble, uint64_t troubles,
                          Connection* connection) {
  const bool broken = trouble == HttpTrouble::kShortBody || trouble == HttpTrouble::kReset ||
                      trouble == HttpTrouble::kStall || trouble == HttpTrouble::kBrokenWhole;
  const size_t end = broken ? body.size() / 2 : body.size();
  for (size_t sent = 0; sent < end;) {
    const bool slowly = trouble == HttpTrouble::kSlowStart && sent < kSlowBytes;
    if (slowly) std::this_thread::sleep_for(kSlowPause);
    const size_t size = std::min(end - sent, slowly ? 1 : kSentAtOnce);
    Pace(size);
    if (!connection->Send(body.data() + sent, size)) return false;
    sent += size;
    bytes_sent_ += size;
  }
  if (trouble == HttpTrouble::kStall || trouble == HttpTrouble::kOpenEnd) WaitForMend(troubles);
  if (trouble == HttpTrouble::kReset) connection->Reset();
  return !broken && trouble != HttpTrouble::kTooMuch && trouble != HttpTrouble::kTooLong &&
         trouble != HttpTrouble::kNoLength && trouble != HttpTrouble::kOpenEnd;
}

std::shared_ptr<const std::string> HttpServer::Other(
    const std::shared_ptr<const std::string>& object) {
  std::shared_ptr<const std::string>& other = others_[object];
  if (other == nullptr) {
    std::string content = *object;
    for (char& c : content) c = static_cast<char>(~c);
    if (trouble_ == HttpTrouble::kGrow) content += "more";
    other = std::make_shared<const std::string>(std::move(content));
  }
  return other;
}

void HttpServer::WaitForMend(uint64_t troubles) {
  std::unique_lock<std::mutex> lock(mutex_);
  mended_.wait(lock, [&] { return troubles_ != troubles || closing_; });
}

void HttpServer::Pace(size_t bytes) {
  const uint64_t rate = bytes_per_second_.load();
  if (rate == 0) return;
  std::chrono::steady_clock::time_point turn;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    turn = std::max(free_, std::chrono::steady_clock::now());
    free_ = turn + std::chrono::nanoseconds(bytes * 1'000'000'000 / rate);
  }
  std::this_thread::sleep_until(turn);
}

void WriteCertificate(const std::string& certificate, const std::string& key) {
  constexpr unsigned int kBits = 2048;
  constexpr long kSeconds = 3600;
  constexpr long kVersion3 = 2;
  EVP_PKEY* const keys = EVP_RSA_gen(kBits);
  X509* const signed_by_itself = X509_new();
  X509_set_version(signed_by_itself, kVersion3);
  ASN1_INTEGER_set(X509_get_serialNumber(signed_by_itself), 1);
  X509_gmtime_adj(X509_getm_notBefore(signed_by_itself), -kSeconds);
  X509_gmtime_adj(X509_getm_notAfter(signed_by_itself), kSeconds);
  X509_set_pubkey(signed_by_itself, keys);
  X509_NAME* const name = X509_get_subject_name(signed_by_itself);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
  X509_set_issuer_name(signed_by_itself, name);
  X509_EXTENSION* const address =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(signed_by_itself, address, -1);
  X509_EXTENSION_free(address);
  CHECK_GT(X509_sign(signed_by_itself, keys, EVP_sha256()), 0);
  FILE* file = std::fopen(certificate.c_str(), "w");
  CHECK_EQ(PEM_write_X509(file, signed_by_itself), 1);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  CHECK_EQ(PEM_write_PrivateKey(file, keys, nullptr, nullptr, 0, nullptr, nullptr), 1);
  std::fclose(file);
  X509_free(signed_by_itself);
  EVP_PKEY_free(keys);
}

}  // namespace millhopper
