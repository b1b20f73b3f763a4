// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/gather_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"

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

}  // namespace

void GatheredPart::Dispose() {
  ForgetValues(&tensors);
  made_of = ElementNames();
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
  MakeRoom();
  StagedElement* const element = ElementOf(fresh_.tickets[next_]);
  const Ref<GatheredPart> part = Pool<GatheredPart>::Take();
  part->id = element->id;
  std::swap(part->tensors, element->tensors);
  if (expects_save()) part->made_of = MadeOf(fresh_.tickets[next_]);
  ++next_;
  // Readers may hold an element for long, so its memory no longer counts as ahead of need.
  if (MemoryLimit::is_set() && !MemoryScope::IsAhead()) SetNeeded(part->tensors);
  planned_at_once_ =
      std::clamp<size_t>(kPlannedBytes / (BytesOf(*part) + 1), 1, kMostPlannedAtOnce);
  try {
    Gather(part);
  } catch (...) {
    failed_ = true;
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
  failed_ = false;
  error_ = nullptr;
  Forget();
  StageReader::Rewind(pass);
}

// An element that could not be gathered is planned again.
void GatherReader::SaveState(ReaderState* state) const {
  StageReader::SaveState(state);
  state->Set("gathered_all", end_ ? 1 : 0);
  std::vector<const Gathered*> ready;
  ready.reserve(ready_.size());
  for (const Ref<Gathered>& one : ready_) ready.push_back(one.get());
  state->SetElements("ready", NamesOf(ready));
  const size_t next = next_ - (failed_ ? 1 : 0);
  ElementNames fresh;
  if (next < fresh_.tickets.size()) {
    StageReader::NameElements(&fresh_.tickets[next], fresh_.tickets.size() - next, &fresh);
  }
  state->SetElements("fresh", std::move(fresh));
}

void GatherReader::RestoreState(const ReaderState& state) {
  StageReader::RestoreState(state);
  end_ = state.Get("gathered_all", 1) == 1;
  for (Ref<Gathered>& one : GatherAgain(state.Elements("ready"))) ready_.push_back(std::move(one));
  const ElementNames& fresh = state.Elements("fresh");
  StageReader::PlanAgain(fresh, [this](size_t place, const Ticket& ticket) {
    if (place >= fresh_.tickets.size()) fresh_.tickets.resize(place + 1);
    fresh_.tickets[place] = ticket;
    fresh_.Keep(ticket.owner);
  });
}

void GatherReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  std::vector<const Gathered*> gathered;
  gathered.reserve(n);
  for (size_t i = 0; i < n; ++i) gathered.push_back(tickets[i].object<Gathered>());
  names->Append(NamesOf(gathered));
}

void GatherReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  size_t place = 0;
  for (const Ref<Gathered>& gathered : GatherAgain(names)) {
    Ticket ticket;
    ticket.id = gathered->id();
    ticket.owner = gathered.get();
    take(place++, ticket);
  }
}

// Writes for each gathered element the number of its pieces, and for each piece its part, first
// step and steps. The part is 0 if it is new, and named now, or k for the k-th last of those named
// so far.
ElementNames GatherReader::NamesOf(const std::vector<const Gathered*>& gathered) const {
  ElementNames names;
  names.count = gathered.size();
  if (gathered.empty()) return names;
  names.below.resize(1);
  std::map<const GatheredPart*, size_t> known;
  for (const Gathered* const one : gathered) {
    names.numbers.push_back(one->pieces().size());
    for (const Gathered::Piece& piece : one->pieces()) {
      const GatheredPart* const part = piece.part.get();
      Require(part->made_of.count == 1, origin(),
              " does not know any more which elements it has gathered; ExpectSave must be called "
              "before the first element is read");
      const auto [found, is_new] = known.emplace(part, known.size());
      if (is_new) names.below[0].Append(part->made_of);
      names.numbers.insert(names.numbers.end(),
                           {is_new ? 0 : known.size() - found->second, piece.first, piece.steps});
    }
  }
  return names;
}

std::vector<Ref<Gathered>> GatherReader::GatherAgain(const ElementNames& names) {
  std::vector<Ref<Gathered>> gathered;
  if (names.count == 0) return gathered;
  const auto check = [this](bool right) {
    Require(right, "the position names elements of ", origin(), " that make no sense");
  };
  check(names.below.size() == 1 && names.records.empty() && names.count <= names.numbers.size());
  const std::vector<Ref<GatheredPart>> parts = LoadPartsAgain(names.below[0]);
  size_t at = 0;     // in the numbers
  size_t named = 0;  // parts
  const auto next = [&] {
    check(at < names.numbers.size());
    return names.numbers[at++];
  };
  for (size_t i = 0; i < names.count; ++i) {
    Ref<Gathered> one = Pool<Gathered>::Take();
    const uint64_t pieces = next();
    check(pieces > 0);
    for (uint64_t k = 0; k < pieces; ++k) {
      const uint64_t back = next();
      if (back == 0) ++named;
      check(named <= parts.size() && std::max<uint64_t>(back, 1) <= named);
      const Ref<GatheredPart>& part = parts[named - std::max<uint64_t>(back, 1)];
      const uint64_t first = next();
      const uint64_t steps = next();
      for (const LoDTensor& tensor : part->tensors) {
        check(steps <= tensor.rows() && first <= tensor.rows() - steps);
      }
      one->Add(part, first, steps);
    }
    CheckGathered(*one);
    gathered.push_back(std::move(one));
  }
  check(at == names.numbers.size() && named == parts.size());
  return gathered;
}

std::vector<Ref<GatheredPart>> GatherReader::LoadPartsAgain(const ElementNames& names) {
  ElementNames staged;  // as the stage names elements that it leaves as they are
  staged.count = names.count;
  staged.numbers.assign(2 * names.count, 0);
  staged.below = {names};
  std::vector<Ref<GatheredPart>> parts;
  StageReader::PlanAgain(staged, [&](size_t place, const Ticket& ticket) {
    if (place >= parts.size()) parts.resize(place + 1);
    Ref<GatheredPart> part = Pool<GatheredPart>::Take();
    part->id = ElementOf(ticket)->id;
    std::swap(part->tensors, ElementOf(ticket)->tensors);
    part->made_of = MadeOf(ticket);
    parts[place] = std::move(part);
  });
  return parts;
}

}  // namespace millhopper
