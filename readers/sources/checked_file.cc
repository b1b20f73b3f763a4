// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/checked_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/tensor/rows.h"

namespace millhopper {
namespace {

constexpr size_t kLoadedAtOnce = 128;

// The error that is being handled, if it is about the file.
Error ErrorOfData() {
  Error error = CurrentError();
  if (error.interrupts()) throw Error(error);
  return error;
}

}  // namespace

CheckedFile::Looked CheckedFile::CheckChunk(DealtChunk* dealt, uint64_t first) const {
  Looked chunk;
  const Ref<TicketRun> run = Pool<TicketRun>::Take();
  Rows rows;
  const auto load = [&](const Ticket* tickets, size_t n) {
    rows.Reset(row_slots());
    LoadRows(tickets, n, &rows);
    chunk.records += n;
  };
  try {
    dealt->Fetch(account());
    while (const size_t left = dealt->available()) {
      const size_t n = std::min(left, kLoadedAtOnce);
      run->Clear();
      dealt->Take(n, first, 1, run.get());
      first += n;
      try {
        load(run->tickets.data(), n);
      } catch (...) {
        ErrorOfData();
        for (const Ticket& ticket : run->tickets) {
          try {
            load(&ticket, 1);
          } catch (...) {
            chunk.errors.push_back(ErrorOfData());
          }
        }
      }
    }
  } catch (...) {
    chunk.errors.push_back(ErrorOfData());
  }
  return chunk;
}

CheckedFile::Found CheckedFile::Check(const std::function<void(const Error& error)>& report,
                                      const std::function<void(uint64_t bytes)>& progress) {
  Found found;
  const auto tell = [&](const Error& error) {
    ++found.bad;
    report(error);
  };
  const Ref<ChunkQueue> queue = OpenFile(0, 0);
  const auto at_once = static_cast<size_t>(std::max(1, ThreadPool::Get().size()));
  for (bool more = true; more;) {
    std::vector<DealtChunk> dealt;
    std::optional<Error> end;
    while (more && dealt.size() < at_once) {
      try {
        std::optional<DealtChunk> next = queue->Deal();
        more = next.has_value();
        if (more) dealt.push_back(*std::move(next));
      } catch (...) {
        end = ErrorOfData();
        more = false;
      }
    }
    std::vector<Looked> chunks(dealt.size());
    ParallelFor(dealt.size(), [&](size_t i) { chunks[i] = CheckChunk(&dealt[i], found.records); });
    for (const Looked& chunk : chunks) {
      found.records += chunk.records;
      for (const Error& error : chunk.errors) tell(error);
    }
    if (end) tell(*end);
    if (!dealt.empty()) progress(dealt.back().place().chunk);
    CheckStop();
  }
  return found;
}

}  // namespace millhopper
