// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/http_transfers.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "framework/base/forks.h"
#include "framework/base/stop.h"
#include "framework/io/http/http_stats.h"
#include "framework/io/http/http_task.h"
#include "framework/io/http/request_carrier.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kStopCheck{10};  // how often a waiting thread looks whether it is to stop
constexpr milliseconds kForkCheck{1};  // the same of the thread of transfers, for the end of a fork
constexpr milliseconds kLongestPoll{1000};  // without anything to do

HttpLimits limits_in_force;

void Initialise() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) {
    Throw(ErrorCode::kResourceLimit, "libcurl cannot start: ", curl_easy_strerror(result));
  }
}

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

  void Start(std::shared_ptr<HttpTask> task) {
    const MutexLock lock(&mutex_);
    if (stopping_) ThrowStopped();
    if (!thread_.joinable()) StartThread();
    started_.push_back(std::move(task));
    curl_multi_wakeup(multi_);
  }

  void Cancel(std::shared_ptr<const HttpTransfer> transfer) {
    const MutexLock lock(&mutex_);
    if (stopping_) return;  // all transfers end anyway, and what would be woken may be gone
    cancelled_.push_back(std::move(transfer));
    curl_multi_wakeup(multi_);
  }

  // While a thread forks, the thread of the transfers holds no lock of a library: no thread would
  // unlock it in the child.
  static void Pause() NO_THREAD_SAFETY_ANALYSIS {
    forked = current.load();
    if (forked == nullptr) return;
    ++forked->forking_;
    forked->working_.Lock();
  }
  static void Resume() NO_THREAD_SAFETY_ANALYSIS {
    if (forked == nullptr) return;
    forked->working_.Unlock();
    --forked->forking_;
    forked = nullptr;
  }

 private:
  Transfers() {
    Initialise();
    multi_ = curl_multi_init();
    if (multi_ == nullptr) Throw(ErrorCode::kResourceLimit, "no memory for requests");
  }

  void StartThread() REQUIRES(mutex_) {
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error&) {
      throw CurrentError();
    }
    // Registered after what libcurl and its libraries have registered, so that the thread ends
    // before they clean up. A forked child inherits this and may lack this thread.
    std::atexit([] {
      Transfers* const transfers = current.load();
      if (transfers != nullptr && transfers->process_.IsThis()) transfers->Stop();
    });
  }

  void Stop() {
    {
      const MutexLock lock(&mutex_);
      if (stopping_ || !thread_.joinable()) return;
      stopping_ = true;
      curl_multi_wakeup(multi_);
    }
    thread_.join();
  }

  void Loop() {
    BlockSignals();
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
    const MutexLock lock(&working_);
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
    std::vector<std::shared_ptr<HttpTask>> started;
    std::vector<std::shared_ptr<const HttpTransfer>> cancelled;
    bool stopping = false;
    {
      const MutexLock lock(&mutex_);
      stopping = stopping_;
      started.swap(started_);
      cancelled.swap(cancelled_);
    }
    for (std::shared_ptr<HttpTask>& task : started) {
      most_running_ = task->limits().under_way;
      if (task->request().urgent) {
        const auto is_patient = [](const HttpTask* other) { return !other->request().urgent; };
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
      HttpTask* const task = waiting_.front();
      waiting_.pop_front();
      try {
        if (!task->Try()) {
          pausing_.insert(task);
          continue;
        }
      } catch (...) {
        task->Fail(CurrentError());
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
      auto* const task = reinterpret_cast<HttpTask*>(owner);
      EndTry(task, [&] { return task->Settle(result); });
    }
  }

  void EndSilent() {
    const Clock::time_point now = Clock::now();
    std::vector<HttpTask*> silent;
    for (HttpTask* const task : running_) {
      if (task->patience() <= now) silent.push_back(task);
    }
    for (HttpTask* const task : silent) EndTry(task, [&] { return task->GiveUp(now); });
  }

  // `end` returns whether there is another try.
  template <typename End>
  void EndTry(HttpTask* task, const End& end) {
    bool again = false;
    try {
      again = end();
    } catch (...) {  // there is no memory for what the answer means
      task->Fail(CurrentError());
    }
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
    for (const HttpTask* const task : running_) next = std::min(next, task->patience());
    for (const HttpTask* const task : pausing_) next = std::min(next, task->due());
    const auto patience = std::chrono::ceil<milliseconds>(next - Clock::now());
    return std::max(patience, milliseconds(0));
  }

  // Removes a task from curl.
  void Leave(HttpTask* task) {
    if (running_.erase(task) == 0) return;
    curl_multi_remove_handle(multi_, task->curl());
    task->FreeHandle();
  }

  // Ends a task early.
  void Drop(HttpTask* task, const char* why) {
    Leave(task);
    pausing_.erase(task);
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), task), waiting_.end());
    task->Fail(Error(ErrorCode::kCancelled, why));
    tasks_.erase(task);
  }

  static inline std::atomic<Transfers*> current{nullptr};
  static inline thread_local Transfers* forked = nullptr;  // by the calling thread, which forks

  const OwnProcess process_;
  CURLM* multi_ = nullptr;
  Mutex working_;                // held by the thread unless it waits
  std::atomic<int> forking_{0};  // threads that want it or have it

  // What other threads ask for.
  Mutex mutex_;
  std::vector<std::shared_ptr<HttpTask>> started_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const HttpTransfer>> cancelled_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;

  // What only the thread uses:
  std::map<const HttpTransfer*, std::shared_ptr<HttpTask>> tasks_;
  std::deque<HttpTask*> waiting_;  // for their turn, the next one first
  std::set<HttpTask*> running_;
  size_t most_running_ = 0;
  std::set<HttpTask*> pausing_;  // between two tries
};

