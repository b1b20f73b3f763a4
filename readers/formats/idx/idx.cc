// SPDX-License-Identifier: Apache-2.0
// The format `idx` of the MNIST data: two zero bytes, a type, a rank, the dims as big-endian 32-bit
// numbers, then the values, big-endian too. The first axis counts the records. A second file of
// labels may be zipped in as a second slot.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/fixed_size_source.h"

namespace millhopper {
namespace {

bool IsIdxType(unsigned char type) {
  return type == 0x08 || type == 0x09 || (type >= 0x0b && type <= 0x0e);
}

DataType TypeOf(unsigned char type) {
  switch (type) {
    case 0x08:
      return DataType::kUint8;
    case 0x09:
      return DataType::kInt8;
    case 0x0b:
      return DataType::kInt16;
    case 0x0c:
      return DataType::kInt32;
    case 0x0d:
      return DataType::kFp32;
    default:
      return DataType::kFp64;
  }
}

bool IsInteger(DataType type) { return type != DataType::kFp32 && type != DataType::kFp64; }

struct Header {
  uint64_t records = 0;
  SlotSpec spec;  // of a record: the first axis is 1
  size_t record_bytes = 0;
};

[[noreturn]] void Fail(ErrorCode code, const ByteStream& stream, const std::string& problem) {
  throw Error(code, problem).InFile(stream.path(), 0);
}

Header ReadHeader(ByteStream* stream) {
  unsigned char head[4 * (1 + kMaxRank)];
  const auto read = [&](unsigned char* out, size_t size) {
    if (stream->Read(reinterpret_cast<char*>(out), size) < size) {
      char next;
      stream->Read(&next, 1);  // throws if the file ends where an error is
      Fail(ErrorCode::kDataLoss, *stream,
           StrCat("the file ends at ", stream->Describe(stream->position()), " in its idx header"));
    }
  };
  read(head, 4);
  const size_t rank = head[3];
  if (head[0] != 0 || head[1] != 0 || !IsIdxType(head[2]) || rank == 0) {
    Fail(ErrorCode::kDataLoss, *stream, "no idx file: it does not begin with 0, 0, a type, a rank");
  }
  if (rank > kMaxRank) {
    Fail(ErrorCode::kResourceLimit, *stream,
         StrCat("an idx file of rank ", rank, "; the limit is ", kMaxRank));
  }
  read(head + 4, 4 * rank);
  Header header;
  header.spec.dtype = TypeOf(head[2]);
  header.spec.dims.push_back(1);
  uint64_t bytes = SizeOf(header.spec.dtype);
  for (size_t i = 0; i < rank; ++i) {
    uint32_t dim;
    std::memcpy(&dim, head + 4 + 4 * i, 4);
    dim = __builtin_bswap32(dim);
    if (i == 0) {
      header.records = dim;
      continue;
    }
    header.spec.dims.push_back(dim);
    if (dim > 0 && bytes > kMaxRecordBytes / dim) {
      Fail(ErrorCode::kResourceLimit, *stream,
           StrCat("its header declares records of more than ", kMaxRecordBytes, " bytes"));
    }
    bytes *= dim;
  }
  header.record_bytes = bytes;
  return header;
}

template <typename T>
T FromBigEndian(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  return value;
}

template <typename T>
void CopySwapped(const char* from, size_t bytes, char* to) {
  for (size_t i = 0; i < bytes; i += sizeof(T)) {
    const T value = FromBigEndian<T>(from + i);
    std::memcpy(to + i, &value, sizeof(T));
  }
}

// Values of `size` bytes each from the file's byte order to ours.
void CopyValues(const char* from, size_t bytes, size_t size, char* to) {
  switch (size) {
    case 1:
      std::memcpy(to, from, bytes);
      return;
    case 2:
      return CopySwapped<uint16_t>(from, bytes, to);
    case 4:
      return CopySwapped<uint32_t>(from, bytes, to);
    default:
      return CopySwapped<uint64_t>(from, bytes, to);
  }
}

int64_t LabelOf(const char* bytes, DataType type) {
  switch (type) {
    case DataType::kUint8:
      return static_cast<unsigned char>(*bytes);
    case DataType::kInt8:
      return static_cast<signed char>(*bytes);
    case DataType::kInt16:
      return static_cast<int16_t>(FromBigEndian<uint16_t>(bytes));
    default:
      return static_cast<int32_t>(FromBigEndian<uint32_t>(bytes));
  }
}

std::vector<SlotSpec> SlotsBeforeOpening(bool has_labels) {
  std::vector<SlotSpec> slots(1);
  slots[0].known = false;
  slots[0].dtype = DataType::kUint8;  // for programs that declare dims without a type
  if (has_labels) {
    SlotSpec label;
    label.dtype = DataType::kInt64;
    label.dims = Dims{1, 1};
    slots.push_back(label);
  }
  return slots;
}

class IdxFormat final : public FileFormat {
 public:
  explicit IdxFormat(const FormatArguments& arguments)
      : FileFormat(AgreeOnSlots(arguments.declared, SlotsBeforeOpening(arguments.has_companions))),
        has_labels_(arguments.has_companions) {}

