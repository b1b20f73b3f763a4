// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/sources.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"

namespace millhopper {
namespace {

constexpr int64_t kBlockRecords = 16;

std::atomic<int64_t> live_blocks{0};

// A few records that lie together, as in a chunk of a file.
class Block final : public RefCounted {
 public:
  explicit Block(int64_t first) {
    ++live_blocks;
    for (int64_t i = 0; i < kBlockRecords; ++i) values[i] = first + i;
  }
  int64_t values[kBlockRecords];

 private:
  ~Block() override { --live_blocks; }
};

void AppendRecord(const SourceSpec& spec, int64_t record, Rows* rows) {
  if (!spec.ragged) {
    const int64_t value = record;
    __builtin_memcpy(rows->Append(0, DataType::kInt64, {1, 1}), &value, sizeof(value));
    return;
  }
  const int64_t length = record % 4;
  const uint64_t offsets[2] = {0, static_cast<uint64_t>(length)};
  const LodLevelView lod(offsets, 2);
  char* place = rows->Append(0, DataType::kInt64, {length, 1}, &lod, 1);
  for (int64_t i = 0; i < length; ++i) __builtin_memcpy(place + 8 * i, &record, sizeof(record));
}

class PlannedSource final : public ReaderBase {
 public:
  explicit PlannedSource(const SourceSpec& spec) : ReaderBase(SlotsOf(spec)), spec_(spec) {}

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const int64_t record = *reinterpret_cast<const int64_t*>(tickets[i].bytes);
      if (spec_.jitter != 0) Dawdle(spec_.jitter, 2 * static_cast<uint64_t>(record) + 1);
      if (record == spec_.load_error) {
        Throw(ErrorCode::kDataLoss, "record ", record, " cannot be loaded");
      }
      AppendRecord(spec_, record, rows);
      if (spec_.ledger != nullptr) spec_.ledger->Count(record);
    }
  }

  std::optional<uint64_t> PassLength() const override {
    return static_cast<uint64_t>(spec_.records);
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    for (; n > 0 && next_ < spec_.records; --n, ++next_) {
      if (next_ == spec_.plan_error) {
        Throw(ErrorCode::kDataLoss, "record ", next_, " cannot be planned");
      }
      if (spec_.jitter != 0) Dawdle(spec_.jitter, 2 * static_cast<uint64_t>(next_));
      if (next_ % kBlockRecords == 0) block_ = BlockOf(next_);
      run->Add(TicketOf(next_, pass_, block_.get()));
    }
    if (next_ == spec_.records) block_ = Ref<Block>();
  }

  void Rewind(uint64_t pass) override {
    pass_ = pass;
    next_ = 0;
    block_ = Ref<Block>();
  }

  void SaveState(ReaderState* state) const override {
    state->Setting("records", static_cast<uint64_t>(spec_.records));
    state->Set("pass", pass_);
    state->Set("next", static_cast<uint64_t>(next_));
  }
  void RestoreState(const ReaderState& state) override {
    pass_ = state.Get("pass");
    next_ = static_cast<int64_t>(state.Get("next", static_cast<uint64_t>(spec_.records)));
    if (next_ % kBlockRecords != 0) block_ = BlockOf(next_);
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    names->AddRecords(tickets, n);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    for (size_t i = 0; i < names.records.size(); ++i) {
      const RecordId& id = names.records[i];
      Require(id.sample < static_cast<uint64_t>(spec_.records), "no such record");
      const auto record = static_cast<int64_t>(id.sample);
      const Ref<Block> block = BlockOf(record);
      take(i, TicketOf(record, id.pass, block.get()));
    }
  }

  static Ref<Block> BlockOf(int64_t record) {
    return Ref<Block>(new Block(record - record % kBlockRecords));
  }
  static Ticket TicketOf(int64_t record, uint64_t pass, Block* block) {
    Ticket ticket;
    ticket.id.sample = static_cast<uint64_t>(record);
    ticket.id.pass = pass;
    ticket.bytes = reinterpret_cast<const char*>(&block->values[record % kBlockRecords]);
    ticket.owner = block;
    ticket.size = sizeof(int64_t);
    return ticket;
  }

  const SourceSpec spec_;
  uint64_t pass_ = 0;
  int64_t next_ = 0;
  Ref<Block> block_;
};

class SequentialSource final : public SequentialReader {
 public:
  explicit SequentialSource(const SourceSpec& spec) : SequentialReader(SlotsOf(spec)), spec_(spec) {
    Require(spec.load_error == -1, "a sequential source makes its records while it plans");
  }

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override {
    // SequentialReader promises the author of a reader not to ask again.
    if (over_) Throw(ErrorCode::kInternal, "asked again after the end or an error");
    over_ = next_ == spec_.records || next_ == spec_.plan_error;
    if (next_ == spec_.records) return false;
    if (spec_.jitter != 0) Dawdle(spec_.jitter, static_cast<uint64_t>(next_));
    if (next_ == spec_.plan_error) {
      Throw(ErrorCode::kDataLoss, "record ", next_, " cannot be planned");
    }
    Rows rows(slots());
    AppendRecord(spec_, next_, &rows);
    rows.MoveTo(out);
    if (spec_.ledger != nullptr) spec_.ledger->Count(next_);
    ++next_;
    return true;
  }

  void ReInitImpl() override {
    next_ = 0;
    over_ = false;
  }
  bool IsRepeatable() const override { return true; }

  const SourceSpec spec_;
  int64_t next_ = 0;
  bool over_ = false;
};

}  // namespace

std::vector<SlotSpec> SlotsOf(const SourceSpec& spec) {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {spec.ragged ? -1 : 1, 1};
  slot.lod_level = spec.ragged ? 1 : 0;
  return {slot};
}

std::unique_ptr<ReaderBase> MakePlannedSource(const SourceSpec& spec) {
  return std::make_unique<PlannedSource>(spec);
}

std::unique_ptr<ReaderBase> MakePlannedSource(int64_t records, bool ragged) {
  SourceSpec spec;
  spec.records = records;
  spec.ragged = ragged;
  return MakePlannedSource(spec);
}

std::unique_ptr<ReaderBase> MakeSequentialSource(const SourceSpec& spec) {
  return std::make_unique<SequentialSource>(spec);
}

int64_t LiveSourceBlocks() { return live_blocks.load(); }

void Dawdle(uint64_t seed, uint64_t index) {
  const uint64_t bits = MixBits(seed ^ MixBits(index + 1));
  if (bits % 32 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds((bits >> 8) % 50));
  } else if (bits % 8 == 1) {
    std::this_thread::yield();
  }
}

}  // namespace millhopper