// Registered before the thread pool registers its handlers. What is registered first comes last
// before a fork: until all workers are idle, transfers go on, because workers may wait for them.
[[maybe_unused]] const int registered_for_forks =
    pthread_atfork(&Transfers::Pause, &Transfers::Resume, &Transfers::Resume);

}  // namespace

void BlockSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

const HttpLimits& HttpLimits::Get() { return limits_in_force; }

void HttpLimits::Set(const HttpLimits& limits) { limits_in_force = limits; }

milliseconds HttpLimits::PauseAfter(int failed) const {
  static thread_local std::minstd_rand random(std::random_device{}());
  milliseconds pause = first_pause;
  for (int i = 1; i < failed && pause < longest_pause; ++i) pause *= 2;
  pause = std::min(pause, longest_pause);
  return milliseconds(
      std::uniform_int_distribution<int64_t>(pause.count() / 2, pause.count())(random));
}

std::shared_ptr<const HttpTransfer> HttpTransfer::Start(HttpRequest request) {
  if (request.carrier != nullptr) {
    const std::shared_ptr<const RequestCarrier> carrier = request.carrier;
    return carrier->Start(std::move(request));
  }
  auto task = std::make_shared<HttpTask>(std::move(request));
  Transfers::Get().Start(task);
  return task;
}

void HttpTransfer::Cancel(std::shared_ptr<const HttpTransfer> transfer) {
  if (const auto carrier = transfer->request().carrier; carrier != nullptr) {
    carrier->Cancel(*transfer);
  } else {
    Transfers::Get().Cancel(std::move(transfer));
  }
}

std::shared_ptr<const HttpTransfer> HttpTransfer::Run(HttpRequest request) {
  std::shared_ptr<const HttpTransfer> transfer = Start(std::move(request));
  try {
    transfer->Wait();
  } catch (const Error&) {
    Cancel(transfer);  // if it has not ended
    throw;
  }
  return transfer;
}

void HttpTransfer::Wait() const {
  MutexLock lock(&mutex_);
  const bool has_waited = !ended_;
  const Clock::time_point begin = Clock::now();
  while (!ended_) {
    lock.Unlock();
    Attend();
    lock.Lock();
    if (ended_) break;
    when_ended_.wait_for(lock.native(), kStopCheck);
    if (!ended_) CheckWait();
  }
  if (has_waited) {
    HttpHostStats waited;
    waited.host = host_;
    waited.wait_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    CountHttp(waited);
  }
  if (error_) throw Error(*error_);
}

void HttpTransfer::Attend() const {
  if (request_.access != nullptr) request_.access->Renew();
}

void HttpTransfer::SetFailed(ErrorCode code, const std::string& problem, int tries) {
  const uint64_t last = request_.offset + std::max<uint64_t>(request_.size, 1) - 1;
  std::string what = "cannot open: ";
  if (writes()) {
    what = request_.method == HttpMethod::kDelete ? "cannot remove: " : "cannot write: ";
  } else if (request_.object && !request_.whole) {
    what = StrCat("cannot read bytes ", request_.offset, "-", last, ": ");
  }
  const std::string several = tries > 1 ? StrCat(" (", tries, " tries)") : "";
  SetEnded(Located(Error(code, StrCat(what, problem, several))));
}

void HttpTransfer::SetEnded(const std::optional<Error>& error) {
  const MutexLock lock(&mutex_);
  error_ = error;
  ended_ = true;
  when_ended_.notify_all();
}

}  // namespace millhopper
