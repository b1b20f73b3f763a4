// SPDX-License-Identifier: Apache-2.0
#include "readers/chunks/fixed_size_source.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

// Limits the list of a chunk's records, which for tiny records would take much more memory than
// their bytes.
constexpr uint64_t kMostRecordsPerChunk = 64 << 10;

[[noreturn]] void Fail(const ByteStream& stream, uint64_t position, const std::string& problem) {
  throw Error(ErrorCode::kDataLoss, problem).InFile(stream.path(), static_cast<int64_t>(position));
}

}  // namespace

FixedSizeSource::FixedSizeSource(std::vector<Column> columns, std::optional<uint64_t> count,
                                 Partial partial)
    : columns_(std::move(columns)),
      count_(count),
      partial_(partial),
      records_(count.value_or(UINT64_MAX)) {
  for (const Column& column : columns_) {
    begins_.push_back(column.stream->position());
    record_bytes_ += column.bytes;
    plain_ = plain_ && column.stream->plain();
  }
  for (const Column& column : columns_) {
    if (plain_ && column.bytes > 0) {
      records_ = std::min(records_, column.stream->most_left() / column.bytes);
    }
  }
  // For records of 0 bytes nothing else limits their number.
  const ByteStream& first = *columns_[0].stream;
  if (record_bytes_ == 0) {
    // What can be read once only ends after its header.
    const uint64_t size = first.can_be_read_once_only() ? first.position() : first.file().size();
    if (records_ > size) {
      Fail(first, 0,
           StrCat("its header promises ", records_, " records without any bytes; a file of ", size,
                  " bytes can have as many at most"));
    }
  }
  records_per_chunk_ = std::clamp<uint64_t>(kReadBlockBytes / std::max<size_t>(1, record_bytes_), 1,
                                            kMostRecordsPerChunk);
}

size_t FixedSizeSource::RecordsFrom(uint64_t first) const {
  return std::min(records_per_chunk_, records_ - first);
}

bool FixedSizeSource::Claim(Chunk* chunk) {
  if (error_ != nullptr) std::rethrow_exception(error_);
  chunk->offset = begins_[0] + next_ * columns_[0].bytes;
  const uint64_t first = next_;
  if (!plain_) {
    ReadInOrder(chunk);
    chunk->records = chunk->pieces.size();
  } else {
    chunk->claimed = first;
    chunk->records = RecordsFrom(first);
    chunk->length = *chunk->records * record_bytes_;
  }
  next_ += *chunk->records;
  if (next_ > first) return true;
  CheckEnd();
  return false;
}

void FixedSizeSource::Fetch(Chunk* chunk) const {
  if (!plain_) return;
  const auto first = std::any_cast<uint64_t>(chunk->claimed);
  const size_t records = RecordsFrom(first);
  if (columns_.size() == 1 && columns_[0].in_place) {
    chunk->Read(columns_[0].stream->file(), chunk->offset, records * record_bytes_);
    return ListPieces(chunk, records);
  }
  chunk->bytes = BufferPool::At(Place()).Take(chunk->lead() + records * record_bytes_);
  ReadRecords(first, records, chunk->bytes->data() + chunk->lead());
  ListPieces(chunk, records);
}

bool FixedSizeSource::Seek(uint64_t offset, std::optional<uint64_t>) {
  const size_t bytes = columns_[0].bytes;
  if (!plain_ || bytes == 0 || offset < begins_[0]) return false;
  const uint64_t first = (offset - begins_[0]) / bytes;
  const bool begins_here = (offset - begins_[0]) % bytes == 0 && first % records_per_chunk_ == 0;
  if (!begins_here || first >= records_) return false;
  next_ = first;
  return true;
}

std::optional<RecordTable> FixedSizeSource::Records() const {
  if (!plain_ || columns_[0].bytes == 0) return std::nullopt;
  CheckEnd();
  RecordTable table{records_, record_bytes_, begins_[0], columns_[0].bytes, records_per_chunk_, {},
                    {}};
  if (columns_.size() == 1 && columns_[0].in_place && records_ > 0) {
    if (const Ref<Mapping>& mapping = columns_[0].stream->file().mapping()) {
      table.mapped = mapping->View(begins_[0], records_ * record_bytes_);
      table.mapping = Ref<const Mapping>(mapping.get());
    }
  }
  return table;
}

