// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include "framework/memory/memory.h"
#include "framework/reader/ticket.h"

namespace millhopper {
namespace {

void AppendNumber(uint64_t number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// All that is known of a loaded record, as bytes.
std::string BytesOf(Rows* rows) {
  std::vector<LoDTensor> slots;
  rows->MoveTo(&slots);
  std::string bytes;
  for (const LoDTensor& slot : slots) {
    AppendNumber(static_cast<uint64_t>(slot.dtype()), &bytes);
    for (const int64_t dim : slot.dims()) AppendNumber(static_cast<uint64_t>(dim), &bytes);
    CheckLod(slot.lod(), slot.rows());
    for (const auto& level : slot.lod()) {
      for (const uint64_t offset : level) AppendNumber(offset, &bytes);
    }
    if (slot.bytes() > 0) bytes.append(static_cast<const char*>(slot.raw_data()), slot.bytes());
  }
  return bytes;
}

}  // namespace

InputFile::InputFile()
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)), path_(StrCat("/proc/self/fd/", descriptor_)) {
  CHECK_GE(descriptor_, 0);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::Write(const uint8_t* data, size_t size) {
  CHECK_EQ(ftruncate(descriptor_, 0), 0);
  if (size > 0) CHECK_EQ(pwrite(descriptor_, data, size, 0), static_cast<ssize_t>(size));
}

void CheckBlamesContent(const Error& error) {
  CHECK(error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kDataLoss ||
        error.code() == ErrorCode::kResourceLimit)
      << error.what();
}

std::string Outcome(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    CheckBlamesContent(error);
    return error.what();
  }
  return "";
}

FileContent ReadThrough(FileFormat* format, const FileEntry& file, size_t most, size_t most_bytes) {
  // Memory is freed at once, so that a sanitizer finds a read that comes later.
  BufferPool::At(Place()).set_idle_limit(0);
  FileContent content;
  std::unique_ptr<FileSource> source;
  content.errors += Outcome([&] { source = format->Open(file); });
  bool more = source != nullptr;
  while (more && content.records.size() < most) {
    const Ref<Chunk> chunk = Pool<Chunk>::Take();
    bool claimed = false;
    content.errors += Outcome([&] { claimed = source->Claim(chunk.get()); });
    const std::string fetched =
        claimed ? Outcome([&] { source->Fetch(chunk.get()); }) : std::string();
    content.errors += fetched;
    more = claimed && fetched.empty();
    if (chunk->bytes) CHECK_LE(chunk->bytes->capacity(), most_bytes);
    for (const Piece& piece : chunk->pieces) {
      if (content.records.size() == most) break;
      CHECK_LE(size_t{piece.offset} + piece.size, chunk->bytes->capacity());
      Ticket ticket;
      ticket.bytes = chunk->bytes->data() + piece.offset;
      ticket.size = piece.size;
      content.records.emplace_back(ticket.bytes, piece.size);
      Rows rows(format->row_slots());
      const std::string failed = Outcome([&] { format->Load(&ticket, 1, &rows); });
      content.errors += failed;
      if (failed.empty()) content.loaded.push_back(BytesOf(&rows));
    }
  }
  return content;
}

}  // namespace millhopper
