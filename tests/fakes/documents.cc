// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/documents.h"

#include <algorithm>
#include <utility>

#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::vector<SlotSpec> DocumentSlots() {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {-1};
  slot.lod_level = 1;
  return {slot};
}

class Documents final : public ReaderBase {
 public:
  explicit Documents(std::vector<std::vector<int64_t>> documents)
      : ReaderBase(DocumentSlots()), documents_(std::move(documents)) {}

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    for (; n > 0 && next_ < documents_.size(); --n, ++next_) {
      Ticket ticket;
      ticket.id.sample = next_;
      run->Add(ticket);
    }
  }
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const std::vector<int64_t>& document = documents_[tickets[i].id.sample];
      char* const place = rows->AppendSequence(0, document.size());
      std::copy(document.begin(), document.end(), reinterpret_cast<int64_t*>(place));
    }
  }
  void Rewind(uint64_t) override { next_ = 0; }

  const std::vector<std::vector<int64_t>> documents_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<ReaderBase> MakeDocuments(std::vector<std::vector<int64_t>> documents) {
  return std::make_unique<Documents>(std::move(documents));
}

std::vector<std::string> Shown(ReaderBase* reader) {
  std::vector<std::string> shown;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    std::string text;
    for (const LoDTensor& tensor : element) {
      text += (text.empty() ? "" : "; ") + ToString(tensor.dims());
      for (const int64_t value : ValuesOf<int64_t>(tensor)) text += StrCat(" ", value);
      for (const LodLevel& level : tensor.lod()) {
        text += " from";
        for (const uint64_t offset : level) text += StrCat(" ", offset);
      }
    }
    shown.push_back(text);
  }
  return shown;
}

std::vector<std::string> ShownOf(const std::string& type, const AttributeTexts& attributes,
                                 const std::vector<std::vector<int64_t>>& documents) {
  std::vector<std::string> expected;
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    ProgramRunner runner;
    runner.Reader("source").Reset(MakeDocuments(documents));
    runner.Startup(DecoratorProgram(type, attributes));
    const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
    const std::vector<std::string> shown = Shown(reader.get());
    if (threads == 0) expected = shown;
    EXPECT_EQ(shown, expected) << threads << " threads";
  }
  return expected;
}

}  // namespace millhopper
