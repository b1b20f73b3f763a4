// SPDX-License-Identifier: Apache-2.0
#include "framework/tensor/rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

// The values of one step along axis 0.
size_t InnerBytes(DataType dtype, const Dims& dims) {
  Dims inner;
  for (size_t i = 1; i < dims.size(); ++i) inner.push_back(dims[i]);
  return static_cast<size_t>(Product(inner)) * SizeOf(dtype);
}

bool InnerKnown(const Dims& dims) {
  return !dims.empty() &&
         std::all_of(dims.begin() + 1, dims.end(), [](int64_t dim) { return dim >= 0; });
}

bool SameInner(const Dims& left, const Dims& right) {
  return left.size() == right.size() && std::equal(left.begin() + 1, left.end(), right.begin() + 1);
}

void RequireHost(Place place) {
  Require(place.is_cpu(), "values on ", place.name(),
          " cannot be gathered: batch before create_double_buffer_reader copies to a device");
}

}  // namespace

bool SlotSpec::one_step() const {
  return known && lod_level == 0 && InnerKnown(dims) && dims[0] == 1;
}

bool AreOneStep(const std::vector<SlotSpec>& slots) {
  return std::all_of(slots.begin(), slots.end(),
                     [](const SlotSpec& slot) { return slot.one_step(); });
}

bool SlotSpec::operator==(const SlotSpec& other) const {
  return known == other.known && dtype == other.dtype && dims == other.dims &&
         lod_level == other.lod_level;
}

std::string ToString(const SlotSpec& spec) {
  if (!spec.known) return "what the file says";
  std::string text = std::string(ToString(spec.dtype)) + " " + ToString(spec.dims);
  if (spec.lod_level == 1) text += " with 1 level of detail";
  if (spec.lod_level > 1) text += StrCat(" with ", spec.lod_level, " levels of detail");
  return text;
}

bool Fits(const SlotSpec& spec, DataType dtype, const Dims& dims, size_t lod_levels) {
  if (lod_levels != static_cast<size_t>(spec.lod_level) || dims.empty()) return false;
  if (spec.known && (dtype != spec.dtype || dims.size() != spec.dims.size())) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || (spec.known && spec.dims[i] >= 0 && spec.dims[i] != dims[i])) return false;
  }
  return true;
}

void CheckFits(const SlotSpec& spec, size_t slot, DataType dtype, const Dims& dims,
               size_t lod_levels) {
  if (__builtin_expect(Fits(spec, dtype, dims, lod_levels), 1)) return;
  SlotSpec found;
  found.dtype = dtype;
  found.dims = dims;
  found.lod_level = static_cast<int>(lod_levels);
  Throw(ErrorCode::kDataLoss, "slot ", slot, ": ", ToString(spec), " is declared, ",
        ToString(found), " was found");
}

void CheckFits(const std::vector<SlotSpec>& slots, const std::vector<LoDTensor>& element) {
  for (size_t i = 0; i < slots.size(); ++i) {
    CheckFits(slots[i], i, element[i].dtype(), element[i].dims(), element[i].lod().size());
  }
}

void CheckSlots(const std::vector<SlotSpec>& slots) {
  Require(!slots.empty(), "a reader needs at least one slot");
  Require(slots.size() <= kMaxSlots, "a reader of ", slots.size(), " slots; the limit is ",
          kMaxSlots);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].known) continue;
    Require(!slots[i].dims.empty(), "slot ", i, " has no axis; an instance carries a leading one");
    Require(slots[i].lod_level >= 0 && slots[i].lod_level <= static_cast<int>(kMaxLodLevels),
            "slot ", i, " has ", slots[i].lod_level, " levels of detail");
    for (const int64_t dim : slots[i].dims) {
      Require(dim >= -1, "slot ", i, " has dims ", ToString(slots[i].dims),
              "; an axis is -1 (any) or more");
    }
  }
}

void Rows::Reset(const std::vector<SlotSpec>& specs, BufferPool* pool) {
  pool_ = pool;
  slots_.resize(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    Slot& slot = slots_[i];
    slot.spec = specs[i];
    slot.buffer = Ref<Buffer>();
    slot.used = 0;
    slot.steps = 0;
    slot.dims = specs[i].dims;
    slot.inner_fixed = false;
    slot.shared = false;
    slot.lod.resize(specs[i].lod_level);
    for (auto& level : slot.lod) level.assign(1, 0);
    if (specs[i].known && InnerKnown(specs[i].dims)) FixInner(&slot, specs[i].dims);
  }
}

BufferPool& Rows::pool() const { return pool_ == nullptr ? BufferPool::At(Place()) : *pool_; }

bool Rows::untouched() const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return !slot.buffer && slot.steps == 0; });
}

void Rows::FixInner(Slot* slot, const Dims& dims) {
  slot->dims = dims;
  slot->step_bytes = InnerBytes(slot->spec.dtype, dims);
  slot->inner_fixed = true;
}

