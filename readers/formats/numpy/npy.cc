// SPDX-License-Identifier: Apache-2.0
// The format `npy`: numpy's arrays, one a file. A record is a row along the first axis.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/formats/numpy/npy_arrays.h"
#include "readers/formats/numpy/npy_header.h"

namespace millhopper {
namespace {

class NpyFormat final : public NpyArrays {
 public:
  explicit NpyFormat(const FormatArguments& arguments)
      : NpyArrays(AgreeOnSlots(arguments.declared, SlotsBeforeOpening()), arguments.files, {}) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    std::vector<std::unique_ptr<ByteStream>> streams;
    streams.push_back(std::make_unique<ByteStream>(file.path, file.buffer_type));
    return OpenArrays(file.path, std::move(streams));
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    uint64_t records = 0;
    for (const FileEntry& file : files) {
      ByteStream stream(file.path);
      records += ReadNpyHeader(&stream).records;
    }
    return records;
  }

 private:
  static std::vector<SlotSpec> SlotsBeforeOpening() {
    std::vector<SlotSpec> slots(1);
    slots[0].known = false;
    return slots;
  }
};

FormatSchema Schema() {
  return FormatSchema("numpy arrays, a record a row; plain, gzip, zstd, lz4, bzip2, xz")
      .Extension(".npy")
      .Magic(IsNpy);
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<NpyFormat>(arguments);
}

REGISTER_FILE_FORMAT(npy, Schema, Make);

}  // namespace
}  // namespace millhopper
