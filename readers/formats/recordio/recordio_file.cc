// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "readers/support/checksums.h"

namespace millhopper {
namespace {

constexpr RecordIODialect kDialects[] = {RecordIODialect::kFluid, RecordIODialect::kCrc32c,
                                         RecordIODialect::kGo};

template <typename... Parts>
[[noreturn]] void Damaged(const Parts&... parts) {
  Throw(ErrorCode::kDataLoss, parts...);
}

}  // namespace

RecordIOFile::RecordIOFile(const std::string& path, std::optional<RecordIOPromise> promised,
                           BufferType buffer_type)
    : once_(OnePassFiles::Open(path)),
      file_(once_ == nullptr ? File::Open(path, buffer_type) : nullptr),
      promised_(std::move(promised)) {
  if (once_ != nullptr && buffer_type == BufferType::kMmap) {
    throw ReadOnceOnly(path, "buffer_type \"mmap\" is for files on local disks");
  }
}

const std::string& RecordIOFile::path() const {
  return once_ == nullptr ? file_->path() : once_->path();
}

uint64_t RecordIOFile::NumberOf(const Chunk& chunk) {
  const auto* const once = std::any_cast<ReadOnce>(&chunk.claimed);
  return once == nullptr ? std::any_cast<uint64_t>(chunk.claimed) : once->number;
}

uint64_t RecordIOFile::LeftFrom(uint64_t offset, uint64_t wanted) const {
  if (once_ == nullptr) return file_->size() - offset;
  const uint64_t has = once_->Has(offset, wanted);
  if (has < wanted) once_->CheckNoError();
  return has;
}

void RecordIOFile::Look(uint64_t offset, char* out, size_t size) const {
  if (once_ == nullptr) {
    file_->Read(offset, out, size);
  } else {
    once_->Look(offset, out, size);
  }
}

void RecordIOFile::ReadChunk(Chunk* chunk, uint64_t length) const {
  if (once_ == nullptr) {
    chunk->Read(*file_, chunk->offset, length);
    return;
  }
  chunk->bytes = BufferPool::At(Place()).Take(chunk->lead() + length);
  once_->Look(chunk->offset, chunk->bytes->data() + chunk->lead(), length);
  chunk->SetAsInFile();
}

void RecordIOFile::Rethrow(const Position& at) const {
  const Error error = CurrentError();
  // A failed read names its own byte; a stop or a lack of memory tells nothing of the file.
  if (!error.file().empty() || error.interrupts()) throw;
  const std::string chunk = at.chunk == kUnknown ? "" : StrCat(" ", at.chunk);
  throw Error(error.code(), StrCat("chunk", chunk, " at byte ", at.offset, ": ", error.message()))
      .InFile(path(), static_cast<int64_t>(at.offset));
}

RecordIOFile::Dialects RecordIOFile::WhereRight(const char* header, const Dialects& possible,
                                                Chunk* chunk, RecordIODialect* likely) const {
  Dialects right;
  std::optional<RecordIODialect> known, fitting;
  uint64_t read = 0;
  for (const RecordIODialect dialect : possible) {
    const RecordIOHeader fields = ReadRecordIOHeader(header, dialect);
    if (!RecordIOCompressorOf(dialect, fields.compressor_code)) continue;
    if (!known) known = dialect;
    const uint64_t begin = chunk->offset + kRecordIOHeaderBytes;
    if (fields.payload_bytes > kMaxChunkBytes) continue;
    if (fields.payload_bytes > LeftFrom(begin, fields.payload_bytes)) continue;
    if (!fitting) fitting = dialect;
    const char* payload = nullptr;
    if (fields.payload_bytes > 0) {
      const uint64_t length = kRecordIOHeaderBytes + fields.payload_bytes;
      if (length != read) ReadChunk(chunk, length);
      read = length;
      payload = chunk->bytes->data() + chunk->lead() + kRecordIOHeaderBytes;
    }
    if (RecordIOChecksum(dialect, payload, fields.payload_bytes) != fields.checksum) continue;
    if (fields.payload_bytes > 0) return {dialect};  // no other is right by chance
    if (fields.records == 0) right.push_back(dialect);
  }
  *likely = fitting.value_or(known.value_or(possible.front()));
  return right;
}

// The header of an empty chunk may be right in several dialects, in which it is as long: then the
// chunks after it tell.
void RecordIOFile::Recognise(const char* header, Chunk* chunk) {
  Dialects right =
      WhereRight(header, Dialects(std::begin(kDialects), std::end(kDialects)), chunk, &dialect_);
  if (right.empty()) chunk->bytes = Ref<Buffer>();  // it is damaged, and Fetch will say how
  uint64_t offset = chunk->offset;
  while (!right.empty()) {
    dialect_ = right.front();
    offset += kRecordIOHeaderBytes;
    char bytes[kRecordIOHeaderBytes];
    if (right.size() == 1) return;
    if (LeftFrom(offset, kRecordIOHeaderBytes) < kRecordIOHeaderBytes) return;
    CheckStop();
    Look(offset, bytes, kRecordIOHeaderBytes);
    if (!HasRecordIOMagic(bytes, sizeof(bytes))) return;
    const Ref<Chunk> ahead = Pool<Chunk>::Take();
    ahead->offset = offset;
    right = WhereRight(bytes, right, ahead.get(), &dialect_);
  }
}

bool RecordIOFile::Seek(uint64_t offset, std::optional<uint64_t> number) {
  if (once_ != nullptr || offset < next_.offset || offset >= file_->size()) return false;
  if (next_.chunk == 0) {
    if (offset == 0) return true;
    const Ref<Chunk> first = Pool<Chunk>::Take();
    if (!Claim(first.get())) return false;
  }
  if (offset == next_.offset) return true;
  next_ = {number.value_or(kUnknown), offset};
  seen_all_ = false;
  return true;
}

// The end of a file in which chunks were passed over tells its bytes only.
void RecordIOFile::CheckPromise() const {
  if (!promised_) return;
  const auto is_found = [this](const RecordIOCounts& counts) {
    return counts.bytes == next_.offset &&
           (!seen_all_ || (counts.chunks == next_.chunk && counts.records == records_));
  };
  if (is_found(promised_->counts) || (promised_->old && is_found(*promised_->old))) return;
  const RecordIOCounts found = {next_.offset, next_.chunk, records_};
  const auto text = [](const RecordIOCounts& counts) {
    return StrCat(counts.records, " records in ", counts.chunks, " chunks and ", counts.bytes,
                  " bytes");
  };
  throw Error(
      ErrorCode::kDataLoss,
      StrCat("the file ends at byte ", found.bytes, seen_all_ ? " with " + text(found) : "",
             ", but its manifest says ", text(promised_->counts),
             promised_->old ? StrCat(", or while it is replaced ", text(*promised_->old)) : "",
             " (", Escaped(RecordIOManifest::PathOf(path())), ")"))
      .InFile(path(), static_cast<int64_t>(found.bytes));
}

bool RecordIOFile::Claim(Chunk* chunk) {
  const uint64_t left = LeftFrom(next_.offset, kRecordIOHeaderBytes);
  if (left == 0) {
    CheckPromise();
    return false;
  }
  try {
    chunk->offset = next_.offset;
    chunk->claimed = next_.chunk;
    char bytes[kRecordIOHeaderBytes];
    if (left < kRecordIOHeaderBytes) {
      Damaged("the file ends ", left, " bytes into a header of ", kRecordIOHeaderBytes);
    }
    Look(next_.offset, bytes, kRecordIOHeaderBytes);
    if (!HasRecordIOMagic(bytes, sizeof(bytes))) {
      uint32_t found;
      std::memcpy(&found, bytes, sizeof(found));
      Damaged("it begins with ", Hex(__builtin_bswap32(found)),
              ", which is no chunk of RecordIO (04030201)");
    }
    if (next_.chunk == 0) Recognise(bytes, chunk);
    const RecordIOHeader header = ReadRecordIOHeader(bytes, dialect_);
    if (!RecordIOCompressorOf(dialect_, header.compressor_code)) {
      Damaged("compressor ", header.compressor_code, " is unknown in the ", ToString(dialect_),
              " dialect");
    }
    const uint64_t looked_for = std::min<uint64_t>(header.payload_bytes, kMaxChunkBytes);
    const uint64_t payload_left = LeftFrom(next_.offset + kRecordIOHeaderBytes, looked_for);
    const bool may_have_more = once_ != nullptr && payload_left == looked_for;
    if (header.payload_bytes > payload_left && !may_have_more) {
      Damaged("the header says ", header.payload_bytes, " bytes of payload, but the file has ",
              payload_left);
    }
    if (header.payload_bytes > kMaxChunkBytes) {
      Throw(ErrorCode::kResourceLimit, "a payload of ", header.payload_bytes,
            " bytes; the limit is ", kMaxChunkBytes);
    }
    chunk->length = kRecordIOHeaderBytes + header.payload_bytes;
    if (once_ != nullptr) {
      ReadChunk(chunk, chunk->length);
      once_->Forget(next_.offset + chunk->length);
      chunk->claimed = ReadOnce{next_.chunk, header};
    }
    chunk->records = header.records;
    records_ += header.records;
  } catch (...) {
    Rethrow(next_);
  }
  next_.offset += chunk->length;
  if (next_.chunk != kUnknown) ++next_.chunk;
  return true;
}

void RecordIOFile::Fetch(Chunk* chunk) const {
  try {
    if (!chunk->bytes) ReadChunk(chunk, chunk->length);
    const size_t begin = chunk->lead();
    const char* bytes = chunk->bytes->data() + begin;
    RecordIOHeader header = ReadRecordIOHeader(bytes, dialect_);
    if (chunk->mapped() &&
        header.compressor_code != RecordIOCompressorCode(dialect_, RecordIOCompressor::kNone)) {
      // A decompressor may read a byte twice, and it must not change meanwhile.
      bytes = chunk->Copy(*file_, chunk->offset, chunk->length);
      header = ReadRecordIOHeader(bytes, dialect_);
    }
    const auto compressor = RecordIOCompressorOf(dialect_, header.compressor_code);
    if (!HasRecordIOMagic(bytes, chunk->length) || !compressor ||
        header.payload_bytes != chunk->length - kRecordIOHeaderBytes) {
      Damaged("its header changed while the file was read");
    }
    const char* payload = bytes + kRecordIOHeaderBytes;
    CheckPayload(*chunk, header, payload);
    if (*compressor == RecordIOCompressor::kNone || header.payload_bytes == 0) {
      ListRecords(payload, header.payload_bytes,
                  static_cast<uint32_t>(begin + kRecordIOHeaderBytes), header.records,
                  &chunk->pieces);
    } else {
      size_t expanded = 0;
      chunk->bytes =
          ExpandRecordIO(dialect_, *compressor, payload, header.payload_bytes, &expanded);
      ListRecords(chunk->bytes->data(), expanded, 0, header.records, &chunk->pieces);
    }
  } catch (...) {
    Rethrow({NumberOf(*chunk), chunk->offset});
  }
}

void RecordIOFile::CheckPayload(const Chunk& chunk, const RecordIOHeader& header,
                                const char* payload) const {
  const Mapping* const mapping = chunk.mapped() ? chunk.mapping() : nullptr;
  if (mapping != nullptr && mapping->IsChecked(chunk.offset)) return;
  const uint32_t checksum = RecordIOChecksum(dialect_, payload, header.payload_bytes);
  if (checksum != header.checksum) {
    Damaged("payload checksum ", Hex(checksum), ", header says ", Hex(header.checksum));
  }
  if (mapping != nullptr) mapping->SetChecked(chunk.offset);
}

RecordIOHeader RecordIOFile::Header(const Chunk& chunk) const {
  if (const auto* const once = std::any_cast<ReadOnce>(&chunk.claimed)) return once->header;
  char bytes[kRecordIOHeaderBytes];
  file_->Read(chunk.offset, bytes, kRecordIOHeaderBytes);
  return ReadRecordIOHeader(bytes, dialect_);
}

}  // namespace millhopper
