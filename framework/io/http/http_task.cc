// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/http_task.h"

#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string_view>

#include "framework/base/version.h"
#include "framework/io/compression/compression.h"
#include "framework/io/http/http_stats.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;

constexpr long kMostRedirects = 10;
constexpr milliseconds kAccessCheck{10};  // how often a task looks for credentials
constexpr long kFirstSuccess = 200;       // of the status codes
constexpr long kFirstNoSuccess = 300;
constexpr long kSocketBytes = 256 << 10;         // that curl takes from a socket at once
constexpr size_t kMostUnwantedBytes = 64 << 10;  // of a body, such as the page of an error

bool Passes(CURLcode result) {
  constexpr CURLcode kResults[] = {
      CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
      CURLE_PARTIAL_FILE,          CURLE_OPERATION_TIMEDOUT,   CURLE_SSL_CONNECT_ERROR,
      CURLE_GOT_NOTHING,           CURLE_SEND_ERROR,           CURLE_RECV_ERROR};
  return std::find(std::begin(kResults), std::end(kResults), result) != std::end(kResults);
}

// What libcurl says of a try. It quotes proxies of the environment as they are, with passwords.
std::string ProblemOf(CURLcode result, const std::string& said) {
  if (said.empty()) return curl_easy_strerror(result);
  const size_t begin = said.find('\''), end = said.rfind('\'');
  if (said.find("proxy") == std::string::npos || begin == end) return Escaped(said);
  return Escaped(said.substr(0, begin + 1) + "..." + said.substr(end));
}

bool IsHttps(const std::string& url) { return ::strncasecmp(url.c_str(), "https:", 6) == 0; }

// The options of curl's that name certificates are set by these variables, as the command does.
void SetCertificates(CURL* curl) {
  const char* file = std::getenv("CURL_CA_BUNDLE");
  if (file == nullptr) file = std::getenv("SSL_CERT_FILE");
  const char* const folder = std::getenv("SSL_CERT_DIR");
  if (file != nullptr) curl_easy_setopt(curl, CURLOPT_CAINFO, file);
  if (folder != nullptr) curl_easy_setopt(curl, CURLOPT_CAPATH, folder);
}

}  // namespace

template <typename Value>
void HttpTask::Set(CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(curl_.get(), option, value);
  if (result == CURLE_OK) return;
  Throw(ErrorCode::kResourceLimit, "libcurl refuses option ", option,
        " of a request: ", curl_easy_strerror(result));
}

bool HttpTask::Try() {
  if (!deadline_) deadline_ = Clock::now() + limits_.in_all;
  std::optional<HttpTicket> ticket;
  if (request_.access == nullptr) {
    ticket.emplace().url = request_.url;
  } else {
    ticket = request_.access->Ticket();
  }
  if (ticket) {
    ticket_ = std::move(*ticket);
  } else {
    due_ = Clock::now() + kAccessCheck;
    if (due_ >= *deadline_) Throw(ErrorCode::kIo, TooLong("; nobody got credentials for it"));
    return false;
  }
  head_ = HttpHead();
  judged_ = Judgement::kNone;
  failure_ = Failure();
  unwanted_bytes_ = 0;
  refusal_.clear();
  received_before_ = received_;
  sent_ = 0;
  host_ = HttpHostOf(ticket_.url);
  curl_message_[0] = '\0';
  last_sign_ = Clock::now();
  curl_.reset(curl_easy_init());
  if (curl_ == nullptr) Throw(ErrorCode::kResourceLimit, "no memory for a request");
  Set(CURLOPT_URL, ticket_.url.c_str());
  Set(CURLOPT_PRIVATE, static_cast<void*>(this));
  Set(CURLOPT_ERRORBUFFER, curl_message_);
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  // One connection for each request under way: several requests on one connection share its
  // window, which a distant server fills more slowly than the link allows.
  Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // As our own header it would be signed, and there are proxies that change it.
  Set(CURLOPT_ACCEPT_ENCODING, "identity");
  Set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  Set(CURLOPT_USERAGENT, kUserAgent);
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_QUICK_EXIT, 1L);  // waits for no name server when a transfer is ended
  Set(CURLOPT_TCP_KEEPALIVE, 1L);
  Set(CURLOPT_BUFFERSIZE, kSocketBytes);
  Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connecting.count()));
  Set(CURLOPT_HEADERFUNCTION, &HttpTask::OnHeader);
  Set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  Set(CURLOPT_WRITEFUNCTION, &HttpTask::OnBody);
  Set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  SetCertificates(curl_.get());
  if (!request_.whole) {
    Set(CURLOPT_RANGE, StrCat(first(), "-", last()).c_str());
  }
  SetAccess();
  SetMethod();
  SetHeaders();
  under_way_ = true;
  return true;
}

