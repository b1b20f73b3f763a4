// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/blocking_requests.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/io/http/http_stats.h"
#include "framework/io/own_object.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{10};          // how often what is due is looked for
constexpr milliseconds kEndOfProcess{50};  // how long it waits for calls

// A request with all its tries. What is not const here is guarded by the mutex of Tries.
class BlockingTransfer final : public HttpTransfer {
 public:
  explicit BlockingTransfer(HttpRequest request, const BlockingCarrier* carrier)
      : HttpTransfer(std::move(request)),
        carrier_(carrier),
        limits_(request_.limits.value_or(HttpLimits::Get())) {
    host_ = carrier->Host();
  }

  const HttpLimits& limits() const { return limits_; }
  const BlockingCarrier& carrier() const { return *carrier_; }
  bool running() const { return running_; }
  // Whether it is between two tries, and the next one may begin.
  bool IsDue(Clock::time_point now) const { return pausing_ && now >= due_; }
  bool IsTooLate(Clock::time_point now) const { return running_ && now >= patience_; }

  void EndPause() { pausing_ = false; }

  // Begins a try. Returns its number, by which Wants tells whether its result is still wanted.
  int Begin() {
    const Clock::time_point now = Clock::now();
    if (!deadline_) deadline_ = now + limits_.in_all;
    patience_ = std::min(now + Silence(), *deadline_);
    running_ = true;
    return ++number_;
  }

  bool Wants(int number) const { return running_ && number == number_; }

  // Takes the result of the running try. Returns whether there is another one.
  bool Settle(const BlockingCarrier::Outcome& outcome) {
    if (const auto* const refusal = std::get_if<BlockingCarrier::Refusal>(&outcome)) {
      EndTry(0);
      status_ = refusal->status;
      return TryAgainOrFail(*refusal);
    }
    const auto& answer = std::get<BlockingCarrier::Answer>(outcome);
    EndTry(answer.received + (request_.body == nullptr ? 0 : request_.body->size()));
    if (request_.object && request_.object->Differs(answer.object)) {
      SetFailed(ErrorCode::kDataLoss,
                StrCat("the object was replaced after it was opened",
                       request_.object->ChangeTo(answer.object)),
                1);
      return false;
    }
    const uint64_t size = answer.object.size.value_or(0);
    const uint64_t behind = size - std::min(size, request_.offset);
    if (answer.received != std::min<uint64_t>(request_.size, behind)) {
      BlockingCarrier::Refusal refusal;
      refusal.problem = StrCat("the server has sent ", answer.received, " bytes and no more");
      refusal.passes = true;
      return TryAgainOrFail(refusal);
    }
    object_ = answer.object;
    received_ = answer.received;
    SetEnded(std::nullopt);
    return false;
  }

  // Ends the running try, whose call is ignored from now on. Returns whether there is another try.
  // The call may still write, so the next one gets other memory.
  bool GiveUp(Clock::time_point now) {
    EndTry(0);
    BlockingCarrier::Refusal refusal;
    if (now >= *deadline_) {
      refusal.problem = TooLong();
    } else {
      refusal.problem = StrCat("nothing came from the server for ", Silence().count(), " ms");
      refusal.passes = true;
    }
    if (!TryAgainOrFail(refusal)) return false;
    try {
      if (request_.size > 0) request_.buffer = BufferPool::At(Place()).Take(request_.size);
    } catch (...) {
      Fail(CurrentError());
      return false;
    }
    return true;
  }

  void Fail(const Error& error) {
    running_ = pausing_ = false;
    SetEnded(Located(error));
  }

  void EndTry(size_t bytes) {
    if (!running_) return;
    running_ = false;
    HttpHostStats counts;
    counts.host = host_;
    counts.requests = 1;
    counts.retries = number_ > 1 ? 1 : 0;
    counts.bytes = bytes;
    CountHttp(counts);
  }

 private:
  void Attend() const override;

  // How long the next call may take.
  milliseconds Silence() const {
    constexpr int kMostDoublings = 10;
    return limits_.silence * (1 << std::min(failed_, kMostDoublings));
  }

  std::string TooLong() const {
    return StrCat("the request takes more than ", limits_.in_all.count(), " ms");
  }

  bool TryAgainOrFail(const BlockingCarrier::Refusal& refusal) {
    ++failed_;
    std::string problem = refusal.problem;
    if (refusal.passes && failed_ < MostTries(limits_)) {
      due_ = Clock::now() + limits_.PauseAfter(failed_);
      pausing_ = due_ < *deadline_;
      if (pausing_) return true;
      problem = StrCat(TooLong(), "; ", problem);
    }
    SetFailed(refusal.code, problem, failed_);
    return false;
  }

  const BlockingCarrier* const carrier_;  // which the request holds
  const HttpLimits limits_;
  std::optional<Clock::time_point> deadline_;  // once the first try has begun
  Clock::time_point patience_, due_;
  int number_ = 0;  // of the last try
  int failed_ = 0;
  bool running_ = false;
  bool pausing_ = false;
};

// All such requests of the process, and the threads that work on them. A thread that finds nothing
// to do ends.
class Tries {
 public:
  static Tries& Get() { return OwnObject<Tries>(); }

  void Start(const std::shared_ptr<BlockingTransfer>& transfer) {
    const MutexLock lock(&mutex_);
    if (stopping_) ThrowStopped();
    if (!has_exit_handler_) {
      std::atexit([] { Get().Stop(); });
      has_exit_handler_ = true;
    }
    most_threads_ = transfer->limits().under_way;
    transfers_.emplace(transfer.get(), transfer);
    Enqueue(transfer);
  }

