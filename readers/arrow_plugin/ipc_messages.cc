// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/ipc_messages.h"

#include <cstring>
#include <string>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

constexpr uint32_t kContinued = 0xffffffff;  // begins messages since Arrow 0.15
constexpr std::string_view kMagic = "ARROW1";
constexpr size_t kTailBytes = 4 + kMagic.size();
constexpr size_t kBlockBytes = 24;
constexpr size_t kArrayBytes = 16;  // its length, and how many nulls it has

[[noreturn]] void Damaged(const File& file, uint64_t offset, const std::string& problem,
                          ErrorCode code = ErrorCode::kDataLoss) {
  throw Error(code, problem).InFile(file.path(), static_cast<int64_t>(offset));
}

// A table of a flatbuffer: a signed offset back to its vtable, which has for each field where it
// lies in the table, or 0.
class Table {
 public:
  static Table Root(std::string_view bytes) {
    Table table(bytes, 0);
    table.at_ = table.Follow(0);
    return table;
  }

  template <typename T>
  T Number(size_t field, T otherwise) const {
    const size_t place = Find(field);
    return place == 0 ? otherwise : Get<T>(place);
  }
  Table Inner(size_t field) const {
    const size_t place = Find(field);
    if (place == 0) Throw(ErrorCode::kDataLoss, "its metadata lack a table");
    return {bytes_, Follow(place)};
  }
  // The values of a vector; none if there is no vector.
  std::string_view Vector(size_t field, size_t value_bytes) const {
    const size_t place = Find(field);
    if (place == 0) return {};
    const size_t begin = Follow(place);
    const uint64_t size = uint64_t{Get<uint32_t>(begin)} * value_bytes;
    if (size > bytes_.size() - begin - sizeof(uint32_t)) Cut();
    return bytes_.substr(begin + sizeof(uint32_t), size);
  }

 private:
  Table(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  [[noreturn]] static void Cut() {
    Throw(ErrorCode::kDataLoss, "its metadata point beyond their end");
  }
  template <typename T>
  T Get(size_t place) const {
    T value;
    if (place > bytes_.size() || bytes_.size() - place < sizeof(value)) Cut();
    std::memcpy(&value, bytes_.data() + place, sizeof(value));
    return value;
  }
  size_t Follow(size_t place) const { return place + Get<uint32_t>(place); }
  // 0 if the table does not have it.
  size_t Find(size_t field) const {
    const int64_t vtable = static_cast<int64_t>(at_) - Get<int32_t>(at_);
    if (vtable < 0) Cut();
    const auto begin = static_cast<size_t>(vtable);
    const size_t entry = 4 + 2 * field;
    if (entry + 2 > Get<uint16_t>(begin)) return 0;
    const size_t offset = Get<uint16_t>(begin + entry);
    return offset == 0 ? 0 : at_ + offset;
  }

  std::string_view bytes_;
  size_t at_;
};

template <typename T>
T ReadNumber(const File& file, uint64_t offset) {
  T number;
  file.Read(offset, reinterpret_cast<char*>(&number), sizeof(number));
  return number;
}

std::string ReadMetadata(const File& file, uint64_t offset, uint64_t size) {
  if (size > kMaxUnsizedBytes) {
    Damaged(file, offset, StrCat("metadata of ", size, " bytes; the limit is ", kMaxUnsizedBytes),
            ErrorCode::kResourceLimit);
  }
  std::string bytes(size, '\0');
  file.Read(offset, bytes.data(), size);
  return bytes;
}

// Reads what the metadata of the message say. Its stretch, which ends after them, gets the body.
void ReadHeader(const File& file, std::string_view metadata, IpcMessage* message,
                std::vector<int64_t>* nulls) {
  const Table table = Table::Root(metadata);
  const auto kind = table.Number<uint8_t>(1, 0);
  if (kind < 1 || kind > 3) {
    Throw(ErrorCode::kDataLoss, "a message of type ", int{kind},
          ", which is no schema, dictionary or record batch");
  }
  message->kind = static_cast<IpcMessage::Kind>(kind);
  const auto body = table.Number<int64_t>(3, 0);
  const uint64_t left = file.size() - message->stretch.offset - message->stretch.size;
  if (body < 0 || static_cast<uint64_t>(body) > left) {
    Throw(ErrorCode::kDataLoss, "it has a body of ", body, " bytes, but ", left, " are left");
  }
  if (static_cast<uint64_t>(body) > kMaxChunkBytes) {
    Throw(ErrorCode::kResourceLimit, "it has a body of ", body, " bytes; the limit is ",
          kMaxChunkBytes);
  }
  message->stretch.size += static_cast<uint64_t>(body);
  if (message->kind != IpcMessage::Kind::kRecordBatch) return;
  const auto rows = table.Inner(2).Number<int64_t>(0, 0);
  if (rows < 0 || rows > int64_t{kMaxChunkRecords}) {
    Throw(ErrorCode::kResourceLimit, "a record batch of ", rows, " rows; the limit is ",
          kMaxChunkRecords);
  }
  message->rows = static_cast<uint64_t>(rows);
  if (nulls == nullptr) return;
  nulls->clear();
  const std::string_view arrays = table.Inner(2).Vector(1, kArrayBytes);
  for (size_t at = 0; at < arrays.size(); at += kArrayBytes) {
    std::memcpy(&nulls->emplace_back(), arrays.data() + at + sizeof(int64_t), sizeof(int64_t));
  }
}

}  // namespace

