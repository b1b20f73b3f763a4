// SPDX-License-Identifier: Apache-2.0
// Writes elements as RecordIO: a record is the tensors of an element, and the manifest beside the
// files has the slots with their names. It holds whatever there is, batches too.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_commit.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_slots.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/output/file_writer.h"

namespace millhopper {
namespace {

class RecordIOOutput final : public FileWriter {
 public:
  RecordIOOutput(const std::string& path, const OutputRules& rules, const NamedSlots& declared,
                 const std::vector<OutputSlot>& slots)
      : writer_(path, RecordIOOptions(), rules), declared_(declared), slots_(slots) {
    if (!writer_.output().is_stream()) CheckListing({&writer_});  // reports a bad manifest now
  }

  void Write(const std::vector<LoDTensor>& element) override {
    for (const OutputSlot& slot : slots_) {
      if (slot.text_depth() == 0 || !slot.spec.text) continue;
      for (const std::string_view text : TextsOf(element[slot.number])) {
        CheckIsText("recordio", slot, text);
      }
    }
    record_.clear();
    AppendRecordOfTensors(element, &record_);
    writer_.Write(record_);
    common_.Add(element);
    appended_ += record_.size();
  }
  void Finish() override {
    NamedSlots slots = declared_;
    if (std::optional<std::vector<SlotSpec>> found = common_.slots()) {
      for (size_t i = 0; i < found->size(); ++i) (*found)[i].text = declared_.slots[i].text;
      slots.slots = *std::move(found);
    } else if (writer_.records() > 0) {
      slots.slots.clear();  // the records have none in common
    }
    if (!slots.slots.empty()) writer_.set_slots(std::move(slots));
    writer_.Finish();
  }
  OutputFile& output() override { return writer_.output(); }
  uint64_t bytes() const override { return appended_; }
  RecordIOWriter* writer() { return &writer_; }

 private:
  RecordIOWriter writer_;
  const NamedSlots& declared_;  // the format's, as the next
  const std::vector<OutputSlot>& slots_;
  CommonSlots common_;
  std::string record_;
  uint64_t appended_ = 0;
};

class RecordIOOutputs final : public OutputFormat {
 public:
  explicit RecordIOOutputs(const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsSlots)), slots_(slots) {}

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    return std::make_unique<RecordIOOutput>(path, rules, slots_, slots());
  }
  std::vector<std::string> Fields() const override { return {}; }
  void Publish(const std::vector<FileWriter*>& files, const OutputRules&) const override {
    std::vector<RecordIOWriter*> writers;
    writers.reserve(files.size());
    for (FileWriter* file : files) {
      writers.push_back(static_cast<RecordIOOutput*>(file)->writer());
    }
    const auto manifest = [](const RecordIOWriter* writer) {
      return RecordIOManifest::PathOf(writer->output().path());
    };
    const bool together = std::all_of(writers.begin(), writers.end(), [&](const auto* writer) {
      return manifest(writer) == manifest(writers[0]);
    });
    if (together) return CommitRecordIO(writers, writers.size() > 1);
    // Only shards of five digits share a manifest.
    for (RecordIOWriter* writer : writers) writer->Finish();
    for (RecordIOWriter* writer : writers) CommitRecordIO({writer}, false);
  }

 private:
  const NamedSlots slots_;
};

WriterSchema Schema() {
  return WriterSchema("tensors of any types, dims and levels; batches, too");
}

std::unique_ptr<OutputFormat> Make(const NamedSlots& slots) {
  return std::make_unique<RecordIOOutputs>(slots);
}

REGISTER_FILE_WRITER(recordio, Schema, Make);

}  // namespace
}  // namespace millhopper