  void Cancel(const HttpTransfer* transfer) {
    const MutexLock lock(&mutex_);
    const auto found = transfers_.find(transfer);
    if (found == transfers_.end()) return;
    const std::shared_ptr<BlockingTransfer> dropped = found->second;
    Drop(dropped, "nobody waits for it");
  }

  // Does what is due: tries after a pause, and the ends of calls that take too long. Threads that
  // wait call it again and again. Without a waiting thread it is not needed.
  void Attend() {
    Transfers looked_at;  // a copy, since transfers may end here; let go of without the mutex
    const MutexLock lock(&mutex_);
    const Clock::time_point now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + kLook;
    looked_at = transfers_;
    for (const auto& [_, transfer] : looked_at) {
      if (transfer->IsDue(now)) Enqueue(transfer);
      if (!transfer->IsTooLate(now)) continue;
      if (!transfer->GiveUp(now)) transfers_.erase(transfer.get());
      Abandon();
    }
  }

 private:
  using Transfers = std::map<const HttpTransfer*, std::shared_ptr<BlockingTransfer>>;

  void Enqueue(const std::shared_ptr<BlockingTransfer>& transfer) REQUIRES(mutex_) {
    transfer->EndPause();
    const auto is_patient = [](const auto& other) { return !other->request().urgent; };
    const auto behind = transfer->request().urgent
                            ? std::find_if(waiting_.begin(), waiting_.end(), is_patient)
                            : waiting_.end();
    waiting_.insert(behind, transfer);
    AddThread();
  }

  void AddThread() REQUIRES(mutex_) {
    if (stopping_ || waiting_.empty() || threads_ >= most_threads_) return;
    try {
      std::thread([this] { Work(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      if (threads_ > 0) return;  // one of them will do it later
      for (const auto& transfer : std::exchange(waiting_, {})) {
        transfer->Fail(CurrentError());
        transfers_.erase(transfer.get());
      }
    }
  }

  // Ignores a thread's call from now on: another call may take its place.
  void Abandon() REQUIRES(mutex_) {
    --threads_;
    ++late_threads_;
    AddThread();
  }

  // The caller keeps the transfer.
  void Drop(const std::shared_ptr<BlockingTransfer>& transfer, const char* why) REQUIRES(mutex_) {
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), transfer), waiting_.end());
    const bool runs = transfer->running();
    transfer->EndTry(0);
    transfer->Fail(Error(ErrorCode::kCancelled, why));
    transfers_.erase(transfer.get());
    if (runs) Abandon();
  }

  void Work() {
    BlockSignals();
    MutexLock lock(&mutex_);
    while (!waiting_.empty()) {
      std::shared_ptr<BlockingTransfer> transfer = std::move(waiting_.front());
      waiting_.pop_front();
      const bool heard = RunTry(*transfer);
      lock.Unlock();
      transfer = nullptr;  // perhaps the last reference to the carrier, whose end may take long
      lock.Lock();
      if (!heard) {
        --late_threads_;
        when_fewer_.notify_all();
        return;
      }
    }
    --threads_;
    when_fewer_.notify_all();
  }

  // Returns false if the result was no longer wanted.
  bool RunTry(BlockingTransfer& transfer) REQUIRES(mutex_) {
    const int number = transfer.Begin();
    const HttpRequest request = transfer.request();  // with the memory of this try
    BlockingCarrier::Outcome outcome;
    std::optional<Error> error;
    mutex_.Unlock();
    try {
      outcome =
          transfer.carrier().Ask(request, request.size > 0 ? request.buffer->data() : nullptr);
    } catch (...) {
      error = CurrentError();
    }
    mutex_.Lock();
    if (!transfer.Wants(number)) return false;
    if (error) {
      transfer.EndTry(0);
      transfer.Fail(*error);
    } else if (transfer.Settle(outcome)) {
      return true;
    }
    transfers_.erase(&transfer);
    return true;
  }

  void Stop() {
    Transfers dropped;
    MutexLock lock(&mutex_);
    stopping_ = true;
    dropped = transfers_;
    for (const auto& [_, transfer] : dropped) Drop(transfer, "the process ends");
    when_fewer_.wait_for(lock.native(), kEndOfProcess,
                         [this]() REQUIRES(mutex_) { return threads_ + late_threads_ == 0; });
  }

  Mutex mutex_;
  std::condition_variable when_fewer_;
  Transfers transfers_ GUARDED_BY(mutex_);  // not ended
  // For a thread, the next one first.
  std::deque<std::shared_ptr<BlockingTransfer>> waiting_ GUARDED_BY(mutex_);
  Clock::time_point next_look_ GUARDED_BY(mutex_);
  size_t most_threads_ GUARDED_BY(mutex_) = 0;
  size_t threads_ GUARDED_BY(mutex_) = 0;       // whose calls count
  size_t late_threads_ GUARDED_BY(mutex_) = 0;  // the others
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool has_exit_handler_ GUARDED_BY(mutex_) = false;
};

void BlockingTransfer::Attend() const { Tries::Get().Attend(); }

}  // namespace

std::shared_ptr<const HttpTransfer> BlockingCarrier::Start(HttpRequest request) const {
  auto transfer = std::make_shared<BlockingTransfer>(std::move(request), this);
  Tries::Get().Start(transfer);
  return transfer;
}

void BlockingCarrier::Cancel(const HttpTransfer& transfer) const { Tries::Get().Cancel(&transfer); }

}  // namespace millhopper