void Rows::Reserve(Slot* slot, size_t bytes) {
  if (slot->buffer && !slot->shared && bytes <= slot->buffer->capacity()) return;
  if (slot->buffer) RequireHost(slot->buffer->place());
  // Half as much again, so that growing costs little. Under a memory limit exactly what is needed,
  // because spare memory must not decide what fits.
  const bool generous = slot->used > 0 && !MemoryLimit::is_set();
  Ref<Buffer> larger = pool().Take(generous ? bytes + bytes / 2 : bytes);
  if (slot->used > 0) std::memcpy(larger->data(), slot->buffer->data(), slot->used);
  slot->buffer = std::move(larger);
  slot->shared = false;
}

char* Rows::Grow(Slot* slot, size_t bytes) {
  size_t needed = 0;
  if (__builtin_add_overflow(slot->used, bytes, &needed) || needed > SIZE_MAX / 2) {
    Throw(ErrorCode::kResourceLimit, "values of ", bytes, " bytes are out of reach");
  }
  if (!slot->buffer || slot->shared || needed > slot->buffer->capacity()) Reserve(slot, needed);
  char* place = slot->buffer->data() + slot->used;
  slot->used = needed;
  return place;
}

char* Rows::Append(size_t slot_index, size_t steps) {
  Slot& slot = slots_[slot_index];
  slot.steps += static_cast<int64_t>(steps);
  return Grow(&slot, steps * slot.step_bytes);
}

char* Rows::AppendSequence(size_t slot_index, size_t steps) {
  const SlotSpec& spec = slots_[slot_index].spec;
  if (spec.dims[0] >= 0 && static_cast<int64_t>(steps) != spec.dims[0]) {
    Dims found = spec.dims;
    found[0] = static_cast<int64_t>(steps);
    CheckFits(spec, slot_index, spec.dtype, found, 1);
  }
  LodLevel& offsets = slots_[slot_index].lod.front();
  offsets.push_back(offsets.back() + steps);
  return Append(slot_index, steps);
}

char* Rows::Append(size_t slot_index, DataType dtype, const Dims& dims, const LodLevelView* lod,
                   size_t levels) {
  Slot& slot = slots_[slot_index];
  CheckFits(slot.spec, slot_index, dtype, dims, levels);
  if (!slot.inner_fixed) {
    if (!slot.spec.known) {
      slot.spec.dtype = dtype;
      slot.spec.dims = dims;
      slot.spec.dims[0] = -1;
      slot.spec.known = true;
    }
    FixInner(&slot, dims);
  } else if (!SameInner(slot.dims, dims)) {
    Dims wanted = slot.dims;
    wanted[0] = -1;                                        // the leading axis may differ
    const bool is_row = dims.size() == 2 && dims[0] == 1;  // of numbers, or a sequence
    Throw(ErrorCode::kDataLoss, "slot ", slot_index, ": an element of dims ", ToString(dims),
          " cannot follow others of dims ", ToString(wanted),
          " in a batch: only the leading axis may differ; resize, crop or pad before",
          is_row ? "; sequences of any length need a level of detail, as in slots={\"x\": "
                   "(\"int64\", [-1], 1)} of Python"
                 : "");
  }
  for (size_t level = 0; level < levels; ++level) {
    LodLevel& offsets = slot.lod[level];
    const uint64_t base = offsets.back();
    for (size_t k = 1; k < lod[level].count; ++k) offsets.push_back(base + lod[level][k]);
  }
  slot.steps += dims[0];
  return Grow(&slot, CheckedProduct(static_cast<size_t>(dims[0]), slot.step_bytes));
}

void Rows::Append(const std::vector<LoDTensor>& element) {
  for (size_t i = 0; i < element.size(); ++i) Append(i, element[i]);
}

void Rows::Append(size_t slot_index, const LoDTensor& tensor) {
  const Lod& lod = tensor.lod();
  LodLevelView levels[kMaxLodLevels];
  for (size_t i = 0; i < lod.size() && i < kMaxLodLevels; ++i) {
    levels[i] = LodLevelView(lod[i]);
  }
  Slot& slot = slots_[slot_index];
  if (slot.steps == 0 && !slot.buffer && tensor.initialized()) {
    slot.buffer = tensor.buffer();  // large enough, so that Append neither copies nor grows
    Append(slot_index, tensor.dtype(), tensor.dims(), levels, lod.size());
    slot.shared = true;
    return;
  }
  RequireHost(tensor.place());
  char* place = Append(slot_index, tensor.dtype(), tensor.dims(), levels, lod.size());
  if (tensor.bytes() > 0) std::memcpy(place, tensor.raw_data(), tensor.bytes());
}

