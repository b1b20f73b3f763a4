// SPDX-License-Identifier: Apache-2.0
// Writes elements as MDS shards, with the index.json of their folder: texts as str, bytes as bytes,
// numbers as scalars, tensors and sequences as ndarray. MDS has no bools and no nulls: bools are
// uint8, and so are masks. Each shard is in memory until it ends.
// Source: mosaicml-streaming 0.13, streaming/base/format/mds/writer.py and base/writer.py.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "framework/base/error.h"
#include "readers/formats/mds/mds_index.h"
#include "readers/output/file_writer.h"

namespace millhopper {
namespace {

// Its keys are sorted, as MosaicML writes them: the first ones of an index tell its format.
using Json = nlohmann::json;

constexpr int kVersion = 2;
constexpr char kIndex[] = "index.json";

// The type of values as encodings name it.
std::string TypeOf(DataType type) { return type == DataType::kBool ? "uint8" : ToString(type); }

MdsColumn ColumnOf(const OutputSlot& slot) {
  MdsColumn column{slot.name, "", 0};
  if (slot.is_text()) {
    column.encoding = slot.spec.text ? "str" : "bytes";
  } else if (slot.spec.lod_level == 0 && slot.inner().empty()) {
    column.encoding = TypeOf(slot.spec.dtype);
    column.size = static_cast<uint32_t>(SizeOf(slot.spec.dtype));
  } else {
    column.encoding = "ndarray:" + TypeOf(slot.spec.dtype);
    char before = ':';
    for (const int64_t length : slot.inner()) {
      if (slot.spec.lod_level > 0) break;
      column.encoding += StrCat(before, length);
      before = ',';
    }
    if (slot.spec.lod_level == 0) {
      column.size = static_cast<uint32_t>(static_cast<size_t>(Product(Dims(slot.inner()))) *
                                          SizeOf(slot.spec.dtype));
    }
  }
  return column;
}

// What all shards have in common, as the index says it of each.
Json ConfigOf(const std::vector<MdsColumn>& columns) {
  Json config = {{"version", kVersion},
                 {"format", "mds"},
                 {"compression", nullptr},
                 {"hashes", Json::array()},
                 {"size_limit", nullptr},
                 {"column_names", Json::array()},
                 {"column_encodings", Json::array()},
                 {"column_sizes", Json::array()}};
  for (const MdsColumn& column : columns) {
    config["column_names"].push_back(column.name);
    config["column_encodings"].push_back(column.encoding);
    config["column_sizes"].push_back(column.size == 0 ? Json(nullptr) : Json(column.size));
  }
  return config;
}

class MdsWriter final : public FileWriter {
 public:
  MdsWriter(const std::string& path, const OutputRules& rules, const std::vector<OutputSlot>& slots,
            const std::vector<MdsColumn>& columns)
      : output_(path, rules), slots_(slots), columns_(columns), config_(ConfigOf(columns).dump()) {}

  void Write(const std::vector<LoDTensor>& element) override {
    const size_t begin = samples_.size();
    for (const MdsColumn& column : columns_) {
      if (column.size == 0) samples_.append(sizeof(uint32_t), '\0');
    }
    size_t table = begin;  // of the sizes of columns that do not say theirs
    for (size_t i = 0; i < slots_.size(); ++i) {
      CheckRecord(slots_[i], element);
      const size_t from = samples_.size();
      AppendValue(slots_[i], element[slots_[i].number]);
      if (columns_[i].size > 0) continue;
      const auto size = static_cast<uint32_t>(samples_.size() - from);
      std::memcpy(samples_.data() + table, &size, sizeof(size));
      table += sizeof(size);
    }
    ends_.push_back(samples_.size());
    Require(bytes() <= UINT32_MAX,
            "a shard of more than 4 GiB, which MDS has not; write several, of a limited size");
  }
  void Finish() override {
    const auto count = static_cast<uint32_t>(ends_.size());
    Require(count > 0, Escaped(output_.path()),
            ": there is no record, and MDS has no empty shards");
    std::string head(reinterpret_cast<const char*>(&count), sizeof(count));
    const auto begin = static_cast<uint32_t>(HeadBytes());
    head.append(reinterpret_cast<const char*>(&begin), sizeof(begin));
    for (const uint64_t end : ends_) {
      const auto offset = static_cast<uint32_t>(begin + end);
      head.append(reinterpret_cast<const char*>(&offset), sizeof(offset));
    }
    output_.Write(head + config_);
    output_.Write(samples_);
    output_.Finish();
    samples_ = std::string();
    count_ = ends_.size();
    ends_ = std::vector<uint64_t>();
  }
  OutputFile& output() override { return output_; }
  uint64_t bytes() const override { return HeadBytes() + samples_.size(); }
  // Of a finished one.
  uint64_t count() const { return count_; }

