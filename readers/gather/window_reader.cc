// SPDX-License-Identifier: Apache-2.0
#include "readers/gather/window_reader.h"

#include <utility>

#include "framework/base/error.h"

namespace millhopper {

WindowReader::WindowReader(std::unique_ptr<ReaderBase> reader, const WindowOptions& options)
    : CollatingReader(std::move(reader), CollationOptions()),
      size_(static_cast<uint64_t>(options.size)),
      shift_(static_cast<uint64_t>(options.shift == 0 ? options.size : options.shift)),
      stride_(static_cast<uint64_t>(options.stride)),
      discard_leftover_(options.discard_leftover) {
  Require(options.size >= 1, "size is ", options.size, "; it must be at least 1");
  Require(options.shift >= 0, "shift is ", options.shift, "; it must be at least 0");
  Require(options.stride >= 1, "stride is ", options.stride, "; it must be at least 1");
}

void WindowReader::Gather(const Ref<GatheredPart>& part) {
  if (next_ % shift_ == 0) open_.push_back({next_, OpenBatch()});
  for (Window& window : open_) {
    if ((next_ - window.begin) % stride_ == 0) window.elements.Add(part);
  }
  ++next_;
  if (open_.empty() || open_.front().elements.size() < size_) return;
  Yield(open_.front().elements.Take());
  open_.pop_front();
}

void WindowReader::GatherRest() {
  for (Window& window : open_) {
    if (!discard_leftover_) Yield(window.elements.Take());
  }
  Forget();
}

void WindowReader::Forget() {
  open_.clear();
  next_ = 0;
}

void WindowReader::SaveState(ReaderState* state) const {
  CollatingReader::SaveState(state);
  state->Setting("size", size_);
  state->Setting("shift", shift_);
  state->Setting("stride", stride_);
  state->Setting("discard_leftover", discard_leftover_ ? "true" : "false");
  state->Set("next_element", next_);
  std::vector<uint64_t> begins;
  std::vector<const Gathered*> open;
  for (const Window& window : open_) {
    begins.push_back(window.begin);
    open.push_back(window.elements.gathered());
  }
  state->SetList("begins", std::move(begins));
  state->SetElements("begun", NamesOf(open));
}

void WindowReader::RestoreState(const ReaderState& state) {
  CollatingReader::RestoreState(state);
  next_ = state.Get("next_element");
  std::vector<Ref<Gathered>> open = GatherAgain(state.Elements("begun"));
  const std::vector<uint64_t>& begins = state.List("begins");
  if (open.size() != begins.size()) state.Fail(open.size(), " windows begin at ", begins.size());
  for (size_t i = 0; i < open.size(); ++i) {
    if (begins[i] >= next_) state.Fail("a window begins at ", begins[i], ", after ", next_);
    open_.push_back({begins[i], OpenBatch()});
    open_.back().elements.Continue(std::move(open[i]));
  }
}

}  // namespace millhopper
