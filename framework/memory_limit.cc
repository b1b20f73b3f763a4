// SPDX-License-Identifier: Apache-2.0
#include "framework/memory_limit.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "framework/error.h"
#include "framework/memory.h"

namespace millrace {
namespace {

constexpr size_t kSmallestLimit = size_t{1} << 20;
constexpr size_t kMostNamed = 4;

std::atomic<size_t> limit{SIZE_MAX};
std::atomic<size_t> in_use{0};  // of pools
std::atomic<size_t> held{0};    // the same, and what lies idle

thread_local MemoryScope* current = nullptr;

// Accounts live as long as buffers of theirs, which may be beyond the end of main.
std::mutex& AccountsMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::set<MemoryAccount*>& Accounts() {
  static auto* accounts = new std::set<MemoryAccount*>;
  return *accounts;
}

std::string Megabytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

// ": reader 'train' (...) 58.0 MB, reader 'files' (...) 4.5 MB", most first.
std::string WhoUsesIt(size_t total) {
  std::map<std::string, size_t> by_name;  // handles of one reader share its name
  {
    std::lock_guard<std::mutex> lock(AccountsMutex());
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
  std::lock_guard<std::mutex> lock(AccountsMutex());
  Accounts().insert(this);
}

MemoryAccount::~MemoryAccount() {
  std::lock_guard<std::mutex> lock(AccountsMutex());
  Accounts().erase(this);
}

MemoryScope::MemoryScope(const Ref<MemoryAccount>& account, Need need)
    : outer_(current),
      previous_(current),
      account_(account),
      ahead_(need == Need::kAhead || (outer_ != nullptr && outer_->ahead_)) {
  current = this;
}

MemoryScope::MemoryScope(MemoryScope* other)
    : outer_(other),
      previous_(current),
      account_(other == nullptr ? Ref<MemoryAccount>() : other->account_),
      ahead_(other != nullptr && other->ahead_) {
  current = this;
}

MemoryScope::~MemoryScope() { current = previous_; }

MemoryScope* MemoryScope::Current() { return current; }

bool MemoryScope::IsAhead() {
  return current != nullptr && current->ahead_ && limit.load() != SIZE_MAX;
}

void MemoryScope::ThrowRefused() {
  for (MemoryScope* scope = current; scope != nullptr; scope = scope->outer_) {
    scope->refused_.store(true, std::memory_order_relaxed);
  }
  Throw(ErrorCode::kResourceLimit, "no memory to load what is not needed yet");
}

void MemoryLimit::Set(size_t bytes) {
  Require(bytes >= kSmallestLimit, "a memory limit of ", bytes, " bytes; the least is ",
          kSmallestLimit);
  limit.store(bytes);
  // Larger blocks are mapped one by one, so that what is given back leaves the process.
  if (bytes != SIZE_MAX) mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

size_t MemoryLimit::bytes() { return limit.load(); }

bool MemoryLimit::HasRoomAhead() { return in_use.load(std::memory_order_relaxed) < limit / 2; }

Ref<MemoryAccount> MemoryLimit::Use(size_t bytes) {
  const size_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const bool ahead = current != nullptr && current->ahead_;
  if (now > (ahead ? limit.load() / 2 : limit.load())) {
    in_use.fetch_sub(bytes, std::memory_order_relaxed);
    Refuse(bytes);
  }
  if (current == nullptr || !current->account_) return Ref<MemoryAccount>();
  current->account_->Add(bytes);
  return current->account_;
}

void MemoryLimit::Unuse(size_t bytes, MemoryAccount* account) {
  in_use.fetch_sub(bytes, std::memory_order_relaxed);
  if (account != nullptr) account->Subtract(bytes);
}

void MemoryLimit::Hold(size_t bytes) {
  for (;;) {
    const size_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const size_t most = limit.load();
    if (now <= most) return;
    held.fetch_sub(bytes, std::memory_order_relaxed);
    if (BufferPool::FreeIdle(now - most) == 0) Refuse(bytes);
  }
}

void MemoryLimit::Unhold(size_t bytes) { held.fetch_sub(bytes, std::memory_order_relaxed); }

void MemoryLimit::Refuse(size_t bytes) {
  const size_t used = in_use.load();
  if (current != nullptr && current->ahead_) MemoryScope::ThrowRefused();
  const std::string who = current == nullptr || !current->account_ ? "" : current->account_->name();
  Throw(ErrorCode::kResourceLimit, "the memory limit of ", Megabytes(limit),
        " is reached: ", who.empty() ? "" : who + " needs ", Megabytes(bytes),
        who.empty() ? " are needed and " : " and ", Megabytes(used), " are in use", WhoUsesIt(used),
        "; raise the limit, or lower buffer_size, batch_size or depth of the first named");
}

}  // namespace millrace
