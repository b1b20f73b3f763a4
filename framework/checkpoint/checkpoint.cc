// SPDX-License-Identifier: Apache-2.0
// The file, with integers in little-endian:
//
//   8 bytes kBegin | the parts, end to end | the Manifest (proto/checkpoint.proto) |
//   u64 size of the Manifest | u32 CRC-32 of the Manifest and its size | 8 bytes kEnd
//
// The Manifest comes last, so that the parts are gone through once. Every byte is compared with
// something or is under a checksum.
#include "framework/checkpoint/checkpoint.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <zlib.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file.h"
#include "framework/io/output_file.h"
#include "framework/io/saved_name.h"
#include "framework/memory/buffer.h"
#include "framework/memory/memory.h"
#include "framework/memory/place.h"
#include "framework/reader/message_items.h"
#include "framework/tensor/tensor_stream.h"
#include "proto/checkpoint.pb.h"

namespace millhopper {
namespace {

using checkpoint_proto::Manifest;
using checkpoint_proto::Part;

// It also rises with the version of positions: a file that this program is too old for must not
// pass for a damaged one.
constexpr uint32_t kVersion = 1;
constexpr size_t kMarkBytes = 8;
constexpr char kBegin[] = "mh-save\n";
constexpr char kEnd[] = "\nmh-done";
constexpr size_t kTailBytes = sizeof(uint64_t) + sizeof(uint32_t) + kMarkBytes;
constexpr uint64_t kMaxManifestBytes = uint64_t{256} << 20;
constexpr size_t kMaxManifestItems = 1000000;  // messages and strings: two or three for each name

class Checksum {
 public:
  void Add(const void* bytes, size_t size) {
    if (size == 0) return;  // bytes may be null, which zlib takes for a new beginning
    sum_ = ::crc32_z(sum_, static_cast<const unsigned char*>(bytes), size);
  }
  uint32_t sum() const { return static_cast<uint32_t>(sum_); }

 private:
  uLong sum_ = 0;
};

// Whether a manifest takes not much more memory than its bytes.
bool HasFewNames(const char* bytes, uint64_t size) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes),
                                            static_cast<int>(size));
  return HasFewItems(Manifest::descriptor(), kMaxManifestItems, &in);
}

// ---- Writing. ----

using Sink = std::function<void(const void* bytes, size_t size)>;

// Writes one part and adds it to the manifest.
class PartWriter {
 public:
  PartWriter(const Sink& write, Manifest* manifest, Part::Kind kind, const std::string& name)
      : write_(write), part_(manifest->add_parts()) {
    part_->set_kind(kind);
    part_->set_name(name);
  }
  ~PartWriter() { part_->set_checksum(checksum_.sum()); }
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  void Write(const void* bytes, size_t size) {
    write_(bytes, size);
    checksum_.Add(bytes, size);
    part_->set_size(part_->size() + size);
  }

 private:
  const Sink& write_;
  Part* const part_;
  Checksum checksum_;
};

// Writes the bytes of a checkpoint, in order.
void WriteWith(const Sink& write, const Checkpoint& checkpoint) {
  Manifest manifest;
  manifest.set_version(kVersion);
  for (const auto& [name, value] : checkpoint.settings) {
    (*manifest.mutable_settings())[name] = SavedText(value);
  }
  for (const auto& [name, number] : checkpoint.numbers) {
    (*manifest.mutable_numbers())[name] = number;
  }
  write(kBegin, kMarkBytes);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    Require(tensor.initialized() && tensor.on_host(), "variable '", Escaped(name),
            "' has no values on the host that could be saved");
    PartWriter part(write, &manifest, Part::TENSOR, name);
    std::string header;
    AppendTensorHeader(tensor.dtype(), tensor.dims(), tensor.lod(), &header);
    part.Write(header.data(), header.size());
    part.Write(tensor.raw_data(), tensor.bytes());
  }
  for (const auto& [name, position] : checkpoint.positions) {
    const std::string bytes = position.Serialize();
    PartWriter part(write, &manifest, Part::READER, name);
    part.Write(bytes.data(), bytes.size());
  }
  std::string list;
  {
    google::protobuf::io::StringOutputStream stream(&list);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);  // the same checkpoint always gives the same bytes
    manifest.SerializeToCodedStream(&out);
  }
  const uint64_t size = list.size();
  if (size > kMaxManifestBytes) {
    Throw(ErrorCode::kResourceLimit, "the names and settings of a checkpoint take ", size,
          " bytes; the limit is ", kMaxManifestBytes);
  }
  if (!HasFewNames(list.data(), size)) {
    Throw(ErrorCode::kResourceLimit, "the names and settings of a checkpoint are more than ",
          kMaxManifestItems, ", which is the limit");
  }
  Checksum checksum;
  checksum.Add(list.data(), list.size());
  checksum.Add(&size, sizeof(size));
  const uint32_t sum = checksum.sum();
  write(list.data(), list.size());
  write(&size, sizeof(size));
  write(&sum, sizeof(sum));
  write(kEnd, kMarkBytes);
}

// ---- Reading. ----

// Bytes in memory, which outlive it.
class BytesFile final : public File {
 public:
  explicit BytesFile(std::string_view bytes) : File("in memory"), bytes_(bytes) {
    set_size(bytes.size());
    set_is_view();
  }

 private:
  size_t ReadSome(uint64_t offset, char* out, size_t size) const override {
    return bytes_.copy(out, size, offset);
  }

  const std::string_view bytes_;
};

[[noreturn]] void Fail(const File& file, uint64_t offset, const std::string& problem) {
  throw Error(ErrorCode::kDataLoss, StrCat("this is no whole checkpoint: ", problem))
      .InFile(file.path(), static_cast<int64_t>(offset));
}