  const std::vector<SlotSpec>& row_slots() const override {
    return opened_slots_.empty() ? slots() : opened_slots_;
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    std::vector<FixedSizeSource::Column> columns;
    auto stream = std::make_unique<ByteStream>(file.path, file.buffer_type);
    const Header header = ReadHeader(stream.get());
    DataType label_type = DataType::kUint8;
    columns.push_back({std::move(stream), header.record_bytes});
    if (has_labels_) columns.push_back(OpenLabels(file, header.records, &label_type));
    Learn(file, header.spec, label_type);
    return std::make_unique<FixedSizeSource>(std::move(columns), header.records);
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    uint64_t records = 0;
    for (const FileEntry& file : files) {
      ByteStream stream(file.path);
      records += ReadHeader(&stream).records;
    }
    return records;
  }

  bool chunks_tell_records() const override { return true; }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    rows->FixInnerDims(opened_slots_);
    const size_t size = SizeOf(opened_slots_[0].dtype);
    char* out = rows->Append(0, n);
    for (const Ticket& ticket : Prefetched(tickets, n)) {
      CopyValues(ticket.bytes, value_bytes_, size, out);
      out += value_bytes_;
    }
    if (!has_labels_) return;
    out = rows->Append(1, n);
    for (size_t i = 0; i < n; ++i) {
      const int64_t label = LabelOf(tickets[i].bytes + value_bytes_, label_type_);
      std::memcpy(out + i * sizeof(label), &label, sizeof(label));
    }
  }

 private:
  static FixedSizeSource::Column OpenLabels(const FileEntry& file, uint64_t records,
                                            DataType* type) {
    auto stream = std::make_unique<ByteStream>(file.companion, file.buffer_type);
    const Header header = ReadHeader(stream.get());
    if (header.spec.dims.size() != 1 || !IsInteger(header.spec.dtype)) {
      Fail(ErrorCode::kDataLoss, *stream,
           StrCat("labels are one integer a record, not ", ToString(header.spec)));
    }
    if (header.records != records) {
      Fail(ErrorCode::kDataLoss, *stream,
           StrCat(header.records, " labels for the ", records, " records of ", Escaped(file.path)));
    }
    *type = header.spec.dtype;
    return {std::move(stream), header.record_bytes};
  }

  // What the first opened file shows must hold for all files.
  void Learn(const FileEntry& file, const SlotSpec& spec, DataType label_type) {
    try {
      CheckFits(slots()[0], 0, spec.dtype, spec.dims, 0);
    } catch (const Error& error) {
      throw error.InFile(file.path, 0);
    }
    if (opened_slots_.empty()) {
      std::vector<SlotSpec> known = slots();
      known[0] = spec;
      value_bytes_ = static_cast<size_t>(Product(spec.dims)) * SizeOf(spec.dtype);
      label_type_ = label_type;
      opened_slots_ = std::move(known);
      return;
    }
    if (spec == opened_slots_[0] && label_type == label_type_) return;
    const bool labels = spec == opened_slots_[0];
    throw Error(ErrorCode::kDataLoss, labels
                                          ? StrCat("labels of type ", ToString(label_type),
                                                   " after files of ", ToString(label_type_))
                                          : StrCat("records of ", ToString(spec),
                                                   " after files of ", ToString(opened_slots_[0])))
        .InFile(labels ? file.companion : file.path, 0);
  }

  const bool has_labels_;
  std::vector<SlotSpec> opened_slots_;  // set once, before there is a ticket to load
  size_t value_bytes_ = 0;              // of a record, without its label
  DataType label_type_ = DataType::kUint8;
};

bool Matches(const char* head, size_t size) {
  return size >= 8 && head[0] == 0 && head[1] == 0 &&
         IsIdxType(static_cast<unsigned char>(head[2])) && head[3] >= 1 &&
         head[3] <= static_cast<int>(kMaxRank);
}

FormatSchema Schema() {
  return FormatSchema(
             "arrays of records as in the MNIST data, with labels zipped in; plain, gzip, zstd, "
             "lz4, bzip2, xz")
      .Extension(".idx")
      .Extension("idx1-ubyte")
      .Extension("idx3-ubyte")
      .Magic(Matches)
      .Companion("label_filename", "label_file_names",
                 "idx file of one integer a record, which becomes a second slot, int64 [1, 1]");
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<IdxFormat>(arguments);
}

}  // namespace

REGISTER_FILE_FORMAT(idx, Schema, Make);

}  // namespace millhopper
