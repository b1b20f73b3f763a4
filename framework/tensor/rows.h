// SPDX-License-Identifier: Apache-2.0
// What is loaded: per slot a buffer that grows along axis 0. An instance carries a leading axis, so
// a batch is what is left after loading its instances one behind another; nothing is gathered.
#ifndef MILLHOPPER_FRAMEWORK_TENSOR_ROWS_H_
#define MILLHOPPER_FRAMEWORK_TENSOR_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/buffer.h"
#include "framework/base/kept.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

class BufferPool;

// A slot as declared: what one element of a reader has at one position.
struct SlotSpec {
  DataType dtype = DataType::kFp32;
  Dims dims;  // of one element, leading axis included; -1 is any
  int lod_level = 0;
  // False while only the file knows dtype and dims (an idx file that has not been opened). The
  // number of levels of detail holds even then.
  bool known = true;

  // True if every element is exactly one step along axis 0 and its size is known, so that the
  // place of each row is known before it is loaded.
  bool one_step() const;
  bool operator==(const SlotSpec& other) const;
};

std::string ToString(const SlotSpec& spec);  // "float32 [1, -1] with 1 level of detail"

// True if a tensor of this dtype, dims and number of levels is what `spec` declares.
bool Fits(const SlotSpec& spec, DataType dtype, const Dims& dims, size_t lod_levels);
// Throws kDataLoss "slot 1: float32 [1, 784] is declared, int64 [1, 1] was found" unless it Fits.
void CheckFits(const SlotSpec& spec, size_t slot, DataType dtype, const Dims& dims,
               size_t lod_levels);
// The same for an element, which has as many tensors as there are slots.
void CheckFits(const std::vector<SlotSpec>& slots, const std::vector<LoDTensor>& element);
// Throws kInvalidArgument unless there is at least one slot, not more than kMaxSlots, and each has
// a leading axis and axes of -1 or more.
void CheckSlots(const std::vector<SlotSpec>& slots);

// Elements under construction, laid end to end. One thread at a time; Part gives other threads
// places of their own. Memory comes from the host's pool and goes back to it.
class Rows {
 public:
  Rows() = default;
  explicit Rows(const std::vector<SlotSpec>& specs) { Reset(specs); }
  // Begins anew for slots like these; keeps memory for bookkeeping, but no values. Values will be
  // in memory of `pool`, which must be on the host; null is the host's own.
  void Reset(const std::vector<SlotSpec>& specs, BufferPool* pool = nullptr);

  size_t size() const { return slots_.size(); }
  const SlotSpec& spec(size_t slot) const { return slots_[slot].spec; }
  // Steps along axis 0 so far.
  int64_t steps(size_t slot) const { return slots_[slot].steps; }
  // True while nothing is loaded and no place is chosen.
  bool untouched() const;

  // The place of `steps` more steps of a slot without levels of detail whose inner dims are fixed,
  // by its declaration or by what it holds; the caller fills it.
  char* Append(size_t slot, size_t steps);
  // The place of one more instance, for the caller to fill. Throws kDataLoss when it does not fit
  // the declaration, or its inner dims are not those of the instances before it. `lod` is `levels`
  // levels, which have been checked as CheckLod does.
  char* Append(size_t slot, DataType dtype, const Dims& dims, const LodLevelView* lod = nullptr,
               size_t levels = 0);
  // The place of one more sequence of so many steps, of a slot with one level of detail whose inner
  // dims are fixed by its declaration.
  char* AppendSequence(size_t slot, size_t steps);
  // One more element that already exists, a tensor a slot. The first one is shared, not copied.
  void Append(const std::vector<LoDTensor>& element);
  // The same for one slot of it.
  void Append(size_t slot, const LoDTensor& tensor);
  // Room for `elements` more elements like the declared one, so that Append need not grow.
  void Expect(size_t elements);
  // Room for `bytes` more of a slot's values, and no more than that where it holds none yet.
  void ExpectBytes(size_t slot, size_t bytes);

  // Fixes the inner dims of slots whose declaration leaves them open. Does nothing to others.
  void FixInnerDims(const std::vector<SlotSpec>& known);
  // Begins anew as rows that what fits behind `other` fits into: same slots, same inner dims.
  void ResetLike(const Rows& other);
  // Makes `part` write into these rows, beginning `first` steps behind what they hold; room must
  // have been made by Expect, elements are one step each, and AdvanceParts says in the end how much
  // the parts have filled.
  void MakePart(size_t first, Rows* part) const;
  void AdvanceParts(size_t steps);
  // Appends all that `part` holds.
  void Join(const Rows& part);
  // Makes an outer axis: a slot of [outer * inner, ...] without levels of detail becomes
  // [outer, inner, ...]. For batches that stack.
  void Stack(size_t slot, int64_t outer, int64_t inner);

  // Moves everything out as tensors: (*out)[i] is slot i. These rows are untouched afterwards.
  void MoveTo(std::vector<LoDTensor>* out);
  // Gives the values up, keeps memory for bookkeeping (not under a limit); Reset comes next.
  void Release();
  // What was loaded ahead of need (MemoryScope) is needed now.
  void SetNeeded();
  // Bytes of values of a slot, and of all.
  size_t bytes(size_t slot) const { return slots_[slot].used; }
  size_t bytes() const;

 private:
  struct Slot {
    SlotSpec spec;
    Ref<Buffer> buffer;
    size_t used = 0;        // bytes
    int64_t steps = 0;      // along axis 0
    size_t step_bytes = 0;  // once inner_fixed
    Dims dims;              // of the last instance; its inner axes hold for all once inner_fixed
    bool inner_fixed = false;
    bool shared = false;  // the buffer belongs to a published tensor: copy before growing
    Lod lod;
  };

  static void FixInner(Slot* slot, const Dims& dims);
  void Reserve(Slot* slot, size_t bytes);
  char* Grow(Slot* slot, size_t bytes);

  BufferPool& pool() const;

  BufferPool* pool_ = nullptr;  // the host's own
  std::vector<Slot> slots_;
};

// Rows with memory of their own for a while, for example a worker's part of a batch. Pooled.
class ScratchRows final : public Kept {
 public:
  Rows rows;

 private:
  void Dispose() override;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_TENSOR_ROWS_H_