void FixedSizeSource::ReadRecords(uint64_t first, size_t n, char* out) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t bytes = columns_[i].bytes;
    const File& file = columns_[i].stream->file();
    const uint64_t offset = begins_[i] + first * bytes;
    if (bytes == record_bytes_ || n == 1) {
      file.Read(offset, out, n * bytes);
    } else {
      file.ReadApart(offset, out, bytes, record_bytes_, n);
    }
    out += bytes;
  }
}

void FixedSizeSource::ListPieces(Chunk* chunk, size_t records) const {
  chunk->pieces.resize(records);
  for (size_t i = 0; i < records; ++i) {
    chunk->pieces[i] = {static_cast<uint32_t>(chunk->lead() + i * record_bytes_),
                        static_cast<uint32_t>(record_bytes_)};
  }
}

size_t FixedSizeSource::ReadColumn(char* out) {
  const Column& column = columns_[reading_.column];
  if (column.bytes == record_bytes_) {
    // A writer may fall silent after some records. The last of them is waited for.
    size_t& got = reading_.bytes_read;
    if (got == 0) got = column.stream->ReadSome(out, reading_.records * column.bytes);
    const size_t rest = (column.bytes - got % column.bytes) % column.bytes;
    try {
      got += column.stream->Read(out + got, rest);
    } catch (const Error& error) {
      if (error.interrupts() || got < column.bytes) throw;
      error_ = std::current_exception();  // comes after the whole records
    }
    return got / column.bytes;
  }
  try {
    for (size_t& whole = reading_.whole; whole < reading_.records; ++whole) {
      const size_t got = column.stream->Read(out + whole * record_bytes_, column.bytes);
      if (got < column.bytes) break;
    }
    return std::exchange(reading_.whole, 0);
  } catch (const Error& error) {
    if (!error.interrupts()) error_ = std::current_exception();
    throw;
  }
}

void FixedSizeSource::ReadInOrder(Chunk* chunk) {
  if (!reading_.bytes) {
    size_t records = RecordsFrom(next_);
    for (const Column& column : columns_) {  // a header may promise what no file can hold
      if (column.bytes > 0) {
        records = std::min<uint64_t>(records, column.stream->most_left() / column.bytes);
      }
    }
    reading_.bytes = BufferPool::At(Place()).Take(chunk->lead() + records * record_bytes_);
    reading_.records = records;
  }
  chunk->length = reading_.records * record_bytes_;
  chunk->pieces.reserve(reading_.records);  // all memory is taken before anything is read
  char* out = reading_.bytes->data() + chunk->lead();
  for (size_t i = 0; i < columns_.size(); out += columns_[i++].bytes) {
    if (i < reading_.column) continue;
    if (columns_[i].bytes > 0) reading_.records = ReadColumn(out);
    ++reading_.column;
  }
  chunk->bytes = std::move(reading_.bytes);
  ListPieces(chunk, reading_.records);
  reading_ = {};
}

uint64_t FixedSizeSource::BytesOf(size_t column, uint64_t enough) const {
  ByteStream& stream = *columns_[column].stream;
  if (plain_) return stream.file().size() - begins_[column];
  std::vector<char> rest(kReadBlockBytes);
  while (stream.position() - begins_[column] < enough &&
         stream.Read(rest.data(), rest.size()) > 0) {
  }
  return stream.position() - begins_[column];
}

void FixedSizeSource::CheckEnd() const {
  if (!count_.has_value() && partial_ == Partial::kLeftOut) return;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ByteStream& stream = *columns_[i].stream;
    const size_t size = columns_[i].bytes;
    const uint64_t wanted = count_.has_value() ? *count_ * size : UINT64_MAX;
    const uint64_t bytes = BytesOf(i, count_.has_value() ? wanted + 1 : wanted);
    const uint64_t end = begins_[i] + std::min(bytes, wanted);
    if (bytes > wanted) {
      Fail(stream, end, StrCat("more bytes follow the last record at ", stream.Describe(end)));
    }
    if (size == 0) continue;
    const uint64_t whole = bytes / size;
    if (count_.has_value() ? bytes < wanted : bytes % size > 0) {
      Fail(stream, end,
           StrCat("the file ends at ", stream.Describe(end), " in record ", whole,
                  ", of which it has ", bytes % size, " of ", size, " bytes",
                  count_.has_value() ? StrCat("; its header promises ", *count_, " records")
                                     : "; the attribute drop_last leaves such a rest out"));
    }
  }
}

}  // namespace millhopper
