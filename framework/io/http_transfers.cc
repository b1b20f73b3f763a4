// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http_transfers.h"

#include <curl/curl.h>
#include <signal.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "framework/base/forks.h"
#include "framework/base/stop.h"
#include "framework/base/version.h"
#include "framework/io/compression.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStopCheck{10};  // how often a waiting thread looks for a request to stop
constexpr milliseconds kForkCheck{1};  // the same of the thread of transfers, for the end of a fork
constexpr milliseconds kLongestPoll{1000};  // without anything to do
constexpr long kMostRedirects = 10;
constexpr long kSocketBytes = 256 << 10;         // that curl takes from a socket at once
constexpr size_t kMostUnwantedBytes = 64 << 10;  // of a body, such as the page of an error
constexpr size_t kMostHeaderBytes = 1024;        // of a header that is heeded

HttpLimits limits_in_force;

std::string_view Trimmed(std::string_view text) {
  constexpr char kBlanks[] = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<uint64_t> NumberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// What the headers of one answer say.
struct Head {
  std::string status_line;
  HttpObject object;
  std::optional<uint64_t> length;  // of the body
  bool chunked = false;            // the body says itself where it ends
  // Of Content-Range. A part has a first and a last byte; the answer to a request for bytes behind
  // the end has neither.
  std::optional<uint64_t> first, last, total;

  void Take(std::string_view line) {
    line = Trimmed(line);
    if (line.substr(0, 5) == "HTTP/") {  // also the answers before the last, such as redirects
      *this = Head();
      status_line = line.substr(0, kMostHeaderBytes);
      return;
    }
    if (line.size() > kMostHeaderBytes) return;  // a part of an ETag would fit no object
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string name(line.substr(0, colon));
    const std::string_view value = Trimmed(line.substr(colon + 1));
    const auto is = [&](const char* header) { return ::strcasecmp(name.c_str(), header) == 0; };
    if (is("ETag")) object.etag = value;
    if (is("Content-Encoding")) object.coding = value;
    if (is("Last-Modified")) object.modified = value;
    if (is("Content-Length")) length = NumberIn(value);
    if (is("Content-Range")) TakeRange(value);
    if (is("Transfer-Encoding")) chunked = EndsWithChunked(value);
  }

 private:
  // "chunked" or "gzip, chunked".
  static bool EndsWithChunked(std::string_view value) {
    constexpr std::string_view kChunked = "chunked";
    return value.size() >= kChunked.size() &&
           ::strncasecmp(value.data() + value.size() - kChunked.size(), kChunked.data(),
                         kChunked.size()) == 0;
  }

  // "bytes 0-99/1000", "bytes 0-99/*" or "bytes */1000".
  void TakeRange(std::string_view value) {
    constexpr std::string_view kUnit = "bytes ";
    const size_t slash = value.find('/');
    if (value.substr(0, kUnit.size()) != kUnit || slash == std::string_view::npos) return;
    const std::string_view part = Trimmed(value.substr(kUnit.size(), slash - kUnit.size()));
    const size_t dash = part.find('-');
    total = NumberIn(value.substr(slash + 1));
    if (dash == std::string_view::npos) return;
    first = NumberIn(part.substr(0, dash));
    last = NumberIn(part.substr(dash + 1));
  }
};

// What has gone wrong, and whether it may be otherwise the next time.
struct Failure {
  ErrorCode code = ErrorCode::kIo;
  std::string problem;
  bool passes = false;
  milliseconds at_least{0};  // to wait
};

bool Passes(long status) {
  constexpr long kStatuses[] = {408, 425, 429, 500, 502, 503, 504};
  return std::find(std::begin(kStatuses), std::end(kStatuses), status) != std::end(kStatuses);
}

bool Passes(CURLcode result) {
  constexpr CURLcode kResults[] = {
      CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
      CURLE_PARTIAL_FILE,          CURLE_OPERATION_TIMEDOUT,   CURLE_SSL_CONNECT_ERROR,
      CURLE_GOT_NOTHING,           CURLE_SEND_ERROR,           CURLE_RECV_ERROR};
  return std::find(std::begin(kResults), std::end(kResults), result) != std::end(kResults);
}

bool IsHttps(const std::string& url) { return ::strncasecmp(url.c_str(), "https:", 6) == 0; }

void Initialise() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) {
    Throw(ErrorCode::kResourceLimit, "libcurl cannot start: ", curl_easy_strerror(result));
  }
}

