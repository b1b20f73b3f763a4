// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/memory_limit.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

constexpr size_t kSmallestLimit = size_t{1} << 20;
constexpr size_t kMostNamed = 4;
constexpr size_t kAheadOneIn = 4;  // part of the limit is for what is ahead of need

std::atomic<size_t> limit{SIZE_MAX};
// Of what the pools gave out, by whether it is needed now.
std::atomic<size_t> needed_now{0};
std::atomic<size_t> ahead_of_need{0};
std::atomic<size_t> peak_now{0};  // of needed_now
std::atomic<size_t> held{0};      // what the pools gave out, and what lies idle in them

size_t ShareAhead() { return limit.load(std::memory_order_relaxed) / kAheadOneIn; }
size_t ShareNow() { return limit.load(std::memory_order_relaxed) - ShareAhead(); }

// Accounts live as long as buffers of theirs, which may be beyond the end of main.
Mutex& AccountsMutex() {
  static auto* const mutex = new Mutex;
  return *mutex;
}

std::set<MemoryAccount*>& Accounts() REQUIRES(AccountsMutex()) {
  static auto* accounts = new std::set<MemoryAccount*>;
  return *accounts;
}

std::string Megabytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

// A limit that has room for so many bytes that are needed at once, as --memory_limit takes it.
std::string LimitFor(size_t needed) {
  constexpr size_t kSpareOneIn = 10;  // sizes are estimated, and differ from element to element
  constexpr size_t kMegabyte = 1000000;
  constexpr size_t kGigabyte = 1000 * kMegabyte;
  const size_t share = needed + needed / kSpareOneIn;
  const size_t bytes = share + share / (kAheadOneIn - 1);
  const bool large = bytes > 10 * kGigabyte;
  const size_t unit = large ? kGigabyte : kMegabyte;
  return StrCat((bytes + unit - 1) / unit, large ? "GB" : "MB");
}

// ": reader 'train' (...) 58.0 MB, reader 'files' (...) 4.5 MB", most first.
std::string WhoUsesIt(size_t total) {
  std::map<std::string, size_t> by_name;  // handles of one reader share its name
  {
    const MutexLock lock(&AccountsMutex());
    for (const MemoryAccount* account : Accounts()) {
      const size_t bytes = account->bytes();
      if (bytes == 0) continue;
      by_name[account->name().empty() ? "a reader" : account->name()] += bytes;
      total -= std::min(total, bytes);
    }
  }
  if (total > 0) by_name["variables of the program"] += total;
  std::vector<std::pair<size_t, std::string>> sorted;
  sorted.reserve(by_name.size());
  for (const auto& [name, bytes] : by_name) sorted.emplace_back(bytes, name);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMostNamed); ++i) {
    text += StrCat(i == 0 ? ": " : ", ", sorted[i].second, " ", Megabytes(sorted[i].first));
  }
  if (sorted.size() > kMostNamed) text += StrCat(" and ", sorted.size() - kMostNamed, " more");
  return text;
}

}  // namespace

MemoryAccount::MemoryAccount() {
  const MutexLock lock(&AccountsMutex());
  Accounts().insert(this);
}

MemoryAccount::~MemoryAccount() {
  const MutexLock lock(&AccountsMutex());
  Accounts().erase(this);
}

MemoryScope::MemoryScope(const Ref<MemoryAccount>& account, Need need)
    : previous_(std::exchange(ThisLane().memory, this)),
      account_(account.get()),
      ahead_(need == Need::kAhead || (previous_ != nullptr && previous_->ahead_)) {}

MemoryScope::MemoryScope(const MemoryScope* other, Need need)
    : previous_(std::exchange(ThisLane().memory, this)),
      account_(other == nullptr ? nullptr : other->account_),
      ahead_(need == Need::kAhead || (other != nullptr && other->ahead_)) {}

MemoryScope::~MemoryScope() { ThisLane().memory = previous_; }

std::string MemoryScope::CurrentName() {
  const MemoryScope* const current = Current();
  return current == nullptr || !current->account_ ? "" : current->account_->name();
}

bool MemoryScope::IsAhead() { return MayGiveUp() && MemoryLimit::is_set(); }

bool MemoryScope::MayGiveUp() { return Current() != nullptr && Current()->ahead_; }

void MemoryScope::ThrowRefused() {
  auto cause = std::make_shared<OutOfMemory>();
  cause->refused = true;
  throw Error(ErrorCode::kResourceLimit, "no memory to load what is not needed yet")
      .WithCause(std::move(cause));
}

