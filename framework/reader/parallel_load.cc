// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/parallel_load.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "framework/memory/attempt.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_counters.h"

namespace millhopper {
namespace {

constexpr double kPartMicroseconds = 200;

// The only slot whose elements are not one step each; nothing if there are more.
std::optional<size_t> OnlyRagged(const std::vector<SlotSpec>& slots) {
  std::optional<size_t> ragged;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].one_step()) continue;
    if (ragged) return std::nullopt;
    ragged = slot;
  }
  return ragged;
}

// Makes room for n elements. For the only slot whose sizes are not declared it takes their encoded
// size; under a limit only if there is no other slot, which the encoded size would include. Does
// nothing for one element, which may bring its own buffer.
void Expect(const ReaderBase& reader, const Ticket* tickets, size_t n, Rows* rows) {
  if (n == 1) return;
  if (AreOneStep(reader.row_slots())) {
    rows->FixInnerDims(reader.row_slots());  // only the file may have told them
  } else if (const std::optional<size_t> ragged = OnlyRagged(reader.row_slots());
             ragged && (rows->size() == 1 || !MemoryLimit::is_set())) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; ++i) bytes += tickets[i].size;
    rows->ExpectBytes(*ragged, bytes);
  }
  rows->Expect(n);
}

}  // namespace

void CheckOneStepEach(const Rows& rows, size_t elements) {
  for (size_t slot = 0; slot < rows.size(); ++slot) {
    if (rows.steps(slot) == static_cast<int64_t>(elements)) continue;
    Throw(ErrorCode::kInternal, "slot ", slot, ": ", elements, " elements of one step each have ",
          rows.steps(slot), " steps");
  }
}

void ParallelLoad::Load(const ReaderBase& reader, const Ticket* tickets, size_t n, Rows* rows,
                        bool alone) {
  const size_t grain = this->grain();
  Expect(reader, tickets, n, rows);
  if (alone || n <= grain || ThreadPool::Get().size() == 0) {
    LoadTimed(reader, tickets, n, rows);
  } else if (AreOneStep(reader.row_slots())) {
    LoadOneStepParts(reader, tickets, n, grain, rows);
  } else {
    LoadScratchParts(reader, tickets, n, grain, rows);
  }
}

// For one-step slots the place of every row is known before loading. If there is no memory for the
// scratch rows of several threads, the calling thread loads everything.
void ParallelLoad::LoadOneStepParts(const ReaderBase& reader, const Ticket* tickets, size_t n,
                                    size_t grain, Rows* rows) {
  const auto load_part = [&](size_t k) {
    const size_t size = std::min(grain, n - k * grain);
    Ref<ScratchRows> part = Pool<ScratchRows>::Take();
    rows->MakePart(k * grain, &part->rows);
    LoadTimed(reader, tickets + k * grain, size, &part->rows);
    CheckOneStepEach(part->rows, size);
  };
  if (TryAhead([&] { ParallelFor((n + grain - 1) / grain, load_part); })) {
    rows->AdvanceParts(n);
  } else {
    reader.Load(tickets, n, rows);
  }
}

// For other slots sizes are known only after loading, so each part has its own rows, which are
// joined at the end. The error thrown is the one that loading in order would meet first: a part may
// fail to join before its own error counts. From the first part that was refused memory on, the
// calling thread loads the rest.
void ParallelLoad::LoadScratchParts(const ReaderBase& reader, const Ticket* tickets, size_t n,
                                    size_t grain, Rows* rows) {
  const size_t parts = (n + grain - 1) / grain;
  std::vector<Ref<ScratchRows>> loaded(parts);
  std::vector<Attempt> attempts(parts);
  {
    const MemoryScope ahead(MemoryScope::Current(), MemoryScope::Need::kAhead);
    ParallelFor(parts, [&](size_t k) {
      loaded[k] = Pool<ScratchRows>::Take();
      const size_t size = std::min(grain, n - k * grain);
      attempts[k] = Attempt([&] {
        loaded[k]->rows.Reset(reader.row_slots());
        Expect(reader, tickets + k * grain, size, &loaded[k]->rows);
        LoadTimed(reader, tickets + k * grain, size, &loaded[k]->rows);
      });
    });
  }
  size_t refused = 0;
  while (refused < parts && attempts[refused].outcome() != Attempt::Outcome::kRefused) ++refused;
  for (size_t slot = 0; slot < rows->size(); ++slot) {
    size_t bytes = 0;
    for (size_t k = 0; k < refused; ++k) bytes += loaded[k]->rows.bytes(slot);
    rows->ExpectBytes(slot, bytes);
  }
  for (size_t k = 0; k < refused; ++k) {
    try {
      rows->Join(loaded[k]->rows);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      // The inner dims of this part differ; loading its first element throws an error that names
      // it.
      reader.Load(tickets + k * grain, 1, rows);
      attempts[k].ThrowUnlessDone();
      throw;
    }
    attempts[k].ThrowUnlessDone();
    loaded[k] = Ref<ScratchRows>();
  }
  loaded.clear();
  if (refused < parts) reader.Load(tickets + refused * grain, n - refused * grain, rows);
}

void ParallelLoad::LoadTimed(const ReaderBase& reader, const Ticket* tickets, size_t n,
                             Rows* rows) {
  LoadTimer timer(reader.counters());
  reader.Load(tickets, n, rows);
  const double microseconds = std::chrono::duration<double, std::micro>(timer.Stop()).count();
  const double wanted = kPartMicroseconds * static_cast<double>(n) / std::max(microseconds, 0.01);
  const auto old = static_cast<double>(grain());
  grain_.store(static_cast<size_t>(std::clamp(old * 0.75 + wanted * 0.25, 1.0, 1e6)),
               std::memory_order_relaxed);
}

}  // namespace millhopper
