// SPDX-License-Identifier: Apache-2.0
#include "readers/gather_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/memory_limit.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

// How many small elements are planned with one call, and about how many bytes they have together.
constexpr size_t kMostPlannedAtOnce = 64;
constexpr size_t kPlannedBytes = size_t{1} << 20;

// Leaves elements as they are: what becomes of them is decided in order.
class Keep final : public Stage {
 public:
  explicit Keep(bool keeps_slots) : keeps_slots_(keeps_slots) {}

  size_t Work(StagedElement*) const override { return 1; }
  bool keeps_slots() const override { return keeps_slots_; }
  size_t most_together() const override { return kMostPlannedAtOnce; }

 private:
  const bool keeps_slots_;
};

size_t BytesOf(const GatheredPart& part) {
  size_t bytes = 0;
  for (const LoDTensor& tensor : part.tensors) bytes += tensor.bytes();
  return bytes;
}

// Readers may hold an element for long, so its memory no longer counts as ahead of need.
void SetNeeded(const GatheredPart& part) {
  for (const LoDTensor& tensor : part.tensors) {
    if (tensor.initialized() && tensor.buffer()->HasOneReference()) tensor.buffer()->set_needed();
  }
}

}  // namespace

void GatheredPart::Dispose() {
  ForgetValues(&tensors);
  Pool<GatheredPart>::Give(this);
}

RecordId Gathered::id() const {
  const Piece& piece = pieces_.front();
  RecordId id = piece.part->id;
  if (piece.first > 0) id.part = FirstPart(id) + piece.first;
  return id;
}

void Gathered::Dispose() {
  pieces_.clear();
  Pool<Gathered>::Give(this);
}

size_t LengthOf(const GatheredPart& part, size_t slot) {
  const LoDTensor& tensor = part.tensors[slot];
  const bool one = tensor.lod().empty() || (tensor.lod().size() == 1 && tensor.instances() == 1);
  if (__builtin_expect(!one, 0)) {
    Throw(ErrorCode::kDataLoss, "slot ", slot, " holds ", tensor.instances(), " sequences with ",
          tensor.lod().size(),
          " levels of detail; an element must be one sequence: put this reader "
          "below the batch reader, or create_unbatch_reader between them");
  }
  return tensor.rows();
}

void CheckSameSteps(const LoDTensor& like, const LoDTensor& tensor, size_t slot) {
  const Dims& left = like.dims();
  const Dims& right = tensor.dims();
  if (like.dtype() == tensor.dtype() && left.size() == right.size() &&
      std::equal(left.begin() + 1, left.end(), right.begin() + 1)) {
    return;
  }
  Throw(ErrorCode::kDataLoss, "slot ", slot, ": ", Describe(tensor), " cannot be put beside ",
        Describe(like), ": only the leading axis may differ");
}

GatherReader::GatherReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots,
                           bool keeps_slots)
    : StageReader(std::move(reader), std::move(slots), std::make_unique<Keep>(keeps_slots),
                  DepthForAllWorkers()) {}

void GatherReader::PlanNext(size_t n, TicketRun* run) {
  for (; n > 0; --n) {
    while (ready_.empty()) {
      if (!Advance()) return;
    }
    Ticket ticket;
    ticket.id = ready_.front()->id();
    ticket.owner = ready_.front().get();
    run->Add(ticket);
    ready_.pop_front();
  }
}

bool GatherReader::Advance() {
  if (next_ == fresh_.tickets.size() && !Refill()) {
    if (std::exchange(end_, true)) return false;
    GatherRest();
    return true;
  }
  StagedElement* const element = ElementOf(fresh_.tickets[next_]);
  const Ref<GatheredPart> part = Pool<GatheredPart>::Take();
  part->id = element->id;
  std::swap(part->tensors, element->tensors);
  ++next_;
  if (MemoryLimit::is_set() && !MemoryScope::IsAhead()) SetNeeded(*part);
  planned_at_once_ =
      std::clamp<size_t>(kPlannedBytes / (BytesOf(*part) + 1), 1, kMostPlannedAtOnce);
  try {
    Gather(part);
  } catch (...) {
    throw CurrentError().WithContext(StrCat("while processing element ", part->id.sample, " in ",
                                            origin().empty() ? "a reader" : origin()));
  }
  return true;
}

bool GatherReader::Refill() {
  fresh_.Clear();
  next_ = 0;
  if (end_) return false;
  if (error_ != nullptr) std::rethrow_exception(error_);
  CheckStop();
  try {
    StageReader::PlanNext(planned_at_once_, &fresh_);
  } catch (...) {
    if (fresh_.tickets.empty() || CurrentError().interrupts()) throw;
    error_ = std::current_exception();
  }
  return !fresh_.tickets.empty();
}

void GatherReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) LoadGathered(*tickets[i].object<Gathered>(), rows);
}

void GatherReader::Rewind(uint64_t pass) {
  ready_.clear();
  fresh_.Clear();
  next_ = 0;
  end_ = false;
  error_ = nullptr;
  Forget();
  StageReader::Rewind(pass);
}

}  // namespace millhopper
