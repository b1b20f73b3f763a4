// SPDX-License-Identifier: Apache-2.0
// Yields the first element of a reader again and again.
#ifndef MILLHOPPER_READERS_DECORATE_FAKE_READER_H_
#define MILLHOPPER_READERS_DECORATE_FAKE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/base/ref_counted.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Yields the first element of a pass of the reader below `count` times; none if it has none. The
// element is loaded once, so that a training loop shows how fast it is without reading. Number k of
// them has the first element's name with sample k.
//
// Source: paddle.reader.Fake, 2018.
class FakeReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument for a count below 0.
  FakeReader(std::unique_ptr<ReaderBase> reader, int64_t count);
  ~FakeReader() override;

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  // 0 if the reader below has none ready, even if the first element is planned already: only the
  // planning thread knows that.
  size_t ElementsReady() const override;
  std::optional<uint64_t> PassLength() const override;
  // The numbers are those of the elements; each is the first element, which is planned anew.
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  class Element;

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const uint64_t count_;
  uint64_t next_ = 0;
  Ref<Element> element_;  // null before it is planned
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_FAKE_READER_H_
