// SPDX-License-Identifier: Apache-2.0
// Tickets in order, for the loop in which a format loads their records.
#ifndef MILLHOPPER_FRAMEWORK_READER_PREFETCHED_H_
#define MILLHOPPER_FRAMEWORK_READER_PREFETCHED_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "framework/reader/ticket.h"

namespace millhopper {

// While the loop loads a record, the beginning of another one, a few tickets further on, is on its
// way into the cache: after a shuffle, records lie at random places.
class Prefetched {
 public:
  class Iterator {
   public:
    Iterator(const Ticket* ticket, const Ticket* ahead, const Ticket* end)
        : ticket_(ticket), ahead_(ahead), end_(end) {}
    const Ticket& operator*() const { return *ticket_; }
    Iterator& operator++() {
      if (ahead_ < end_) ahead_ = Prefetch(ahead_);
      ++ticket_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return ticket_ != other.ticket_; }

   private:
    const Ticket* ticket_;
    const Ticket* ahead_;
    const Ticket* const end_;
  };

  // `fetches` is false for another loop through the same tickets.
  Prefetched(const Ticket* tickets, size_t n, bool fetches = true)
      : begin_(tickets), end_(tickets + n), fetched_until_(fetches ? end_ : begin_) {}

  Iterator begin() const {
    const Ticket* ahead = begin_;
    while (ahead < fetched_until_ && ahead - begin_ < kAhead) ahead = Prefetch(ahead);
    return {begin_, ahead, fetched_until_};
  }
  Iterator end() const { return {end_, end_, end_}; }

 private:
  static constexpr std::ptrdiff_t kAhead = 3;
  // Of a record, and of its second page: the processor fetches the rest by itself.
  static constexpr size_t kBytes = 256;
  static constexpr size_t kBytesOfPage = 128;
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kCacheLine = 64;

  // Returns the next ticket: gcc 12 removes calls of a function that only prefetches and returns
  // nothing.
  static const Ticket* Prefetch(const Ticket* ticket) {
    const char* const begin = ticket->bytes;
    const size_t size = ticket->size;
    for (size_t at = 0; at < std::min(size, kBytes); at += kCacheLine) {
      __builtin_prefetch(begin + at);
    }
    // The processor itself fetches no further than to the end of a page.
    const size_t page = kPageBytes - reinterpret_cast<uintptr_t>(begin) % kPageBytes;
    for (size_t at = page; at < std::min(size, page + kBytesOfPage); at += kCacheLine) {
      __builtin_prefetch(begin + at);
    }
    return ticket + 1;
  }

  const Ticket* const begin_;
  const Ticket* const end_;
  const Ticket* const fetched_until_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PREFETCHED_H_