 private:
  uint64_t HeadBytes() const { return sizeof(uint32_t) * (2 + ends_.size()) + config_.size(); }

  void AppendValue(const OutputSlot& slot, const LoDTensor& tensor) {
    if (slot.is_text() && slot.spec.text)
      CheckIsText("a column of the encoding str", slot, TextOf(tensor));
    if (!slot.is_text() && slot.spec.lod_level > 0) {
      constexpr char kDimsOf8Bytes = 3;
      const Dims& dims = tensor.dims();
      samples_ += static_cast<char>(dims.size() << 2 | kDimsOf8Bytes);
      for (const int64_t dim : dims) {
        samples_.append(reinterpret_cast<const char*>(&dim), sizeof(dim));
      }
    }
    samples_ += TextOf(tensor);
  }

  OutputFile output_;
  const std::vector<OutputSlot>& slots_;  // these are the format's
  const std::vector<MdsColumn>& columns_;
  const std::string config_;
  std::string samples_;
  std::vector<uint64_t> ends_;  // of the samples, in `samples_`
  uint64_t count_ = 0;
};

class MdsOutput final : public OutputFormat {
 public:
  explicit MdsOutput(const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsSlots)) {
    for (const OutputSlot& slot : this->slots()) {
      RefuseBatches("mds", slot);
      if (slot.spec.lod_level > 1) {
        RefuseSlot("mds", slot, "it has no lists of lists; recordio, parquet and arrow hold them");
      }
      if (slot.spec.dtype == DataType::kBf16) {
        RefuseSlot("mds", slot, "it has no bfloat16; cast it to float32, or write recordio");
      }
      columns_.push_back(ColumnOf(slot));
    }
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t) const override {
    // A data set of shards is a folder of its own, which MDSWriter makes, too. What is wrong with
    // it the file says.
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
    auto writer = std::make_unique<MdsWriter>(path, rules, slots(), columns_);
    Require(!writer->output().is_stream(), Escaped(path),
            ": mds has an index beside its shards, which a stream has no place for");
    return writer;
  }
  std::string Beside(const std::string& path) const override {
    return path.substr(0, path.rfind('/') + 1) + kIndex;
  }
  void Publish(const std::vector<FileWriter*>& files, const OutputRules& rules) const override {
    Json index = {{"version", kVersion}, {"shards", Json::array()}};
    std::vector<OutputFile*> outputs;
    for (FileWriter* file : files) {
      OutputFile& output = file->output();
      Json shard = ConfigOf(columns_);
      shard["samples"] = static_cast<MdsWriter*>(file)->count();
      shard["raw_data"] = {{"basename", output.path().substr(output.path().rfind('/') + 1)},
                           {"bytes", output.bytes()},
                           {"hashes", Json::object()}};
      shard["zip_data"] = nullptr;
      index["shards"].push_back(std::move(shard));
      outputs.push_back(&output);
    }
    OutputFile file(Beside(outputs[0]->path()), rules);
    file.Write(index.dump() + "\n");
    outputs.push_back(&file);
    PublishInOrder(outputs);
  }

 private:
  std::vector<MdsColumn> columns_;
};

WriterSchema Schema() {
  return WriterSchema("shards with an index.json: numbers, texts, bytes, tensors, sequences")
      .Extension(".mds");
}

std::unique_ptr<OutputFormat> Make(const NamedSlots& slots) {
  return std::make_unique<MdsOutput>(slots);
}

REGISTER_FILE_WRITER(mds, Schema, Make);

}  // namespace
}  // namespace millhopper
