// SPDX-License-Identifier: Apache-2.0
#include "readers/window_reader.h"

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

}  // namespace millhopper