bool HttpTask::Settle(CURLcode result) {
  CountTry();
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status_);
  if (judged_ == Judgement::kNone && result == CURLE_OK) Judge();
  if (judged_ == Judgement::kEnough) return Succeed();
  if (judged_ == Judgement::kNone || (judged_ == Judgement::kTaken && result != CURLE_OK)) {
    failure_.problem =
        result == CURLE_OUT_OF_MEMORY && judged_ == Judgement::kNone
            ? "libcurl has no room for a line of the answer's headers; it takes 100 KB"
            : ProblemOf(result, curl_message_);
    failure_.passes = Passes(result);
  } else if (judged_ == Judgement::kTaken) {
    if (IsComplete() || !wanted_) return Succeed();
    failure_.problem =
        StrCat("the server has sent ", received_ - received_before_, " bytes and no more");
    failure_.passes = true;
  }
  if (IsComplete()) return Succeed();  // what went wrong came after the last byte
  if (judged_ == Judgement::kRefused && request_.access != nullptr && status_ >= kFirstNoSuccess) {
    const HttpAccess::Explanation explanation = request_.access->Explain(ticket_, head_, refusal_);
    failure_.problem += explanation.text;
    failure_.passes = failure_.passes || explanation.passes;
  }
  return TryAgainOrFail();
}

bool HttpTask::GiveUp(Clock::time_point now) {
  CountTry();
  if (IsComplete()) return Succeed();  // only the end of the answer is missing
  failure_ = Failure();
  failure_.passes = true;
  failure_.problem = StrCat("nothing came from the server for ", limits_.silence.count(), " ms");
  if (now >= *deadline_) {
    failure_.passes = false;
    failure_.problem = TooLong("");
  }
  return TryAgainOrFail();
}

void HttpTask::Fail(const Error& error) { SetEnded(Located(error)); }

bool HttpTask::IsComplete() const {
  return judged_ == Judgement::kTaken && wanted_.has_value() && received_ == *wanted_;
}

const HttpObject* HttpTask::expected() const {
  if (request_.object) return &*request_.object;
  return received_ > 0 ? &object_ : nullptr;
}

void HttpTask::SetAccess() {
  if (request_.access == nullptr) {
    // The answer to an https request must not come by http, nor may secrets of its URL be sent by
    // http.
    Set(CURLOPT_REDIR_PROTOCOLS_STR, IsHttps(ticket_.url) ? "https" : "http,https");
    Set(CURLOPT_FOLLOWLOCATION, writes() ? 0L : 1L);  // other requests do not write
    Set(CURLOPT_MAXREDIRS, kMostRedirects);
    Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    return;
  }
  Set(CURLOPT_PATH_AS_IS, 1L);
  if (ticket_.direct) Set(CURLOPT_NOPROXY, "*");
  if (ticket_.scheme.empty()) return;
  Set(CURLOPT_AWS_SIGV4, ticket_.scheme.c_str());
  Set(CURLOPT_USERNAME, ticket_.user.c_str());
  Set(CURLOPT_PASSWORD, ticket_.password.c_str());
}

void HttpTask::SetMethod() {
  static constexpr const char* kNames[] = {"GET", "PUT", "POST", "DELETE"};
  if (!writes()) return;
  Set(CURLOPT_CUSTOMREQUEST, kNames[static_cast<size_t>(request_.method)]);
  if (request_.method == HttpMethod::kDelete) return;
  const std::string_view body = request_.body == nullptr ? std::string_view("") : *request_.body;
  Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  Set(CURLOPT_POSTFIELDS, body.data());  // libcurl does not copy them
  // A server says nothing while it takes a long body.
  Set(CURLOPT_NOPROGRESS, 0L);
  Set(CURLOPT_XFERINFOFUNCTION, &HttpTask::OnProgress);
  Set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
}

void HttpTask::SetHeaders() {
  headers_.reset();
  const auto add = [this](const std::string& header) {
    curl_slist* const list = curl_slist_append(headers_.get(), header.c_str());
    if (list == nullptr) Throw(ErrorCode::kResourceLimit, "no memory for a request");
    static_cast<void>(headers_.release());
    headers_.reset(list);
  };
  for (const std::string& header : ticket_.headers) add(header);
  // Otherwise libcurl would send the type of a form.
  if (writes()) add("Content-Type: application/octet-stream");
  const HttpObject object = expected() == nullptr ? HttpObject() : *expected();
  const bool weak = object.etag.substr(0, 2) == "W/";  // servers never match a weak ETag
  if (!object.etag.empty() && !weak) {
    add(StrCat("If-Match: ", object.etag));
  } else if (!object.modified.empty()) {
    add(StrCat("If-Unmodified-Since: ", object.modified));
  }
  curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, headers_.get());
}

