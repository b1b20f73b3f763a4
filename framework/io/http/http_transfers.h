// SPDX-License-Identifier: Apache-2.0
// Requests to HTTP servers, many under way at once. One thread of the process works on all of them;
// libcurl does HTTP, TLS, proxies and redirects, and keeps connections open for the next request.
// What fails for a moment is tried again, with pauses that grow and differ.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_TRANSFERS_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_TRANSFERS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/io/http/http_access.h"
#include "framework/io/http/http_head.h"
#include "framework/memory/buffer.h"

namespace millhopper {

class RequestCarrier;

// How many requests there are at once, and how patient they are.
struct HttpLimits {
  size_t under_way = 64;                         // requests of the process at once
  std::chrono::milliseconds connecting{10'000};  // to a server
  std::chrono::milliseconds silence{30'000};     // without a byte from the server
  std::chrono::milliseconds in_all{1'800'000};   // for one transfer with all its tries
  std::chrono::milliseconds first_pause{100};    // before the second try; each pause doubles it
  std::chrono::milliseconds longest_pause{10'000};
  int tries = 8;          // in succession that bring no byte
  int opening_tries = 4;  // the same for a request without an object, which opens one

  // How long to wait after so many tries in succession: between half of a pause that grows and all
  // of it, so that many requests that have failed at once do not come back at once.
  std::chrono::milliseconds PauseAfter(int failed) const;

  static const HttpLimits& Get();
  // Call it only while no reader is at work.
  static void Set(const HttpLimits& limits);
};

// What a request does to an object. All but kGet change it.
enum class HttpMethod { kGet, kPut, kPost, kDelete };

// What is asked of a server: a part of an object, or that it changes what it has.
struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  // What is sent with kPut and kPost. It stays as it is until the transfer has ended.
  std::shared_ptr<const std::string> body;
  std::string url;  // or the name of what is asked for, if `access` says where it is
  std::shared_ptr<const HttpAccess> access;  // null: the URL is all that is needed
  // What carries the request in place of libcurl, whatever `access` is (request_carrier.h); or
  // null.
  std::shared_ptr<const RequestCarrier> carrier;
  std::optional<HttpLimits> limits;  // others than HttpLimits::Get()
  uint64_t offset = 0;
  // How many bytes. 0 asks for one, which is not kept.
  size_t size = 0;
  // Where they go; null if size is 0.
  Ref<Buffer> buffer;
  // The object that they must be of. Without one any object is right, and it may have fewer bytes.
  std::optional<HttpObject> object;
  // The whole object is asked for. It may have fewer bytes than `size`, but not more. The answers
  // to kPut, kPost and kDelete are always taken as a whole, and if `size` is 0 they are not kept.
  bool whole = false;
  bool urgent = false;  // before all that wait for their turn and are not
};

// A request on its way. Any thread.
class HttpTransfer {
 public:
  // It lives until it has ended even if the caller releases it. The thread that works on all
  // transfers starts with the first one of the process and ends with the process; a forked child
  // starts its own, and the transfers of its parent never end there. Throws kResourceLimit if no
  // thread can be started, and kCancelled if the process is at its end.
  static std::shared_ptr<const HttpTransfer> Start(HttpRequest request);
  // Ends a transfer that no thread waits for. Its buffer is released soon.
  static void Cancel(std::shared_ptr<const HttpTransfer> transfer);
  // A transfer that has succeeded. Throws as Start and Wait; the transfer has ended then.
  static std::shared_ptr<const HttpTransfer> Run(HttpRequest request);
  virtual ~HttpTransfer() = default;
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  // Waits until the bytes are there, and gets the credentials that they need meanwhile. Throws kIo,
  // kDataLoss or kResourceLimit with the URL and the first byte; or an error that interrupts, and
  // then the transfer may still be under way.
  void Wait() const EXCLUDES(mutex_);

  const HttpRequest& request() const { return request_; }

  // ---- When it has ended: Wait has returned, or thrown an error that does not interrupt. ----

  const HttpObject& object() const { return object_; }
  // How many bytes have come. None come of an object that the server does not give in parts, unless
  // the whole is asked for.
  size_t received() const { return received_; }
  // The status of the server's last answer, such as 404; 0 if there was none.
  long status() const { return status_; }

 protected:
  explicit HttpTransfer(HttpRequest request) : request_(std::move(request)) {
    request_.whole = request_.whole || writes();
  }
  // Whether the request changes what the server has.
  bool writes() const { return request_.method != HttpMethod::kGet; }
  // Whether this is the first request for an object, which is to tell all that the server says of
  // it.
  bool is_probe() const { return !writes() && !request_.object.has_value(); }
  // How many tries in succession may bring no byte.
  int MostTries(const HttpLimits& limits) const {
    return is_probe() ? limits.opening_tries : limits.tries;
  }
  // The error with the URL, and with the first byte if some are read.
  Error Located(const Error& error) const {
    return error.InFile(request_.url, writes() ? -1 : static_cast<int64_t>(request_.offset));
  }
  // Threads that wait call it again and again: it does what the transfer needs and what may take
  // long, such as getting credentials. Throws nothing but an error that interrupts.
  virtual void Attend() const;
  // One of these two is called once, after which nothing here changes.
  void SetEnded(const std::optional<Error>& error) EXCLUDES(mutex_);
  // The error says what was asked for and, if there were several, how many tries there were.
  void SetFailed(ErrorCode code, const std::string& problem, int tries);

  HttpRequest request_;  // only its buffer may change before the end
  std::string host_;     // of the last try
  HttpObject object_;
  size_t received_ = 0;
  long status_ = 0;

 private:
  mutable Mutex mutex_;
  mutable std::condition_variable when_ended_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

// For threads that work on transfers: blocks all signals, which other threads handle, and SIGPIPE,
// which none does. Signals of crashes stay.
void BlockSignals();

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_TRANSFERS_H_
