// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/ignore_errors_reader.h"

#include <cstdio>
#include <string>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

class IgnoreErrors final : public Stage {
 public:
  explicit IgnoreErrors(std::shared_ptr<std::atomic<bool>> has_warned)
      : has_warned_(std::move(has_warned)) {}

  size_t Work(StagedElement*) const override { return 1; }
  bool keeps_slots() const override { return true; }
  bool LeavesOut(const Error& error, const RecordId& id) const override {
    if (error.code() != ErrorCode::kDataLoss) return false;
    Warn(error, id);
    return true;
  }
  size_t most_together() const override { return 64; }

 private:
  void Warn(const Error& error, const RecordId& id) const {
    if (has_warned_->exchange(true)) return;
    // One write, which is whole where several threads write.
    const std::string text =
        StrCat("warning: ignore_errors leaves out element ", id.sample, ": ", error.what(),
               "\n  (the first one; statistics tell how many there are)\n");
    std::fputs(text.c_str(), stderr);
  }

  const std::shared_ptr<std::atomic<bool>> has_warned_;
};

}  // namespace

IgnoreErrorsReader::IgnoreErrorsReader(std::unique_ptr<ReaderBase> reader,
                                       std::shared_ptr<std::atomic<bool>> has_warned)
    : StageReader(std::move(reader), reader->slots(),
                  std::make_unique<IgnoreErrors>(std::move(has_warned)), DepthForAllWorkers()) {}

}  // namespace millhopper
