// SPDX-License-Identifier: Apache-2.0
// Source: systematic sampling (W. G. Madow, "On the theory of systematic sampling", 1949).
#include "readers/decorate/resample_reader.h"

#include <cmath>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

constexpr uint64_t kOne = ElementWeights::kOne;

bool IsWeight(double weight) {
  return std::isfinite(weight) && weight >= 0 && weight <= ElementWeights::kMost;
}

uint64_t Whole(double weight) {
  return static_cast<uint64_t>(std::llround(std::ldexp(weight, 32)));
}

const LoDTensor& OneNumber(const LoDTensor& tensor, size_t slot) {
  if (__builtin_expect(tensor.numel() != 1, 0)) {
    Throw(ErrorCode::kDataLoss, "slot ", slot, " holds ", tensor.numel(),
          " numbers; what elements are weighed by is one");
  }
  return tensor;
}

template <typename T>
bool Is(const LoDTensor& tensor) {
  return tensor.dtype() == DataTypeOf<T>();
}

// Calls visit with the number, if it is of one of these types.
template <typename... Ts, typename Visit>
bool VisitNumber(const LoDTensor& tensor, const Visit& visit) {
  return ((Is<Ts>(tensor) ? (visit(*tensor.data<Ts>()), true) : false) || ...);
}
template <typename Visit>
bool VisitInteger(const LoDTensor& tensor, const Visit& visit) {
  return VisitNumber<bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
                     uint64_t>(tensor, visit);
}

std::string ClassOf(const LoDTensor& tensor, size_t slot) {
  if (Is<uint8_t>(tensor) && !tensor.lod().empty()) {
    return std::string(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
  }
  std::string text;
  if (VisitInteger(OneNumber(tensor, slot), [&](auto value) { text = std::to_string(value); })) {
    return text;
  }
  Throw(ErrorCode::kDataLoss, "slot ", slot, " is ", ToString(tensor.dtype()),
        "; a class is an integer, a bool or a text");
}

double NumberOf(const LoDTensor& tensor, size_t slot) {
  double number = 0;
  const auto put = [&](auto value) { number = static_cast<double>(value); };
  OneNumber(tensor, slot);
  if (VisitNumber<float, double>(tensor, put) || VisitInteger(tensor, put)) return number;
  Throw(ErrorCode::kDataLoss, "slot ", slot, " is ", ToString(tensor.dtype()),
        "; a weight is float32, float64, an integer or a bool (cast makes float32 of others)");
}

// Makes as many parts of an element as it can be yielded times.
class Copies final : public Stage {
 public:
  explicit Copies(const ElementWeights& weights) : weights_(weights) {}

  size_t Work(StagedElement* element) const override {
    return static_cast<size_t>((weights_.Of(element->tensors).whole + kOne - 1) / kOne);
  }
  bool makes_parts() const override { return true; }
  bool keeps_slots() const override { return true; }
  size_t most_together() const override { return 64; }
  void LoadPart(const StagedElement& element, size_t, Rows* rows) const override {
    rows->Append(element.tensors);
  }

 private:
  const ElementWeights weights_;
};

}  // namespace

ElementWeights ElementWeights::OfSlot(size_t slot) { return ElementWeights(false, slot); }

ElementWeights ElementWeights::OfClasses(size_t slot, const std::vector<std::string>& classes,
                                         std::vector<double> weights,
                                         std::optional<double> otherwise) {
  Require(classes.size() == weights.size(), weights.size(), " weights for ", classes.size(),
          " classes");
  if (otherwise) weights.push_back(*otherwise);
  ElementWeights made(true, slot);
  for (size_t i = 0; i < classes.size(); ++i) {
    Require(made.groups_.emplace(classes[i], i).second, "class '", Escaped(classes[i]),
            "' has two weights");
  }
  for (const double weight : weights) {
    Require(IsWeight(weight), "a weight is ", weight, "; it must be 0 to ", kMost);
    made.weights_.push_back(Whole(weight));
  }
  if (otherwise) made.others_ = classes.size();
  return made;
}

ElementWeights::Weight ElementWeights::Of(const std::vector<LoDTensor>& element) const {
  const LoDTensor& tensor = element[slot_];
  if (!by_class_) {
    const double weight = NumberOf(tensor, slot_);
    if (IsWeight(weight)) return {0, Whole(weight)};
    Throw(ErrorCode::kDataLoss, "slot ", slot_, ": the weight is ", weight, "; it must be 0 to ",
          kMost);
  }
  const std::string name = ClassOf(tensor, slot_);
  const auto found = groups_.find(name);
  if (found != groups_.end()) return {found->second, weights_[found->second]};
  if (others_) return {*others_, weights_[*others_]};
  Throw(ErrorCode::kDataLoss, "slot ", slot_, ": class '", Escaped(name),
        "' has no weight, nor have others");
}

std::string ElementWeights::description() const {
  std::string text = StrCat("slot ", slot_);
  for (const auto& [name, group] : groups_) text += StrCat(", ", name, ": ", weights_[group]);
  if (others_) text += StrCat(", others: ", weights_[*others_]);
  return text;
}

ResampleReader::ResampleReader(std::unique_ptr<ReaderBase> reader, const ElementWeights& weights,
                               const RandomKey& key)
    : StageReader(std::move(reader), reader->slots(), std::make_unique<Copies>(weights),
                  DepthForAllWorkers()),
      weights_(weights),
      key_(key),
      begun_(weights.groups()) {
  shape(weights_.slot());  // throws if there is none
  Begin();
}

void ResampleReader::Begin() {
  for (size_t i = 0; i < begun_.size(); ++i) begun_[i] = key_.Bits(pass_, i) % kOne;
}

void ResampleReader::PlanNext(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  bool more = true;
  while (more && run->tickets.size() == first) {
    CheckStop();  // many elements may have no turn
    try {
      StageReader::PlanNext(n, run);
    } catch (...) {
      Choose(first, run);
      throw;
    }
    more = run->tickets.size() > first;
    Choose(first, run);
  }
}

void ResampleReader::Choose(size_t first, TicketRun* run) {
  size_t kept = first;
  for (size_t i = first; i < run->tickets.size(); ++i) {
    const Ticket& ticket = run->tickets[i];
    const StagedElement& element = *ElementOf(ticket);
    const uint64_t part = ticket.id.part - FirstPart(element.id);
    if (part == 0) {
      const ElementWeights::Weight weight = weights_.Of(element.tensors);
      const uint64_t now = begun_[weight.group] + weight.whole;
      times_ = now / kOne;
      begun_[weight.group] = now % kOne;
    }
    if (part < times_) run->tickets[kept++] = ticket;
  }
  run->tickets.resize(kept);
}

void ResampleReader::Rewind(uint64_t pass) {
  pass_ = pass;
  times_ = 0;
  Begin();
  StageReader::Rewind(pass);
}

void ResampleReader::SaveState(ReaderState* state) const {
  StageReader::SaveState(state);
  state->Setting("weights", weights_.description());
  state->Setting("random_key", key_.Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("times", times_);
  state->SetList("begun", begun_);
}

void ResampleReader::RestoreState(const ReaderState& state) {
  StageReader::RestoreState(state);
  pass_ = state.Get("pass");
  times_ = state.Get("times");
  const std::vector<uint64_t>& begun = state.List("begun");
  if (begun.size() != begun_.size()) state.Fail("it is not one of ", begun_.size(), " classes");
  for (size_t i = 0; i < begun.size(); ++i) begun_[i] = begun[i] % kOne;
}

}  // namespace millhopper