size_t HttpTask::OnHeader(char* bytes, size_t, size_t size, void* task) try {
  auto* const self = static_cast<HttpTask*>(task);
  self->last_sign_ = Clock::now();
  self->head_.Take({bytes, size});
  return size;
} catch (const std::bad_alloc&) {
  return 0;
}

size_t HttpTask::OnBody(char* bytes, size_t, size_t size, void* task) try {
  return static_cast<HttpTask*>(task)->TakeBody(bytes, size) ? size : 0;
} catch (const std::bad_alloc&) {
  return 0;
}

int HttpTask::OnProgress(void* task, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) {
  auto* const self = static_cast<HttpTask*>(task);
  if (sent > self->sent_) self->last_sign_ = Clock::now();
  self->sent_ = sent;
  return 0;
}

bool HttpTask::TakeBody(const char* bytes, size_t size) {
  last_sign_ = Clock::now();
  if (judged_ == Judgement::kNone) {
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status_);
    Judge();
  }
  if (judged_ != Judgement::kTaken) {  // the connection is of use again once the body is read
    unwanted_bytes_ += size;
    if (request_.access != nullptr && unwanted_bytes_ <= kMostUnwantedBytes) {
      refusal_.append(bytes, size);
    }
    return std::max<uint64_t>(unwanted_bytes_, head_.length.value_or(0)) <= kMostUnwantedBytes;
  }
  if (size > room_) {
    if (request_.whole) {
      Refuse(ErrorCode::kResourceLimit,
             StrCat("the object has more than ", request_.size, " bytes"));
    } else {
      Refuse(ErrorCode::kIo, "the server sends more bytes than it says");
    }
    return false;
  }
  std::memcpy(request_.buffer->data() + received_, bytes, size);
  received_ += size;
  room_ -= size;
  return true;
}

void HttpTask::Refuse(ErrorCode code, const std::string& problem) {
  judged_ = Judgement::kRefused;
  failure_.code = code;
  failure_.problem = problem;
}

void HttpTask::RefuseStatus() {
  Refuse(ErrorCode::kIo, Said());
  curl_off_t seconds = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &seconds);
  failure_.passes = StatusPasses(status_);
  failure_.at_least = std::chrono::seconds(std::clamp<curl_off_t>(seconds, 0, 1 << 30));
}

void HttpTask::Judge() {
  if (writes()) return JudgeWritten();
  constexpr long kOk = 200, kPart = 206, kChanged = 412, kBehindEnd = 416;
  HttpObject object = head_.object;
  object.size = status_ == kOk ? head_.length : head_.total;
  object.has_parts = status_ == kPart;
  if (status_ == kBehindEnd && head_.total == uint64_t{0} && is_probe()) {
    object.has_parts = true;  // of an empty object there is none
    object_ = object;
    wanted_ = 0;
    judged_ = Judgement::kEnough;
    return;
  }
  if (status_ == kChanged || status_ == kBehindEnd) {
    return Refuse(
        ErrorCode::kDataLoss,
        StrCat(Said(), status_ == kChanged ? ": the object was replaced after it was opened"
                                           : ": the object does not have these bytes"));
  }
  if (status_ != kOk && status_ != kPart) {
    return RefuseStatus();
  }
  const bool says_what_comes = status_ == kOk || head_.first.has_value();  // else it is refused
  if (says_what_comes && expected() != nullptr && expected()->Differs(object)) {
    return Refuse(ErrorCode::kDataLoss, StrCat("the object was replaced after it was opened (",
                                               Said(), expected()->ChangeTo(object), ")"));
  }
  // Of a file that is compressed, servers may say so in this way too.
  if (object.IsCoded() && CompressionByName(request_.url) == nullptr) {
    return Refuse(
        ErrorCode::kIo,
        StrCat("the server sends it compressed (Content-Encoding: '", Escaped(object.coding),
               "'), asked for it as it is, and its name does not say so"));
  }
  if (status_ == kPart) {
    JudgePart(object);
  } else {
    JudgeWhole(object);
  }
}

