// SPDX-License-Identifier: Apache-2.0
// Writes the only slot of elements as an array of numpy, version 1.0: a record is a row. The header
// has room for any number of rows, which is known last.
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "readers/output/file_writer.h"

namespace millhopper {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kMostRows = INT64_MAX;  // as many digits as there can be

// The type as numpy's dictionary has it; null if it has none.
const char* DescrOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "|b1";
    case DataType::kInt8:
      return "|i1";
    case DataType::kUint8:
      return "|u1";
    case DataType::kInt16:
      return "<i2";
    case DataType::kUint16:
      return "<u2";
    case DataType::kInt32:
      return "<i4";
    case DataType::kUint32:
      return "<u4";
    case DataType::kInt64:
      return "<i8";
    case DataType::kUint64:
      return "<u8";
    case DataType::kFp16:
      return "<f2";
    case DataType::kFp32:
      return "<f4";
    case DataType::kFp64:
      return "<f8";
    case DataType::kBf16:
      return nullptr;
  }
  return nullptr;
}

// The header of so many rows, with as many bytes for any number.
std::string HeaderOf(const OutputSlot& slot, uint64_t rows) {
  const auto dictionary = [&](uint64_t count) {
    std::string shape = StrCat("(", count, ",");
    for (const int64_t length : slot.inner()) shape += StrCat(" ", length, ",");
    if (!slot.inner().empty()) shape.pop_back();
    return StrCat("{'descr': '", DescrOf(slot.spec.dtype),
                  "', 'fortran_order': False, 'shape': ", shape, "), }");
  };
  constexpr char kMagic[] = "\x93NUMPY\x01";  // with the zero after it: version 1.0
  const size_t before = sizeof(kMagic) + sizeof(uint16_t);
  const size_t most = before + dictionary(kMostRows).size() + 1;
  const size_t size = (most + kAlignment - 1) / kAlignment * kAlignment;
  const auto length = static_cast<uint16_t>(size - before);
  std::string header(kMagic, sizeof(kMagic));
  header.append(reinterpret_cast<const char*>(&length), sizeof(length));
  header += dictionary(rows);
  header.resize(size - 1, ' ');
  return header + '\n';
}

class NpyWriter final : public BufferedWriter {
 public:
  NpyWriter(const std::string& path, const OutputRules& rules, const OutputSlot& slot)
      : BufferedWriter(path, rules), slot_(slot) {
    output().ReplaceBeginning("");  // throws now if it will not be possible
    Begin(HeaderOf(slot_, 0));
  }

 private:
  void Append(const std::vector<LoDTensor>& element, std::string* out) override {
    CheckRecord(slot_, element);
    out->append(TextOf(element[0]));
    ++rows_;
  }
  void BeforeFinish() override { output().ReplaceBeginning(HeaderOf(slot_, rows_)); }

  const OutputSlot& slot_;  // the format's
  uint64_t rows_ = 0;
};

class NpyOutput final : public OutputFormat {
 public:
  explicit NpyOutput(const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsSlots)) {
    const OutputSlot& slot = this->slots()[0];
    if (this->slots().size() > 1) {
      RefuseSlot("npy", this->slots()[1],
                 StrCat("a file is one array, which is slot '", Escaped(slot.name),
                        "'; choose one of the slots, or write recordio, mds, parquet or arrow"));
    }
    if (slot.spec.lod_level > 0) {
      RefuseSlot("npy", slot,
                 "the rows of an array have one length; pad it, or write recordio, jsonl, mds, "
                 "parquet or arrow");
    }
    RefuseBatches("npy", slot);
    if (DescrOf(slot.spec.dtype) == nullptr) {
      RefuseSlot("npy", slot, "numpy has no bfloat16; cast it to float32, or write recordio");
    }
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    return std::make_unique<NpyWriter>(path, rules, slots()[0]);
  }
  std::vector<std::string> Fields() const override { return {}; }
  std::vector<std::string> Names() const override { return {slots()[0].name}; }
};

WriterSchema Schema() { return WriterSchema("one slot: numbers or tensors of one size"); }

std::unique_ptr<OutputFormat> Make(const NamedSlots& slots) {
  return std::make_unique<NpyOutput>(slots);
}

REGISTER_FILE_WRITER(npy, Schema, Make);

}  // namespace
}  // namespace millhopper