// The options of curl's that name certificates are set by these variables, as the command does.
void SetCertificates(CURL* curl) {
  const char* file = std::getenv("CURL_CA_BUNDLE");
  if (file == nullptr) file = std::getenv("SSL_CERT_FILE");
  const char* const folder = std::getenv("SSL_CERT_DIR");
  if (file != nullptr) curl_easy_setopt(curl, CURLOPT_CAINFO, file);
  if (folder != nullptr) curl_easy_setopt(curl, CURLOPT_CAPATH, folder);
}

struct CloseEasy {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// A transfer as the thread of all transfers sees it. Only this thread calls what is here.
class Task final : public HttpTransfer {
 public:
  explicit Task(HttpRequest request)
      : HttpTransfer(std::move(request)), limits_(HttpLimits::Get()) {}

  const HttpLimits& limits() const { return limits_; }
  CURL* curl() const { return curl_.get(); }
  Clock::time_point due() const { return due_; }
  // When the silence of the server is too long, or the transfer as a whole.
  Clock::time_point patience() const { return std::min(last_sign_ + limits_.silence, *deadline_); }

  // Begins the next try.
  void Try() {
    if (!deadline_) deadline_ = Clock::now() + limits_.in_all;
    head_ = Head();
    judged_ = Judgement::kNone;
    failure_ = Failure();
    unwanted_bytes_ = 0;
    received_before_ = received_;
    curl_message_[0] = '\0';
    last_sign_ = Clock::now();
    curl_.reset(curl_easy_init());
    if (curl_ == nullptr) Throw(ErrorCode::kResourceLimit, "no memory for a request");
    const auto set = [this](CURLoption option, auto value) {
      const CURLcode result = curl_easy_setopt(curl_.get(), option, value);
      if (result == CURLE_OK) return;
      Throw(ErrorCode::kResourceLimit, "libcurl refuses option ", option,
            " of a request: ", curl_easy_strerror(result));
    };
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PRIVATE, static_cast<void*>(this));
    set(CURLOPT_ERRORBUFFER, curl_message_);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    // What was asked for by https is not to come by http, nor are the secrets in a URL to go there.
    set(CURLOPT_REDIR_PROTOCOLS_STR, IsHttps(request_.url) ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    // One connection for each request under way: several requests on one connection share its
    // window, which a distant server fills more slowly than the link allows.
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    set(CURLOPT_USERAGENT, kUserAgent);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // waits for no name server when a transfer is ended
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_BUFFERSIZE, kSocketBytes);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connecting.count()));
    set(CURLOPT_HEADERFUNCTION, &Task::OnHeader);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &Task::OnBody);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    SetCertificates(curl_.get());
    if (!request_.whole) {
      set(CURLOPT_RANGE, StrCat(first(), "-", last()).c_str());
    }
    SetHeaders();
  }

  // Takes the result of a try. Returns whether there is another one.
  bool Settle(CURLcode result) {
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status_);
    if (judged_ == Judgement::kNone && result == CURLE_OK) Judge();
    if (judged_ == Judgement::kEnough) return Succeed();
    if (judged_ == Judgement::kNone || (judged_ == Judgement::kTaken && result != CURLE_OK)) {
      failure_.problem =
          Escaped(curl_message_[0] != '\0' ? curl_message_ : curl_easy_strerror(result));
      failure_.passes = Passes(result);
    } else if (judged_ == Judgement::kTaken) {
      if (IsComplete() || !wanted_) return Succeed();
      failure_.problem =
          StrCat("the server has sent ", received_ - received_before_, " bytes and no more");
      failure_.passes = true;
    }
    if (IsComplete()) return Succeed();  // what went wrong came behind the last byte
    return TryAgainOrFail();
  }

  // The same for a try that takes too long.
  bool GiveUp(Clock::time_point now) {
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

  void Fail(const Error& error) {
    SetEnded(error.InFile(request_.url, static_cast<int64_t>(request_.offset)));
  }

  // Takes the handle, which curl must have let go of.
  void LetGo() { curl_.reset(); }

 private:
  enum class Judgement {
    kNone,     // no answer yet
    kTaken,    // the body is what was asked for
    kEnough,   // the headers have said all
    kRefused,  // the answer is of no use
  };
  static constexpr char kUserAgent[] = "millhopper";

  bool is_probe() const { return !request_.object.has_value(); }
  // The first and the last byte that are still to come.
  uint64_t first() const { return request_.offset + received_; }
  uint64_t last() const { return request_.offset + std::max<uint64_t>(request_.size, 1) - 1; }

  bool IsComplete() const {
    return judged_ == Judgement::kTaken && wanted_.has_value() && received_ == *wanted_;
  }

  // The object that the answer must be of, or null.
  const HttpObject* expected() const {
    if (request_.object) return &*request_.object;
    return received_ > 0 ? &object_ : nullptr;
  }

  void SetHeaders() {
    headers_.reset();
    const auto add = [this](const char* name, const std::string& value) {
      curl_slist* const list = curl_slist_append(headers_.get(), StrCat(name, ": ", value).c_str());
      if (list == nullptr) Throw(ErrorCode::kResourceLimit, "no memory for a request");
      static_cast<void>(headers_.release());
      headers_.reset(list);
    };
    add("Accept-Encoding", "identity");
    const HttpObject object = expected() == nullptr ? HttpObject() : *expected();
    const bool weak = object.etag.substr(0, 2) == "W/";  // a server must not find that it matches
    if (!object.etag.empty() && !weak) {
      add("If-Match", object.etag);
    } else if (!object.modified.empty()) {
      add("If-Unmodified-Since", object.modified);
    }
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, headers_.get());
  }

  // Any other number than `size` ends the try.
  static size_t OnHeader(char* bytes, size_t, size_t size, void* task) try {
    auto* const self = static_cast<Task*>(task);
    self->last_sign_ = Clock::now();
    self->head_.Take({bytes, size});
    return size;
  } catch (const std::bad_alloc&) {
    return 0;
  }

  static size_t OnBody(char* bytes, size_t, size_t size, void* task) try {
    return static_cast<Task*>(task)->TakeBody(bytes, size) ? size : 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }

  // False ends the try.
  bool TakeBody(const char* bytes, size_t size) {
    last_sign_ = Clock::now();
    if (judged_ == Judgement::kNone) {
      curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status_);
      Judge();
    }
    if (judged_ != Judgement::kTaken) {  // the connection is of use again once the body is read
      unwanted_bytes_ += size;
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

  std::string Said() const { return StrCat("the server said '", Escaped(head_.status_line), "'"); }

  void Refuse(ErrorCode code, const std::string& problem) {
    judged_ = Judgement::kRefused;
    failure_.code = code;
    failure_.problem = problem;
  }

  // Decides by the headers what the answer is worth.
  void Judge() {
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
      Refuse(ErrorCode::kIo, Said());
      curl_off_t seconds = 0;
      curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &seconds);
      failure_.passes = Passes(status_);
      failure_.at_least = std::chrono::seconds(std::clamp<curl_off_t>(seconds, 0, 1 << 30));
      return;
    }
    if (expected() != nullptr && expected()->Differs(object)) {
      return Refuse(ErrorCode::kDataLoss, StrCat("the object was replaced after it was opened (",
                                                 Said(), Change(*expected(), object), ")"));
    }
    // Of a file that is compressed, servers may say so in this way too.
    if (IsCoded(object) && CompressionByName(request_.url) == nullptr) {
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

  static bool IsCoded(const HttpObject& object) {
    return !object.coding.empty() && ::strcasecmp(object.coding.c_str(), "identity") != 0;
  }

  static std::string Change(const HttpObject& before, const HttpObject& now) {
    const auto change = [](const char* what, const auto& was, const auto& is) {
      return StrCat("; ", what, " was ", was, ", now it is ", is);
    };
    if (before.size && now.size && *before.size != *now.size) {
      return change("its size", *before.size, *now.size);
    }
    if (before.coding != now.coding) {
      return change("its Content-Encoding", Escaped(before.coding), Escaped(now.coding));
    }
    if (before.etag != now.etag) return change("its ETag", Escaped(before.etag), Escaped(now.etag));
    return change("its date", Escaped(before.modified), Escaped(now.modified));
  }

  void JudgePart(HttpObject object) {
    constexpr uint64_t kMostBytes = INT64_MAX;
    if (!object.size && expected() != nullptr) object.size = expected()->size;
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
    object_ = object;
    room_ = size;
    const uint64_t behind = *object.size - request_.offset;
    wanted_ = std::min<uint64_t>(request_.size, behind);
    judged_ = request_.size == 0 ? Judgement::kEnough : Judgement::kTaken;
  }

  void JudgeWhole(const HttpObject& object) {
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

  std::string TooLong(const std::string& last) const {
    return StrCat("the request takes more than ", limits_.in_all.count(), " ms", last);
  }

  bool Succeed() {
    if (request_.whole) object_.size = received_;
    SetEnded(std::nullopt);
    return false;
  }

  bool TryAgainOrFail() {
    // The next try for a whole object begins at its first byte again.
    if (!request_.whole && received_ > received_before_) failed_ = 0;
    ++failed_;
    const int most = is_probe() ? limits_.opening_tries : limits_.tries;
    if (failure_.passes && failed_ < most) {
      const milliseconds pause = std::max(Pause(), failure_.at_least);
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
    const std::string what = is_probe() || request_.whole
                                 ? "cannot open: "
                                 : StrCat("cannot read bytes ", request_.offset, "-", last(), ": ");
    const std::string tries = failed_ > 1 ? StrCat(" (", failed_, " tries)") : "";
    Fail(Error(failure_.code, StrCat(what, failure_.problem, tries)));
    return false;
  }

  // Between half of the present pause and all of it, so that many requests that have failed at once
  // do not come back at once.
  milliseconds Pause() {
    static thread_local std::minstd_rand random(std::random_device{}());
    milliseconds pause = limits_.first_pause;
    for (int i = 1; i < failed_ && pause < limits_.longest_pause; ++i) pause *= 2;
    pause = std::min(pause, limits_.longest_pause);
    return milliseconds(
        std::uniform_int_distribution<int64_t>(pause.count() / 2, pause.count())(random));
  }

  const HttpLimits limits_;
  std::optional<Clock::time_point> deadline_;  // once the first try has begun
  Clock::time_point due_;                      // when the next try begins
  Clock::time_point last_sign_;                // of the server, or the beginning of the try
  int failed_ = 0;                             // tries in succession
  std::unique_ptr<CURL, CloseEasy> curl_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  char curl_message_[CURL_ERROR_SIZE] = "";

  // Of this try:
  Head head_;
  Judgement judged_ = Judgement::kNone;
  Failure failure_;
  size_t unwanted_bytes_ = 0;
  size_t received_before_ = 0;
  size_t room_ = 0;                 // for bytes of this answer
  std::optional<uint64_t> wanted_;  // bytes of the transfer as a whole, once they are known
};

// All transfers of the process, and the thread that works on them.
class Transfers {
 public:
  static Transfers& Get() {
    Transfers* transfers = current.load();
    while (transfers == nullptr || !transfers->process_.IsThis()) {
      auto* const fresh = new Transfers;  // never destroyed: threads may use it until the very end
      if (current.compare_exchange_strong(transfers, fresh)) return *fresh;
      curl_multi_cleanup(fresh->multi_);
      delete fresh;
    }
    return *transfers;
  }

  void Start(std::shared_ptr<Task> task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) ThrowStopped();
    if (!thread_.joinable()) StartThread();
    started_.push_back(std::move(task));
    curl_multi_wakeup(multi_);
  }

  void Cancel(std::shared_ptr<const HttpTransfer> transfer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;  // all transfers end anyway, and what would be woken may be gone
    cancelled_.push_back(std::move(transfer));
    curl_multi_wakeup(multi_);
  }

  // While a thread forks, the thread of the transfers holds no lock of a library, which nobody
  // would unlock in the child.
  static void Hold() {
    held = current.load();
    if (held == nullptr) return;
    ++held->forking_;
    held->working_.lock();
  }
  static void LetGo() {
    if (held == nullptr) return;
    held->working_.unlock();
    --held->forking_;
    held = nullptr;
  }

 private:
  Transfers() {
    Initialise();
    multi_ = curl_multi_init();
    if (multi_ == nullptr) Throw(ErrorCode::kResourceLimit, "no memory for requests");
  }

  void StartThread() {
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error&) {
      throw CurrentError();
    }
    // Registered behind what libcurl and its libraries have registered, so that the thread ends
    // before they clean up. A forked child inherits this and may have no thread of its own.
    std::atexit([] {
      Transfers* const transfers = current.load();
      if (transfers != nullptr && transfers->process_.IsThis()) transfers->Stop();
    });
  }

  void Stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_ || !thread_.joinable()) return;
      stopping_ = true;
      curl_multi_wakeup(multi_);
    }
    thread_.join();
  }

  void Loop() {
    sigset_t signals;
    sigfillset(&signals);  // they are for other threads, and SIGPIPE is for nobody
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    while (Work()) {
      curl_multi_poll(multi_, nullptr, 0, static_cast<int>(Patience().count()), nullptr);
    }
    while (!tasks_.empty()) Drop(tasks_.begin()->second.get(), "the process ends");
    curl_multi_cleanup(multi_);
  }

  // False once the process ends.
  bool Work() {
    // The mutex is not fair: a thread that forks must not wait for it again and again.
    while (forking_.load() > 0) std::this_thread::sleep_for(kForkCheck);
    const std::lock_guard<std::mutex> lock(working_);
    if (!TakeOrders()) return false;
    int running = 0;
    curl_multi_perform(multi_, &running);
    TakeResults();
    EndSilent();
    StartWaiting();  // last, in the places of those that have ended
    return true;
  }

  // Takes over what other threads have asked for. False once the process ends.
  bool TakeOrders() {
    std::vector<std::shared_ptr<Task>> started;
    std::vector<std::shared_ptr<const HttpTransfer>> cancelled;
    bool stopping = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping = stopping_;
      started.swap(started_);
      cancelled.swap(cancelled_);
    }
    for (std::shared_ptr<Task>& task : started) {
      most_running_ = task->limits().under_way;
      if (task->request().urgent) {
        const auto is_patient = [](const Task* other) { return !other->request().urgent; };
        waiting_.insert(std::find_if(waiting_.begin(), waiting_.end(), is_patient), task.get());
      } else {
        waiting_.push_back(task.get());
      }
      const HttpTransfer* const transfer = task.get();
      tasks_.emplace(transfer, std::move(task));
    }
    for (const std::shared_ptr<const HttpTransfer>& transfer : cancelled) {
      const auto found = tasks_.find(transfer.get());
      if (found != tasks_.end()) Drop(found->second.get(), "nobody waits for it");
    }
    return !stopping;
  }

  void StartWaiting() {
    const Clock::time_point now = Clock::now();
    for (auto task = pausing_.begin(); task != pausing_.end();) {
      if ((*task)->due() > now) {
        ++task;
        continue;
      }
      waiting_.push_front(*task);
      task = pausing_.erase(task);
    }
    while (!waiting_.empty() && running_.size() < most_running_) {
      Task* const task = waiting_.front();
      waiting_.pop_front();
      try {
        task->Try();
      } catch (const Error& error) {
        task->Fail(error);
        tasks_.erase(task);
        continue;
      }
      curl_multi_add_handle(multi_, task->curl());
      running_.insert(task);
    }
  }

  void TakeResults() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode result = message->data.result;  // the message goes with the handle
      char* owner = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
      auto* const task = reinterpret_cast<Task*>(owner);
      EndTry(task, task->Settle(result));
    }
  }

  void EndSilent() {
    const Clock::time_point now = Clock::now();
    std::vector<Task*> silent;
    for (Task* const task : running_) {
      if (task->patience() <= now) silent.push_back(task);
    }
    for (Task* const task : silent) EndTry(task, task->GiveUp(now));
  }

  void EndTry(Task* task, bool again) {
    Leave(task);
    if (again) {
      pausing_.insert(task);
    } else {
      tasks_.erase(task);
    }
  }

  // The time until something must be done although nothing comes from a server.
  milliseconds Patience() const {
    Clock::time_point next = Clock::now() + kLongestPoll;
    for (const Task* const task : running_) next = std::min(next, task->patience());
    for (const Task* const task : pausing_) next = std::min(next, task->due());
    const auto patience = std::chrono::ceil<milliseconds>(next - Clock::now());
    return std::max(patience, milliseconds(0));
  }

  // Takes a task out of curl's hands.
  void Leave(Task* task) {
    if (running_.erase(task) == 0) return;
    curl_multi_remove_handle(multi_, task->curl());
    task->LetGo();
  }

  // Ends a task before its time.
  void Drop(Task* task, const char* why) {
    Leave(task);
    pausing_.erase(task);
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), task), waiting_.end());
    task->Fail(Error(ErrorCode::kCancelled, why));
    tasks_.erase(task);
  }

  static inline std::atomic<Transfers*> current{nullptr};
  static inline thread_local Transfers* held = nullptr;  // by the calling thread, which forks

  const OwnProcess process_;
  CURLM* multi_ = nullptr;
  std::mutex working_;           // held by the thread unless it waits
  std::atomic<int> forking_{0};  // threads that want it or have it

  std::mutex mutex_;  // guards what other threads ask for
  std::vector<std::shared_ptr<Task>> started_;
  std::vector<std::shared_ptr<const HttpTransfer>> cancelled_;
  bool stopping_ = false;
  std::thread thread_;

  // What only the thread uses:
  std::map<const HttpTransfer*, std::shared_ptr<Task>> tasks_;
  std::deque<Task*> waiting_;  // for their turn, the next one first
  std::set<Task*> running_;
  size_t most_running_ = 0;
  std::set<Task*> pausing_;  // between two tries
};