Ref<Buffer> ReadBytes(const File& file, uint64_t offset, uint64_t size) {
  Ref<Buffer> bytes = BufferPool::At(Place()).Take(size);
  file.Read(offset, bytes->data(), size);
  return bytes;
}

// Reads the manifest; *end is where the parts end.
Manifest ReadManifest(const File& file, uint64_t* end) {
  if (file.size() < kMarkBytes + kTailBytes) {
    Fail(file, 0, StrCat("it has ", file.size(), " bytes"));
  }
  if (!IsCheckpoint(file)) Fail(file, 0, "it does not begin like one");
  char tail[kTailBytes];
  const uint64_t tail_at = file.size() - kTailBytes;
  file.Read(tail_at, tail, sizeof(tail));
  if (std::memcmp(tail + kTailBytes - kMarkBytes, kEnd, kMarkBytes) != 0) {
    Fail(file, file.size(), "its end is missing");
  }
  uint64_t size = 0;
  uint32_t sum = 0;
  std::memcpy(&size, tail, sizeof(size));
  std::memcpy(&sum, tail + sizeof(size), sizeof(sum));
  if (size > tail_at - kMarkBytes || size > kMaxManifestBytes) {
    Fail(file, tail_at, StrCat("its list of parts would have ", size, " bytes"));
  }
  *end = tail_at - size;
  const Ref<Buffer> bytes = ReadBytes(file, *end, size);
  Checksum checksum;
  checksum.Add(bytes->data(), size);
  checksum.Add(&size, sizeof(size));
  if (checksum.sum() != sum) Fail(file, *end, "its list of parts was changed after it was saved");
  if (!HasFewNames(bytes->data(), size)) {
    Fail(
        file, *end,
        StrCat("its list of parts has another form, or more than ", kMaxManifestItems, " entries"));
  }
  Manifest manifest;
  if (!manifest.ParseFromArray(bytes->data(), static_cast<int>(size))) {
    Fail(file, *end, "its list of parts has another form");
  }
  if (manifest.version() != kVersion) {
    throw Error(ErrorCode::kInvalidArgument, StrCat("a checkpoint of version ", manifest.version(),
                                                    "; this program knows ", "version ", kVersion))
        .InFile(file.path(), static_cast<int64_t>(*end));
  }
  return manifest;
}

// What a file holds is no argument of the caller's, so that a wrong position is a damaged file.
Position ParsePosition(const File& file, uint64_t offset, std::string_view bytes) {
  try {
    return Position::Parse(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    Fail(file, offset, error.message());
  }
}

Checkpoint ReadFrom(const File& file) {
  uint64_t end = 0;
  const Manifest manifest = ReadManifest(file, &end);
  Checkpoint checkpoint;
  checkpoint.settings.insert(manifest.settings().begin(), manifest.settings().end());
  checkpoint.numbers.insert(manifest.numbers().begin(), manifest.numbers().end());
  uint64_t at = kMarkBytes;
  for (const Part& part : manifest.parts()) {
    const std::string what = StrCat("part '", Escaped(part.name()), "'");
    if (part.size() > end - at) {
      Fail(file, at, StrCat(what, " would have ", part.size(), " bytes, ", end - at, " are left"));
    }
    const Ref<Buffer> bytes = ReadBytes(file, at, part.size());
    Checksum checksum;
    checksum.Add(bytes->data(), part.size());
    if (checksum.sum() != part.checksum()) {
      Fail(file, at, what + " was changed after it was saved");
    }
    try {
      if (part.kind() == Part::TENSOR) {
        const TensorView view = ParseTensor(bytes->data(), part.size());
        if (view.size != part.size()) Fail(file, at, what + " is longer than its tensor");
        checkpoint.tensors[part.name()] = ToTensor(view);
      } else if (part.kind() == Part::READER) {
        checkpoint.positions[part.name()] = ParsePosition(file, at, {bytes->data(), part.size()});
      } else {
        Fail(file, at, what + " is of no kind that this program knows");
      }
    } catch (const Error& error) {
      throw error.WithContext(
          StrCat("while reading ", what, " of checkpoint ", Escaped(file.path())));
    }
    at += part.size();
  }
  if (at != end) Fail(file, at, StrCat(end - at, " bytes belong to no part"));
  return checkpoint;
}

}  // namespace

void WriteCheckpoint(const Checkpoint& checkpoint, const std::string& path, OutputRules rules) {
  rules.is_private = true;
  OutputFile file(path, rules);
  WriteWith([&file](const void* bytes,
                    size_t size) { file.Write(static_cast<const char*>(bytes), size); },
            checkpoint);
  file.Publish();
}

std::string SerializeCheckpoint(const Checkpoint& checkpoint) {
  std::string all;
  WriteWith(
      [&all](const void* bytes, size_t size) { all.append(static_cast<const char*>(bytes), size); },
      checkpoint);
  return all;
}

bool IsCheckpoint(const File& file) {
  if (file.size() < kMarkBytes) return false;
  char mark[kMarkBytes];
  file.Read(0, mark, sizeof(mark));
  return std::memcmp(mark, kBegin, sizeof(mark)) == 0;
}

Checkpoint ReadCheckpoint(const std::string& path) { return ReadFrom(*File::Open(path)); }

std::map<std::string, uint64_t> ReadCheckpointNumbers(const std::string& path) {
  uint64_t end = 0;
  const Manifest manifest = ReadManifest(*File::Open(path), &end);
  return {manifest.numbers().begin(), manifest.numbers().end()};
}

Checkpoint ParseCheckpoint(std::string_view bytes) { return ReadFrom(BytesFile(bytes)); }

}  // namespace millhopper
