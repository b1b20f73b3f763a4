// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/ticket.h"

namespace millhopper {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

TicketRun::TicketRun() : id_(NextId()) {}

void TicketRun::Clear() {
  Empty(&tickets);
  if (kept_.empty()) return;
  Empty(&kept_);
  id_ = NextId();
}

void TicketRun::Dispose() {
  Clear();
  Pool<TicketRun>::Give(this);
}

}  // namespace millhopper
