// SPDX-License-Identifier: Apache-2.0
// Records on their way into the cache before they are loaded: after a shuffle they lie at random
// places.
#ifndef MILLHOPPER_FRAMEWORK_READER_PREFETCHED_H_
#define MILLHOPPER_FRAMEWORK_READER_PREFETCHED_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "framework/reader/ticket.h"

namespace millhopper {

// Fetches the beginning of a record into the cache, and that of its second page: the processor
// fetches the rest by itself, but no further than to the end of a page. Always inlined, since gcc
// 12 may remove the calls of a function that does nothing but prefetch.
[[gnu::always_inline]] inline void PrefetchRecord(const char* bytes, size_t size) {
  constexpr size_t kBytes = 256;
  constexpr size_t kBytesOfPage = 128;
  constexpr size_t kPageBytes = 4096;
  constexpr size_t kCacheLine = 64;
  for (size_t at = 0; at < std::min(size, kBytes); at += kCacheLine) __builtin_prefetch(bytes + at);
  const size_t page = kPageBytes - reinterpret_cast<uintptr_t>(bytes) % kPageBytes;
  for (size_t at = page; at < std::min(size, page + kBytesOfPage); at += kCacheLine) {
    __builtin_prefetch(bytes + at);
  }
}

// The tickets of a loop that loads their records, in order. While one is loaded, another one that
// is a few tickets further on is prefetched.
class Prefetched {
 public:
  class Iterator {
   public:
    Iterator(const Ticket* ticket, const Ticket* ahead, const Ticket* fetched_until)
        : ticket_(ticket), ahead_(ahead), fetched_until_(fetched_until) {}
    const Ticket& operator*() const { return *ticket_; }
    Iterator& operator++() {
      if (ahead_ < fetched_until_) {
        PrefetchRecord(ahead_->bytes, ahead_->size);
        ++ahead_;
      }
      ++ticket_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return ticket_ != other.ticket_; }

   private:
    const Ticket* ticket_;
    const Ticket* ahead_;
    const Ticket* const fetched_until_;
  };

  // `fetches` is false for another loop through the same tickets.
  Prefetched(const Ticket* tickets, size_t n, bool fetches = true)
      : begin_(tickets), end_(tickets + n), fetched_until_(fetches ? end_ : begin_) {}

  Iterator begin() const {
    constexpr std::ptrdiff_t kAhead = 3;
    const Ticket* ahead = begin_;
    for (; ahead < fetched_until_ && ahead - begin_ < kAhead; ++ahead) {
      PrefetchRecord(ahead->bytes, ahead->size);
    }
    return {begin_, ahead, fetched_until_};
  }
  Iterator end() const { return {end_, end_, end_}; }

 private:
  const Ticket* const begin_;
  const Ticket* const end_;
  const Ticket* const fetched_until_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PREFETCHED_H_
