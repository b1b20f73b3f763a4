// SPDX-License-Identifier: Apache-2.0
// One request with all its tries: what is sent, what the answers are worth, and when it is tried
// again.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_TASK_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_TASK_H_

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/http/http_head.h"
#include "framework/io/http/http_transfers.h"

namespace millhopper {

// A transfer as the thread of all transfers sees it. Only this thread calls what is here.
class HttpTask final : public HttpTransfer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HttpTask(HttpRequest request)
      : HttpTransfer(std::move(request)), limits_(request_.limits.value_or(HttpLimits::Get())) {}

  const HttpLimits& limits() const { return limits_; }
  CURL* curl() const { return curl_.get(); }
  Clock::time_point due() const { return due_; }
  // When the server has been silent, or the whole transfer has taken, too long.
  Clock::time_point patience() const { return std::min(last_sign_ + limits_.silence, *deadline_); }

  // Begins the next try. False if it lacks credentials and is to begin a little later.
  bool Try();
  // Takes the result of a try. Returns whether there is another one.
  bool Settle(CURLcode result);
  // The same for a try that takes too long.
  bool GiveUp(Clock::time_point now);
  void Fail(const Error& error);
  // Frees the handle, which must no longer be in use by curl.
  void FreeHandle() {
    CountTry();
    curl_.reset();
  }

 private:
  struct CloseEasy {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  // What has gone wrong, and whether the next try may do better.
  struct Failure {
    ErrorCode code = ErrorCode::kIo;
    std::string problem;
    bool passes = false;
    std::chrono::milliseconds at_least{0};  // to wait
  };
  enum class Judgement {
    kNone,     // no answer yet
    kTaken,    // the body is what was asked for
    kEnough,   // the headers have said all
    kRefused,  // the answer is of no use
  };
  static constexpr char kUserAgent[] = "millhopper";

  // The first and the last byte that are still to come.
  uint64_t first() const { return request_.offset + received_; }
  uint64_t last() const { return request_.offset + std::max<uint64_t>(request_.size, 1) - 1; }

  bool IsComplete() const;
  // The object that the answer must be of, or null.
  const HttpObject* expected() const;
  template <typename Value>
  void Set(CURLoption option, Value value);
  void SetAccess();
  void SetMethod();
  void SetHeaders();
  // Any other number than `size` ends the try.
  static size_t OnHeader(char* bytes, size_t, size_t size, void* task);
  static size_t OnBody(char* bytes, size_t, size_t size, void* task);
  static int OnProgress(void* task, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent);
  // False ends the try.
  bool TakeBody(const char* bytes, size_t size);
  std::string Said() const { return StrCat("the server said '", Escaped(head_.status_line), "'"); }

  void Refuse(ErrorCode code, const std::string& problem);
  void RefuseStatus();
  // Decides by the headers what the answer is worth.
  void Judge();
  void JudgePart(HttpObject object);
  void JudgeWhole(const HttpObject& object);
  void JudgeWritten();
  std::string TooLong(const std::string& last) const;
  bool Succeed();
  // Counts what the try has cost, once, before those who wait for its result have it.
  void CountTry();
  bool TryAgainOrFail();

  const HttpLimits limits_;
  std::optional<Clock::time_point> deadline_;  // once the first try has begun
  Clock::time_point due_;                      // when the next try begins
  Clock::time_point last_sign_;                // of the server, or the beginning of the try
  int failed_ = 0;                             // tries in succession
  bool tried_ = false;                         // before this try
  bool under_way_ = false;                     // this try, which is not counted yet
  std::unique_ptr<CURL, CloseEasy> curl_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  char curl_message_[CURL_ERROR_SIZE] = "";

  // Of this try:
  HttpTicket ticket_;
  HttpHead head_;
  Judgement judged_ = Judgement::kNone;
  Failure failure_;
  size_t unwanted_bytes_ = 0;
  std::string refusal_;  // the body of an error answer, for HttpAccess::Explain
  size_t received_before_ = 0;
  curl_off_t sent_ = 0;             // bytes of the request's body
  size_t room_ = 0;                 // for bytes of this answer
  std::optional<uint64_t> wanted_;  // bytes of the transfer as a whole, once they are known
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_TASK_H_