std::optional<IpcMessage> ReadIpcMessage(const File& file, uint64_t offset,
                                         std::vector<int64_t>* nulls) {
  if (offset == file.size()) return std::nullopt;
  const uint64_t left = file.size() - offset;
  uint64_t head = sizeof(uint32_t);
  const auto check = [&](uint64_t bytes) {
    if (bytes > left) {
      Damaged(
          file, offset,
          StrCat("a message of at least ", bytes, " bytes begins here, but ", left, " are left"));
    }
  };
  check(head);
  auto size = ReadNumber<uint32_t>(file, offset);
  if (size == kContinued) {
    check(2 * head);
    size = ReadNumber<uint32_t>(file, offset + head);
    head *= 2;
  }
  if (size == 0) return std::nullopt;
  check(head + size);
  IpcMessage message;
  message.stretch = {offset, head + size};
  const std::string metadata = ReadMetadata(file, offset + head, size);
  try {
    ReadHeader(file, metadata, &message, nulls);
  } catch (const Error& error) {
    throw error.InFile(file.path(), static_cast<int64_t>(offset));
  }
  return message;
}

std::vector<uint64_t> ReadIpcBatches(const File& file) {
  char tail[kTailBytes];
  const uint64_t least = kMagic.size() + 2 + kTailBytes;
  if (file.size() < least) Damaged(file, 0, "an Arrow file without a footer");
  const uint64_t end = file.size() - kTailBytes;
  file.Read(end, tail, kTailBytes);
  uint32_t size = 0;
  std::memcpy(&size, tail, sizeof(size));
  if (std::string_view(tail + sizeof(size), kMagic.size()) != kMagic || size > end) {
    Damaged(file, end, "an Arrow file without the footer that ends one; it was cut or not closed");
  }
  const std::string bytes = ReadMetadata(file, end - size, size);
  std::vector<uint64_t> batches;
  try {
    const std::string_view blocks = Table::Root(bytes).Vector(3, kBlockBytes);
    for (size_t at = 0; at < blocks.size(); at += kBlockBytes) {
      int64_t offset = 0;
      std::memcpy(&offset, blocks.data() + at, sizeof(offset));
      if (offset < 0 || static_cast<uint64_t>(offset) >= end) {
        Throw(ErrorCode::kDataLoss, "its footer has a record batch at byte ", offset);
      }
      batches.push_back(static_cast<uint64_t>(offset));
    }
  } catch (const Error& error) {
    throw error.InFile(file.path(), static_cast<int64_t>(end - size));
  }
  return batches;
}

}  // namespace millhopper
