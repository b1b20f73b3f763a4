// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/limits/limit.h"

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <snappy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "framework/base/error.h"
#include "readers/support/checksums.h"
#include "tests/benchmarks/usage.h"

namespace millhopper {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMarkerBytes = 7;       // "snappy\0"
constexpr size_t kBlockHeaderBytes = 7;  // a flag, u16 size, u32 checksum

size_t BigEndian16(const char* bytes) {
  return static_cast<size_t>(static_cast<uint8_t>(bytes[0])) << 8 | static_cast<uint8_t>(bytes[1]);
}

libdeflate_decompressor* Decompressor() {
  static libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
  return decompressor;
}

}  // namespace

FileLimit::FileLimit(const DataSet& data) {
  const bool recordio = data.format == "recordio";
  for (const std::string& file : data.files) Add(file, recordio);
  for (const std::string& file : data.companions) Add(file, recordio);
  if (!recordio) {
    records_ = static_cast<double>(data.records) * static_cast<double>(used_bytes_) /
               static_cast<double>(file_bytes_);
  }
  Require(records_ > 0, "no record to measure a limit with");
  out_.size = expanded_bytes_;
  void* memory = mmap(nullptr, out_.size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) Throw(ErrorCode::kResourceLimit, "no memory to measure a limit in");
  out_.begin = static_cast<char*>(memory);
  mappings_.push_back(out_);
}

FileLimit::~FileLimit() {
  for (const Mapping& mapping : mappings_) munmap(mapping.begin, mapping.size);
}

void FileLimit::Add(const std::string& path, bool recordio) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    Throw(ErrorCode::kIo, path, " cannot be opened");
  }
  Mapping file;
  file.size = static_cast<size_t>(status.st_size);
  file_bytes_ += file.size;
  void* memory = mmap(nullptr, file.size, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) Throw(ErrorCode::kIo, path, " cannot be mapped");
  file.begin = static_cast<char*>(memory);
  mappings_.push_back(file);
  if (recordio) {
    AddChunks(file);
    return;
  }
  const size_t used = std::min(file.size, kMostBytes);
  for (size_t at = 0; at < used; at += kPieceBytes) {
    const size_t size = std::min(kPieceBytes, used - at);
    pieces_.push_back({file.begin + at, size, false, false, {}, size});
    expanded_bytes_ += size;
  }
  used_bytes_ += used;
}

void FileLimit::AddChunks(const Mapping& file) {
  for (size_t at = 0; at < file.size && expanded_bytes_ < kMostBytes;) {
    const RecordIOHeader header = ReadRecordIOHeader(file.begin + at, RecordIODialect::kFluid);
    const auto compressor = RecordIOCompressorOf(RecordIODialect::kFluid, header.compressor_code);
    Piece piece{file.begin + at + kRecordIOHeaderBytes,
                header.payload_bytes,
                true,
                false,
                {},
                header.payload_bytes};
    if (compressor == RecordIOCompressor::kSnappy) AddSnappyBlocks(&piece);
    if (compressor == RecordIOCompressor::kGzip) {
      uint32_t expanded;
      std::memcpy(&expanded, piece.data + piece.size - sizeof(expanded), sizeof(expanded));
      piece.gzip = true;
      piece.expanded = expanded;
    }
    hot_.resize(std::max(hot_.size(), piece.expanded));
    expanded_bytes_ += piece.expanded;
    records_ += header.records;
    pieces_.push_back(std::move(piece));
    at += kRecordIOHeaderBytes + header.payload_bytes;
  }
}

void FileLimit::AddSnappyBlocks(Piece* piece) {
  piece->expanded = 0;
  for (size_t at = kMarkerBytes; at < piece->size;) {
    const char* header = piece->data + at;
    Block block{header + kBlockHeaderBytes, BigEndian16(header + 1), 0, header[0] == 1};
    block.expanded = block.size;
    if (block.compressed) {
      Require(snappy::GetUncompressedLength(block.data, block.size, &block.expanded),
              "a snappy block without its length");
    }
    piece->expanded += block.expanded;
    piece->blocks.push_back(block);
    at += kBlockHeaderBytes + block.size;
  }
}

void FileLimit::Work(const Piece& piece, char* out) {
  if (!piece.checksum) {
    std::memcpy(out, piece.data, piece.size);
    return;
  }
  if (piece.blocks.empty() && !piece.gzip) {
    std::memcpy(out, piece.data, piece.size);
    benchmark::DoNotOptimize(RecordIOChecksum(RecordIODialect::kFluid, out, piece.size));
    return;
  }
  benchmark::DoNotOptimize(RecordIOChecksum(RecordIODialect::kFluid, piece.data, piece.size));
  char* hot = hot_.data();
  if (piece.gzip) {
    Require(libdeflate_gzip_decompress(Decompressor(), piece.data, piece.size, hot, hot_.size(),
                                       nullptr) != LIBDEFLATE_BAD_DATA,
            "a chunk that cannot be expanded");
  }
  for (const Block& block : piece.blocks) {
    if (block.compressed) {
      Require(snappy::RawUncompress(block.data, block.size, hot),
              "a block that cannot be expanded");
    } else {
      std::memcpy(hot, block.data, block.size);
    }
    benchmark::DoNotOptimize(Crc32c(hot, block.expanded));
    hot += block.expanded;
  }
  std::memcpy(out, hot_.data(), piece.expanded);
}

double FileLimit::SecondsPerRecord() {
  const double begin = ThreadSeconds();
  char* out = out_.begin;
  for (const Piece& piece : pieces_) {
    Work(piece, out);
    benchmark::ClobberMemory();
    out += piece.expanded;
  }
  return (ThreadSeconds() - begin) / records_;
}

}  // namespace millhopper
