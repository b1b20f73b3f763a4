// SPDX-License-Identifier: Apache-2.0
// Writes elements as JSON, an object in each line. Tensors and sequences are lists, nested as their
// dims; texts are text; where a mask says that there is no value, or a float is no number, it is
// null. JSON has no infinity, and lists of lists of any length have no field that reads them.
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "readers/output/file_writer.h"
#include "readers/output/json_output.h"

namespace millhopper {
namespace {

class JsonlWriter final : public BufferedWriter {
 public:
  JsonlWriter(const std::string& path, const OutputRules& rules,
              const std::vector<OutputSlot>& slots)
      : BufferedWriter(path, rules), slots_(slots) {}

 private:
  void Append(const std::vector<LoDTensor>& element, std::string* out) override {
    AppendJsonObject("jsonl", slots_, element, out);
    *out += '\n';
  }

  const std::vector<OutputSlot>& slots_;  // the format's
};

class JsonlOutput final : public OutputFormat {
 public:
  explicit JsonlOutput(const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsNulls)) {
    for (const OutputSlot& slot : this->slots()) CheckJsonHolds("jsonl", slot);
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    return std::make_unique<JsonlWriter>(path, rules, slots());
  }
  std::vector<std::string> Fields() const override {
    std::vector<std::string> fields;
    for (const OutputSlot& slot : slots())
      fields.push_back(FieldOf(slot, JsonFieldName(slot.name)));
    return fields;
  }
  bool WritesNanAsNull(const OutputSlot&) const override { return true; }
};

WriterSchema Schema() {
  return WriterSchema("numbers, texts in UTF-8, tensors, sequences; nulls").Compresses();
}

std::unique_ptr<OutputFormat> Make(const NamedSlots& slots) {
  return std::make_unique<JsonlOutput>(slots);
}

REGISTER_FILE_WRITER(jsonl, Schema, Make);

}  // namespace
}  // namespace millhopper