void HttpTask::JudgePart(HttpObject object) {
  constexpr uint64_t kMostBytes = INT64_MAX;
  const auto lie = [&](const std::string& problem) {
    Refuse(ErrorCode::kIo, StrCat(problem, " (", Said(), ")"));
  };
  if (request_.whole) return lie("the server sends a part of the object, asked for the whole");
  if (!head_.first || !head_.last || *head_.last < *head_.first) {
    return lie("the server does not say which part of the object it sends");
  }
  if (!object.size || *head_.last >= *object.size || *object.size > kMostBytes) {
    return lie("the server does not say how many bytes the object has");
  }
  if (*head_.first != first() || *head_.last > last()) {
    return lie(StrCat("the server sends bytes ", *head_.first, "-", *head_.last,
                      ", asked for bytes ", first(), "-", last()));
  }
  const uint64_t size = *head_.last - *head_.first + 1;
  if (head_.length && *head_.length != size) {
    return lie(StrCat("the server says that bytes ", *head_.first, "-", *head_.last, " are ",
                      *head_.length, " bytes"));
  }
  // The date of the first bytes: later answers may have another one.
  if (received_ > 0) object.date = object_.date;
  object_ = object;
  room_ = size;
  const uint64_t behind = *object.size - request_.offset;
  wanted_ = std::min<uint64_t>(request_.size, behind);
  judged_ = request_.size == 0 ? Judgement::kEnough : Judgement::kTaken;
}

void HttpTask::JudgeWhole(const HttpObject& object) {
  if (request_.whole) {
    if (object.size && *object.size > request_.size) {
      return Refuse(ErrorCode::kResourceLimit, StrCat("the object has ", *object.size, " bytes"));
    }
    if (!object.size && !head_.chunked) {
      return Refuse(ErrorCode::kIo,
                    "the server does not say where the object ends (it sends neither "
                    "'Content-Length' nor chunks), so a part of it would look like all of it");
    }
    object_ = object;
    received_ = 0;
    room_ = request_.size;
    wanted_ = object.size;
    judged_ = Judgement::kTaken;
    return;
  }
  if (is_probe()) {
    object_ = object;
    received_ = 0;
    judged_ = Judgement::kEnough;
    return;
  }
  Refuse(ErrorCode::kIo,
         StrCat("the server sends the whole object instead of a part (", Said(), ")"));
  failure_.passes = true;  // it has given parts before
}

void HttpTask::JudgeWritten() {
  if (status_ < kFirstSuccess || status_ >= kFirstNoSuccess) return RefuseStatus();
  object_ = head_.object;
  received_ = 0;
  room_ = request_.size;
  wanted_ = head_.length;
  judged_ = request_.size == 0 ? Judgement::kEnough : Judgement::kTaken;
}

std::string HttpTask::TooLong(const std::string& last) const {
  return StrCat("the request takes more than ", limits_.in_all.count(), " ms", last);
}

bool HttpTask::Succeed() {
  if (writes() && request_.access != nullptr && request_.size > 0) {
    const auto wrong =
        request_.access->ExplainSuccess(ticket_, {request_.buffer->data(), received_});
    if (wrong) {
      Refuse(ErrorCode::kIo, StrCat(Said(), ", but", wrong->text));
      failure_.passes = wrong->passes;
      return TryAgainOrFail();
    }
  }
  if (request_.whole) object_.size = received_;
  SetEnded(std::nullopt);
  return false;
}

void HttpTask::CountTry() {
  if (!under_way_) return;
  under_way_ = false;
  HttpHostStats counts;
  counts.host = host_;
  counts.requests = 1;
  counts.retries = tried_ ? 1 : 0;
  curl_off_t sent = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_SIZE_UPLOAD_T, &sent);
  counts.bytes = received_ - std::min(received_, received_before_) + static_cast<uint64_t>(sent);
  CountHttp(counts);
  tried_ = true;
}

bool HttpTask::TryAgainOrFail() {
  // The next try for a whole object begins at its first byte again.
  if (!request_.whole && received_ > received_before_) failed_ = 0;
  ++failed_;
  if (failure_.passes && failed_ < MostTries(limits_)) {
    const milliseconds pause = std::max(limits_.PauseAfter(failed_), failure_.at_least);
    due_ = Clock::now() + pause;
    if (due_ < *deadline_) {
      if (request_.whole) received_ = 0;
      return true;
    }
    failure_.problem = TooLong(StrCat("; ", failure_.problem));
    if (failure_.at_least.count() > 0) {
      failure_.problem += StrCat(" and asked for a pause of ", failure_.at_least.count(), " ms");
    }
  }
  SetFailed(failure_.code, failure_.problem, failed_);
  return false;
}

}  // namespace millhopper