// Registered before the thread pool registers its handlers. What is registered first comes last
// before a fork: until all workers are idle, transfers go on, because workers may wait for them.
[[maybe_unused]] const int registered_for_forks =
    pthread_atfork(&Transfers::Hold, &Transfers::LetGo, &Transfers::LetGo);

}  // namespace

const HttpLimits& HttpLimits::Get() { return limits_in_force; }

void HttpLimits::Set(const HttpLimits& limits) { limits_in_force = limits; }

bool HttpObject::Differs(const HttpObject& later) const {
  if (size && later.size && *size != *later.size) return true;
  if (coding != later.coding) return true;
  if (!etag.empty() && !later.etag.empty()) return etag != later.etag;
  return !modified.empty() && !later.modified.empty() && modified != later.modified;
}

std::shared_ptr<const HttpTransfer> HttpTransfer::Start(HttpRequest request) {
  auto task = std::make_shared<Task>(std::move(request));
  Transfers::Get().Start(task);
  return task;
}

void HttpTransfer::Cancel(std::shared_ptr<const HttpTransfer> transfer) {
  Transfers::Get().Cancel(std::move(transfer));
}

void HttpTransfer::Wait() const {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_) {
    when_ended_.wait_for(lock, kStopCheck);
    if (!ended_) CheckStop();
  }
  if (error_) throw Error(*error_);
}

void HttpTransfer::SetEnded(const std::optional<Error>& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  error_ = error;
  ended_ = true;
  when_ended_.notify_all();
}

}  // namespace millhopper
