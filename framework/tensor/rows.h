// SPDX-License-Identifier: Apache-2.0
// Elements that are being loaded: a buffer for each slot, which grows along axis 0. An instance has
// a leading axis, so instances that are loaded one after another into one buffer are a batch.
#ifndef MILLHOPPER_FRAMEWORK_TENSOR_ROWS_H_
#define MILLHOPPER_FRAMEWORK_TENSOR_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/memory/buffer.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

class BufferPool;

// The declaration of a slot: the tensor at one position of each element.
struct SlotSpec {
  DataType dtype = DataType::kFp32;
  Dims dims;  // of one element, leading axis included; -1 is any
  int lod_level = 0;
  // False while only the file knows dtype and dims (an idx file that has not been opened). The
  // number of levels of detail holds even then.
  bool known = true;
  // Whether the bytes are texts in UTF-8, which Python shows as such. Slots are equal without it.
  bool text = false;

  // Whether every element is one step along axis 0 and its size is known, so that the place of
  // each row is known before it is loaded.
  bool one_step() const;
  bool operator==(const SlotSpec& other) const;
};

// Whether that holds for all slots.
bool AreOneStep(const std::vector<SlotSpec>& slots);

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

// Elements under construction, laid end to end. One thread at a time; MakePart gives other threads
// their own places. Memory comes from the host's pool and goes back to it.
class Rows {
 public:
  Rows() = default;
  explicit Rows(const std::vector<SlotSpec>& specs) { Reset(specs); }
  // Starts again for these slots. Keeps memory for bookkeeping, but no values. Values will be in
  // memory of `pool`, which must be on the host; null is the host's own pool.
  void Reset(const std::vector<SlotSpec>& specs, BufferPool* pool = nullptr);

  size_t size() const { return slots_.size(); }
  const SlotSpec& spec(size_t slot) const { return slots_[slot].spec; }
  // Steps along axis 0 so far.
  int64_t steps(size_t slot) const { return slots_[slot].steps; }
  // Whether nothing has been loaded and no place has been given out.
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
  // dims are fixed by its declaration. Throws kDataLoss if another number of steps is declared.
  char* AppendSequence(size_t slot, size_t steps);
  // Appends an element that already exists, one tensor for each slot. The first is shared, not
  // copied.
  void Append(const std::vector<LoDTensor>& element);
  // The same for one slot of an element.
  void Append(size_t slot, const LoDTensor& tensor);
  // Room for `elements` more elements like the declared one, so that Append need not grow.
  void Expect(size_t elements);
  // Room for `bytes` more of a slot's values. A slot without values gets exactly that much.
  void ExpectBytes(size_t slot, size_t bytes);

  // Fixes the inner dims of slots whose declaration leaves them open. Leaves other slots alone.
  void FixInnerDims(const std::vector<SlotSpec>& known);
  // Starts again with the slots and inner dims of `other`, so that it accepts the same elements.
  void ResetLike(const Rows& other);
  // Makes `part` write into these rows, beginning `first` steps after their end. Expect must have
  // made room, and elements must be one step each. When all parts are filled, AdvanceParts adds
  // their steps.
  void MakePart(size_t first, Rows* part) const;
  void AdvanceParts(size_t steps);
  // Exchanges the slots from `first` on with those of `part`, as many as it has, so that `part` is
  // loaded in their place. A second call gives them back.
  void SwapSlots(size_t first, Rows* part);
  // Appends all that `part` holds.
  void Join(const Rows& part);
  // Makes an outer axis: a slot of [outer * inner, ...] without levels of detail becomes
  // [outer, inner, ...]. For batches that stack.
  void Stack(size_t slot, int64_t outer, int64_t inner);

  // Moves everything out as tensors: (*out)[i] is slot i. Afterwards the rows are empty.
  void MoveTo(std::vector<LoDTensor>* out);
  // Drops the values. Keeps memory for bookkeeping unless a memory limit is set. Call Reset next.
  void Release();
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

  BufferPool* pool_ = nullptr;  // null: the host's own
  std::vector<Slot> slots_;
};

// Rows that a thread uses for a while, for example for its part of a batch. Pooled.
class ScratchRows final : public RefCounted {
 public:
  Rows rows;

 private:
  void Dispose() override;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_TENSOR_ROWS_H_
