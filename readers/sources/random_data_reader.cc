// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/random_data_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {

RandomDataReader::RandomDataReader(std::vector<SlotSpec> slot_specs, float low, float high,
                                   int64_t count, const RandomKey& key)
    : ReaderBase(std::move(slot_specs)),
      low_(low),
      high_(high),
      count_(static_cast<uint64_t>(count)),
      key_(key) {
  Require(low < high, "low is ", low, " and high is ", high, "; low must be less");
  Require(count >= 0, "count is ", count, "; it must be at least 0 (endless)");
  for (size_t i = 0; i < slots().size(); ++i) {
    const SlotSpec& slot = slots()[i];
    const bool whole =
        std::all_of(slot.dims.begin(), slot.dims.end(), [](int64_t dim) { return dim >= 0; });
    Require(slot.known && slot.dtype == DataType::kFp32 && slot.lod_level == 0 && whole, "slot ", i,
            ": ", ToString(slot),
            " is declared; random data is float32 with every dim declared and no levels of detail");
    values_ += static_cast<uint64_t>(Product(slot.dims));
  }
}

std::optional<uint64_t> RandomDataReader::PassLength() const {
  return count_ == 0 ? std::nullopt : std::optional<uint64_t>(count_);
}

void RandomDataReader::PlanNext(size_t n, TicketRun* run) {
  for (; n > 0 && (count_ == 0 || sample_ < count_); --n) {
    Ticket ticket;
    ticket.id.sample = sample_;
    ticket.id.pass = pass_;
    run->Add(ticket);
    ++sample_;
  }
}

void RandomDataReader::Rewind(uint64_t pass) {
  pass_ = pass;
  sample_ = 0;
}

void RandomDataReader::SaveState(ReaderState* state) const {
  state->Setting("low", ExactText(low_));
  state->Setting("high", ExactText(high_));
  state->Setting("count", count_);
  state->Setting("random_key", key_.Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("sample", sample_);
}

void RandomDataReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  sample_ = state.Get("sample", count_ == 0 ? UINT64_MAX : count_);
}

void RandomDataReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->AddRecords(tickets, n);
}

void RandomDataReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  names.CheckRecords(origin());
  for (size_t i = 0; i < names.count; ++i) {
    Ticket ticket;
    ticket.id.sample = names.records[i].sample;
    ticket.id.pass = names.records[i].pass;
    take(i, ticket);
  }
}

void RandomDataReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    uint64_t index = tickets[i].id.sample * values_;
    for (size_t k = 0; k < slots().size(); ++k) {
      const Dims& dims = slots()[k].dims;
      auto* value = reinterpret_cast<float*>(rows->Append(k, DataType::kFp32, dims));
      for (int64_t left = Product(dims); left > 0; --left) {
        const float unit = ToUnitFloat(key_.Bits(tickets[i].id.pass, index++));
        // Rounding may reach `high`, which is outside.
        *value++ = std::min(low_ + unit * (high_ - low_), std::nextafter(high_, low_));
      }
    }
  }
}

}  // namespace millhopper
