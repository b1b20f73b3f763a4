// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/ticket.h"

namespace millhopper {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Run::Run() : id_(NextId()) {}

void Run::Clear() {
  Empty(&tickets);
  if (kept_.empty()) return;
  Empty(&kept_);
  id_ = NextId();
}

void Run::Dispose() {
  Clear();
  Pool<Run>::Give(this);
}

}  // namespace millhopper
