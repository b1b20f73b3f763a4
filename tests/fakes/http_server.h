// SPDX-License-Identifier: Apache-2.0
// An HTTP server on the loopback interface, which fails, stalls and lies when a test says so.
#ifndef MILLHOPPER_TESTS_FAKES_HTTP_SERVER_H_
#define MILLHOPPER_TESTS_FAKES_HTTP_SERVER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace millhopper {

// What goes wrong with a request.
enum class HttpTrouble {
  kNone,
  kStatus,        // the answer is `status`, with Retry-After if `retry_after` is set
  kShortBody,     // the connection is closed in the middle of the body
  kReset,         // the same, by a reset. What a client asks to be done is done; it is not told so
  kSilent,        // nothing is sent until Mend
  kStall,         // nothing more is sent after the middle of the body until Mend
  kSlowStart,     // the first bytes of the body come one by one
  kReplace,       // the objects are replaced by others of the same size
  kReplaceSlyly,  // the same, and the server ignores conditions
  kGrow,          // the same, by longer ones
  kNoParts,       // the whole object is sent
  kBrokenWhole,   // the same, and the connection is closed in the middle of it
  kNoLength,      // the same, and only the end of the connection tells where it ends
  kChunks,        // the same in chunks
  kFewer,         // the answer is the first half of the part that was asked for, and says so
  kOtherPart,     // the answer is another part, and says so
  kNoRange,       // the answer does not say which part it is
  kOtherSize,     // the answer says that the object is longer
  kTooLong,       // the length of the body is said to be more than that of the part
  kOpenEnd,       // the body, of unknown length, does not end until Mend
  kTooMuch,       // the body, of unknown length, continues after the part
  kGarbage,       // the answer is not HTTP
};

// What is sent instead of an object.
struct HttpAnswer {
  std::string status;   // "403 Forbidden"
  std::string headers;  // lines
  std::string body;
};

// Objects by their paths, which clients may also put there and delete. Any thread.
class HttpServer {
 public:
  // Serves https:// with this certificate and key (PEM files) if they are not "".
  explicit HttpServer(const std::string& certificate = "", const std::string& key = "");
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void Put(const std::string& path, std::string content);
  void Delete(const std::string& path);
  // What is there, if it is there.
  std::optional<std::string> Get(const std::string& path) const;
  // Answers requests for `path` by sending the client to `target`, a path or a URL.
  void Redirect(const std::string& path, const std::string& target);
  // Asks `judge` first about each request that is in no trouble of HTTP; objects are for those that
  // it has no answer to. Any thread may call it, several at once.
  using Judge =
      std::function<std::optional<HttpAnswer>(const std::string& head, const std::string& body)>;
  void set_judge(Judge judge);
  // "http://127.0.0.1:40000/a".
  std::string Url(const std::string& path) const;
  int port() const { return port_; }

  // `count` requests from the one with this number on are in trouble; the next request has number
  // 0.
  void Break(HttpTrouble trouble, int64_t first = 0, int64_t count = INT64_MAX);
  void set_status(int status, int retry_after = -1);
  // Ends the trouble and answers all requests that wait. Replaced objects come back.
  void Mend();
  // Whether a request was in trouble.
  bool hit() const;
  // The requests since Break or the beginning, and the most of them at the same time.
  int64_t requests() const;
  size_t most_at_once() const;
  // How many are being answered now.
  size_t at_once() const;
  // The headers of all requests since Break or the beginning, as they came.
  std::vector<std::string> heads() const;
  // How many connections clients have made.
  size_t connections() const { return accepted_; }
  // Bytes of bodies that were sent.
  uint64_t bytes_sent() const { return bytes_sent_; }

  // Without validators, as some servers are; with weak ones; with very long ones.
  enum class Validators { kETag, kWeakETag, kDate, kNone, kLongETag };
  void set_validators(Validators validators);
  // What is said of the objects instead of a validator, before they are replaced and afterwards, as
  // lines of headers. No condition is heeded then.
  void set_headers(const std::string& before, const std::string& after);
  // What is said to be the Content-Encoding of the objects.
  void set_coding(const std::string& coding);
  // Each answer begins that much later, and all bodies together, of requests and of answers, take
  // no more than that many bytes in a second.
  void set_latency(std::chrono::milliseconds latency) { latency_ = latency.count(); }
  void set_bytes_per_second(uint64_t bytes) { bytes_per_second_ = bytes; }

 private:
  class Connection;

  void Accept();
  void Serve(Connection* connection);
  bool AnswerTo(const std::string& head, const std::string& body, Connection* connection);
  // False if the connection cannot be used any more.
  bool SendBody(std::string_view body, HttpTrouble trouble, uint64_t troubles,
                Connection* connection);
  // What replaces an object. The caller holds the mutex.
  std::shared_ptr<const std::string> Other(const std::shared_ptr<const std::string>& object);
  // Waits until there is other trouble than that with this number, or none.
  void WaitForMend(uint64_t troubles);
  void Pace(size_t bytes);

  void* tls_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  std::thread accepting_;

  std::atomic<int64_t> latency_{0};
  std::atomic<uint64_t> bytes_per_second_{0};
  std::atomic<uint64_t> bytes_sent_{0};
  std::atomic<size_t> accepted_{0};

  mutable std::mutex mutex_;  // guards what is below
  std::condition_variable mended_;
  std::map<std::string, std::shared_ptr<const std::string>> objects_;
  std::map<std::shared_ptr<const std::string>, std::shared_ptr<const std::string>> others_;
  std::map<std::string, std::string> redirects_;
  Judge judge_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::vector<std::string> heads_;
  HttpTrouble trouble_ = HttpTrouble::kNone;
  int64_t first_ = 0, count_ = 0, requests_ = 0;
  uint64_t troubles_ = 0;  // how often Break or Mend was called
  bool hit_ = false, replaced_ = false, closing_ = false;
  int status_ = 500, retry_after_ = -1;
  size_t at_once_ = 0, most_at_once_ = 0;
  Validators validators_ = Validators::kETag;
  std::string coding_, headers_before_, headers_after_;
  std::chrono::steady_clock::time_point free_;  // when the link is
};

// The value of a header of a request, or "".
std::string HeaderOf(const std::string& head, const std::string& name);

// A certificate for 127.0.0.1 that it signs itself, and its key, as PEM files.
void WriteCertificate(const std::string& certificate, const std::string& key);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_HTTP_SERVER_H_