void Rows::Expect(size_t elements) {
  for (Slot& slot : slots_) {
    if (!slot.inner_fixed) continue;
    const size_t steps = elements * static_cast<size_t>(std::max<int64_t>(1, slot.spec.dims[0]));
    Reserve(&slot, slot.used + CheckedProduct(steps, slot.step_bytes));
    for (auto& level : slot.lod) level.reserve(level.size() + elements);
  }
}

void Rows::ExpectBytes(size_t slot, size_t bytes) {
  if (bytes > 0) Reserve(&slots_[slot], slots_[slot].used + bytes);
}

void Rows::FixInnerDims(const std::vector<SlotSpec>& known) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.inner_fixed || !known[i].known || !InnerKnown(known[i].dims)) continue;
    if (!slot.spec.known) {
      slot.spec.dtype = known[i].dtype;
      slot.spec.dims = known[i].dims;
      slot.spec.dims[0] = -1;
      slot.spec.known = true;
    }
    FixInner(&slot, known[i].dims);
  }
}

void Rows::ResetLike(const Rows& other) {
  pool_ = other.pool_;
  slots_.resize(other.slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& like = other.slots_[i];
    Slot& slot = slots_[i];
    slot = Slot();
    slot.spec = like.spec;
    slot.dims = like.dims;
    slot.lod.assign(like.spec.lod_level, {0});
    if (like.inner_fixed) FixInner(&slot, like.dims);
  }
}

void Rows::MakePart(size_t first, Rows* part) const {
  part->slots_.resize(slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& from = slots_[i];
    Slot& to = part->slots_[i];
    to.spec = from.spec;
    to.spec.dims[0] = 1;
    to.buffer = from.buffer;
    to.used = from.used + first * from.step_bytes;
    to.steps = 0;
    to.step_bytes = from.step_bytes;
    to.dims = from.dims;
    to.inner_fixed = from.inner_fixed;
    to.shared = false;
    to.lod.clear();
  }
}

void Rows::AdvanceParts(size_t steps) {
  for (Slot& slot : slots_) {
    slot.used += steps * slot.step_bytes;
    slot.steps += static_cast<int64_t>(steps);
  }
}

void Rows::SwapSlots(size_t first, Rows* part) {
  part->pool_ = pool_;
  std::swap_ranges(part->slots_.begin(), part->slots_.end(),
                   slots_.begin() + static_cast<std::ptrdiff_t>(first));
}

void Rows::Join(const Rows& part) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& from = part.slots_[i];
    if (!from.inner_fixed) continue;  // nothing was ever appended
    LodLevelView levels[kMaxLodLevels];
    for (size_t k = 0; k < from.lod.size(); ++k) levels[k] = LodLevelView(from.lod[k]);
    Dims dims = from.dims;
    dims[0] = from.steps;
    // The part was checked against the declaration when it was filled. It is not checked again,
    // because its leading axis is that of all its elements.
    Slot& to = slots_[i];
    const int64_t declared = to.spec.known ? to.spec.dims[0] : -1;
    if (to.spec.known) to.spec.dims[0] = -1;
    char* place = Append(i, from.spec.dtype, dims, levels, from.lod.size());
    to.spec.dims[0] = declared;
    if (from.used > 0) std::memcpy(place, from.buffer->data(), from.used);
  }
}

void Rows::Stack(size_t slot_index, int64_t outer, int64_t inner) {
  Slot& slot = slots_[slot_index];
  Dims dims{outer, inner};
  for (size_t i = 1; i < slot.dims.size(); ++i) dims.push_back(slot.dims[i]);
  slot.steps = outer;
  slot.spec.dims = dims;
  slot.spec.dims[0] = -1;
  FixInner(&slot, dims);
}

void Rows::MoveTo(std::vector<LoDTensor>* out) {
  out->resize(slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    LoDTensor& tensor = (*out)[i];
    Dims dims = slot.dims;
    for (size_t k = 1; k < dims.size(); ++k) dims[k] = std::max<int64_t>(0, dims[k]);
    if (dims.empty()) dims.push_back(0);
    dims[0] = slot.steps;
    if (!slot.buffer) slot.buffer = pool().Take(0);
    Lod* lod = tensor.mutable_lod_unchecked();
    lod->swap(slot.lod);
    Lod kept = std::move(*lod);
    tensor.Share(std::move(slot.buffer), slot.spec.dtype, dims);
    *tensor.mutable_lod_unchecked() = std::move(kept);
    slot.buffer = Ref<Buffer>();
    slot.used = 0;
    slot.steps = 0;
  }
}

size_t Rows::bytes() const {
  size_t total = 0;
  for (const Slot& slot : slots_) total += slot.used;
  return total;
}

void Rows::Release() {
  for (Slot& slot : slots_) {
    slot.buffer = Ref<Buffer>();
    for (LodLevel& level : slot.lod) Empty(&level);
  }
}

void ScratchRows::Dispose() {
  rows.Release();
  Pool<ScratchRows>::Give(this);
}

}  // namespace millhopper
