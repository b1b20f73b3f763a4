// SPDX-License-Identifier: Apache-2.0
// What a StageReader makes ahead of the consumer.
#ifndef MILLHOPPER_FRAMEWORK_READER_STAGE_GROUP_H_
#define MILLHOPPER_FRAMEWORK_READER_STAGE_GROUP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/ref_counted.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "framework/reader/stage_reader.h"

namespace millhopper {

// How far the work on a group is.
enum class GroupState {
  kWorking,
  kDeferred,  // no worker does it ahead; the thread that needs the group does it
  kReady,
};

// Elements of the reader below that one thread plans and works on together.
class StageGroup final : public RefCounted {
 public:
  TicketRun run;   // their tickets, until the work is done
  RecordId first;  // the name of the first element
  // How the reader below names each of them; empty if this will not be saved.
  std::vector<ElementNames> names;
  std::exception_ptr error;  // comes after the elements that were made
  std::atomic<GroupState> state{GroupState::kWorking};

  // How many elements have results so far.
  size_t size() const { return size_; }
  StagedElement& operator[](size_t i) { return elements_[i]; }
  // How many parts element i has.
  size_t parts(size_t i) const { return parts_[i]; }
  // Which of the elements below it was made of.
  size_t made_of(size_t i) const { return made_of_[i]; }

  // Works on all tickets. `name` is the reader's, for errors. Elements that were made before an
  // error stay.
  void WorkOn(const ReaderBase& reader, const Stage& stage, const std::string& name) {
    for (const Ticket& ticket : run.tickets) {
      CheckStop();  // the work may take long
      if (size_ == elements_.size()) {
        parts_.resize(size_ + 1);
        made_of_.resize(size_ + 1);
        elements_.emplace_back();
      }
      made_of_[size_] = static_cast<size_t>(&ticket - run.tickets.data());
      StagedElement& element = elements_[size_];
      element.id = ticket.id;
      rows_.Reset(reader.row_slots(), &BufferPool::PinnedFor(stage.place()));
      try {
        reader.LoadInParallel(&ticket, 1, &rows_);
      } catch (const Error& error) {
        if (error.interrupts() || !stage.LeavesOut(error, ticket.id)) throw;
        continue;
      }
      rows_.MoveTo(&element.tensors);
      try {
        parts_[size_] = stage.Work(&element);
        if (parts_[size_] > UINT32_MAX) {
          Throw(ErrorCode::kResourceLimit, "it becomes ", parts_[size_], " elements; the limit is ",
                UINT32_MAX);
        }
      } catch (...) {
        throw CurrentError().WithContext(
            StrCat("while processing element ", ticket.id.sample, " in ", name));
      }
      if (parts_[size_] > 0) {
        ++size_;
      } else {
        Clear(&element);
      }
    }
  }
  size_t bytes() const {
    size_t bytes = 0;
    for (size_t i = 0; i < size_; ++i) {
      for (const LoDTensor& tensor : elements_[i].tensors) bytes += tensor.bytes();
    }
    return bytes;
  }
  // Returns the group to its state before WorkOn.
  void ForgetWork() {
    rows_.Release();
    for (StagedElement& element : elements_) Clear(&element);
    size_ = 0;
  }

 private:
  static void Clear(StagedElement* element) {
    for (auto& [copy, source] : element->copies) KeepUntilDone(std::move(source), std::move(copy));
    element->copies.clear();
    ForgetValues(&element->tensors);
  }

  void Dispose() override {
    ForgetWork();
    run.Clear();
    names.clear();
    error = nullptr;
    state.store(GroupState::kWorking, std::memory_order_relaxed);
    Pool<StageGroup>::Give(this);
  }

  Rows rows_;  // where elements are loaded, one after another
  std::vector<StagedElement> elements_;
  std::vector<size_t> parts_;  // of each element
  std::vector<size_t> made_of_;
  size_t size_ = 0;  // used entries of each; the other entries are kept to reuse their memory
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_STAGE_GROUP_H_
