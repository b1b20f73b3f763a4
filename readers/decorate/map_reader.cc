// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/map_reader.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/buffer.h"
#include "framework/memory/place.h"
#include "framework/reader/record_place.h"

namespace millhopper {
namespace {

// Forgets the values. Keeps the tables of levels of detail for the next element, if that is
// allowed.
void Forget(LoDTensor* tensor) {
  Lod lod = std::move(*tensor->mutable_lod_unchecked());
  tensor->Clear();
  if (MayKeepEmptyTable()) *tensor->mutable_lod_unchecked() = std::move(lod);
}

// The working memory of one call of the function.
class Workplace final : public RefCounted {
 public:
  Rows rows;
  std::vector<LoDTensor> in, out;
  std::vector<int64_t> steps;  // of the rows that the element is appended to, by slot

 private:
  void Dispose() override {
    rows.Release();
    for (LoDTensor& tensor : in) Forget(&tensor);
    for (LoDTensor& tensor : out) Forget(&tensor);
    Pool<Workplace>::Give(this);
  }
};

// Appends what the function has left in `element`; checks what it has appended itself.
void AppendRest(const std::vector<SlotSpec>& slots, const std::vector<LoDTensor>& element,
                const std::vector<int64_t>& steps_before, Rows* rows) {
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const LoDTensor& tensor = element[slot];
    if (tensor.initialized()) {
      CheckFits(slots[slot], slot, tensor.dtype(), tensor.dims(), tensor.lod().size());
      rows->Append(slot, tensor);
    } else {
      Require(rows->steps(slot) == steps_before[slot] + 1, "no values for slot ", slot);
    }
  }
}

}  // namespace

void SaveFunction(const std::string& description, ReaderState* state) {
  state->Setting("function", description);
  state->Advise(
      "If only names of slots are others, names that are given where the reader is made (in Python "
      "open_files(..., names=[...])) restore it");
}

MapReader::MapReader(std::unique_ptr<ReaderBase> reader, std::vector<SlotSpec> slots,
                     Function function, std::string description)
    : DecoratedReader(std::move(reader), std::move(slots)),
      function_(std::move(function)),
      description_(std::move(description)) {
  Require(place().is_cpu(), "elements on ", place().name(),
          " cannot be mapped; put create_custom_reader below create_double_buffer_reader");
}

void MapReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  Ref<Workplace> work = Pool<Workplace>::Take();
  RecordPlace place;
  for (size_t i = 0; i < n; ++i) {
    CheckStop();  // the function may take long
    place.Restart();
    work->rows.Reset(reader().row_slots());
    reader().Load(tickets + i, 1, &work->rows);
    place.Stop();
    work->rows.MoveTo(&work->in);
    try {
      work->steps.resize(rows->size());
      for (size_t slot = 0; slot < rows->size(); ++slot) work->steps[slot] = rows->steps(slot);
      function_(tickets[i].id, &work->in, &work->out, rows);
      Require(work->out.size() == slots().size(), work->out.size(), " results for ", slots().size(),
              " slots");
      AppendRest(slots(), work->out, work->steps, rows);
    } catch (...) {
      throw place.Named(CurrentError())
          .WithContext(StrCat("while processing element ", tickets[i].id.sample, " in ",
                              origin().empty() ? "a reader" : origin()));
    }
  }
}

}  // namespace millhopper