void MemoryLimit::Set(size_t bytes) {
  Require(bytes >= kSmallestLimit, "a memory limit of ", bytes, " bytes; the least is ",
          kSmallestLimit);
  limit.store(bytes);
  // Larger blocks are mapped one by one, so that what is given back leaves the process.
  if (bytes != SIZE_MAX) mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

size_t MemoryLimit::bytes() { return limit.load(std::memory_order_relaxed); }

bool MemoryLimit::HasRoomAhead(size_t bytes) {
  const size_t used = ahead_of_need.load(std::memory_order_relaxed);
  return used <= ShareAhead() && bytes <= ShareAhead() - used;
}

bool MemoryLimit::HasRoomInStore() {
  return needed_now.load(std::memory_order_relaxed) < ShareNow() / 2;
}

MemoryCharge MemoryLimit::Use(size_t bytes) {
  const MemoryScope* const current = MemoryScope::Current();
  if (current != nullptr && current->ahead_) {
    const size_t used = ahead_of_need.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (used <= ShareAhead()) {
      if (current->account_) current->account_->AddAhead(bytes);
      return {Ref<MemoryAccount>(current->account_), true};
    }
    ahead_of_need.fetch_sub(bytes, std::memory_order_relaxed);
    MemoryScope::ThrowRefused();
  }
  const size_t used = needed_now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (used > ShareNow()) {
    needed_now.fetch_sub(bytes, std::memory_order_relaxed);
    // The reader that is refused will need more: at least another element of this size.
    Refuse(bytes, 2 * used);
  }
  if (is_set()) {
    for (size_t peak = peak_now.load(std::memory_order_relaxed);
         used > peak && !peak_now.compare_exchange_weak(peak, used, std::memory_order_relaxed);) {
    }
  }
  if (current == nullptr || !current->account_) return {};
  current->account_->Add(bytes);
  return {Ref<MemoryAccount>(current->account_), false};
}

void MemoryLimit::Unuse(size_t bytes, const MemoryCharge& charge) {
  (charge.ahead ? ahead_of_need : needed_now).fetch_sub(bytes, std::memory_order_relaxed);
  if (!charge.account) return;
  charge.ahead ? charge.account->SubtractAhead(bytes) : charge.account->Subtract(bytes);
}

void MemoryLimit::UseNow(size_t bytes, MemoryCharge* charge) {
  if (!charge->ahead) return;
  needed_now.fetch_add(bytes, std::memory_order_relaxed);
  ahead_of_need.fetch_sub(bytes, std::memory_order_relaxed);
  if (charge->account) charge->account->SubtractAhead(bytes);
  charge->ahead = false;
  const MemoryScope* const current = MemoryScope::Current();
  charge->account = Ref<MemoryAccount>(current == nullptr ? nullptr : current->account_);
  if (charge->account) charge->account->Add(bytes);
}

void MemoryLimit::Reserve(size_t bytes) {
  for (Backoff backoff;;) {
    const size_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const size_t most = limit.load(std::memory_order_relaxed);
    if (now <= most) return;
    held.fetch_sub(bytes, std::memory_order_relaxed);
    if (BufferPool::FreeIdle(now - most) > 0) continue;
    // If what is in use fits, the missing memory is on its way from a thread to its pool.
    const size_t used = needed_now.load() + ahead_of_need.load();
    if (used > most) Refuse(bytes, 2 * used);
    CheckWait();
    backoff.Pause();
  }
}

void MemoryLimit::Unreserve(size_t bytes) { held.fetch_sub(bytes, std::memory_order_relaxed); }

size_t MemoryLimit::needed() { return needed_now.load(std::memory_order_relaxed); }

size_t MemoryLimit::peak() { return peak_now.load(std::memory_order_relaxed); }

void MemoryLimit::ResetPeak() { peak_now.store(needed_now.load(), std::memory_order_relaxed); }

bool MemoryLimit::IsPossible(size_t bytes) {
  constexpr size_t kDiffersOneIn = 16;  // by as much, for example, as one chunk more of a file
  return bytes <= ShareNow() - ShareNow() / kDiffersOneIn;
}

void MemoryLimit::CheckPossible(size_t bytes) {
  if (IsPossible(bytes)) return;
  const size_t used = needed_now.load();
  Refuse(bytes - std::min(bytes, used), bytes);
}

void MemoryLimit::Refuse(size_t bytes, size_t needed) {
  const size_t used = needed_now.load();
  const std::string who = MemoryScope::CurrentName();
  const std::string problem = StrCat("the memory limit of ", Megabytes(limit),
                                     " is reached: ", who.empty() ? "" : who + " needs ",
                                     Megabytes(bytes), who.empty() ? " are needed and " : " and ",
                                     Megabytes(used), " are in use", WhoUsesIt(used));
  auto cause = std::make_shared<OutOfMemory>();
  cause->problem = problem;
  // A request for more than two blocks of reading is for one large record.
  throw Advised(Error(ErrorCode::kResourceLimit, problem).WithCause(std::move(cause)), needed,
                bytes > 2 * kReadBlockBytes ? bytes : 0);
}

Error MemoryLimit::Advised(const Error& error, size_t needed, size_t element) {
  const OutOfMemory* const before = error.out_of_memory();
  if (before == nullptr || before->problem.empty()) return error;
  auto cause = std::make_shared<OutOfMemory>();
  cause->problem = before->problem;
  cause->needed = needed;
  cause->element = element;
  return error.WithCause(std::move(cause))
      .WithMessage(StrCat(before->problem, "; raise the limit to ", LimitFor(needed),
                          ", or lower buffer_size, batch_size or depth of the first named"));
}

}  // namespace millhopper
