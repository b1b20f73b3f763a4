// SPDX-License-Identifier: Apache-2.0
// A RecordIO file that is read chunk by chunk, in whichever dialect it was written.
#ifndef MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_FILE_H_
#define MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_FILE_H_

#include <any>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/io/file.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_format.h"
#include "readers/formats/recordio/recordio_chunk.h"
#include "readers/formats/recordio/recordio_manifest.h"

namespace millhopper {

// The dialect is recognised by the first chunk that is right in one only: whose checksum is right,
// and which is not empty in several dialects. After Fetch the pieces of a chunk are its records,
// without their lengths; those of a chunk that is stored uncompressed lie in the bytes as they came
// from the file. Chunk::claimed has the number of the chunk in the file. Errors read
//
//   train-00002.recordio: chunk 17 at byte 18350080: payload checksum 1f0a33c2, header says
//   77e1904b
//
// Claim is called by one thread at a time, Fetch and Header by any. Of a file that can be read once
// only, Claim reads the chunks.
class RecordIOFile final : public FileSource {
 public:
  // `promised` is what the file's manifest says. Another number of bytes, chunks or records is an
  // error at the end of the file, after everything that it has. Throws kIo.
  explicit RecordIOFile(const std::string& path,
                        std::optional<RecordIOPromise> promised = std::nullopt,
                        BufferType buffer_type = BufferType::kMemory);

  bool Claim(Chunk* chunk) override;
  // Looks at the first chunk, which tells the dialect, unless that is known.
  bool Seek(uint64_t offset, std::optional<uint64_t> number) override;
  void Fetch(Chunk* chunk) const override;

  // Of a chunk that Claim has found, or the first that it tried.
  RecordIODialect dialect() const { return dialect_; }
  // The number in the file, from 0, of a chunk that Claim has found, or kUnknown: after a chunk
  // that was sought without its number.
  static constexpr uint64_t kUnknown = UINT64_MAX;
  static uint64_t NumberOf(const Chunk& chunk);
  // The header of a chunk that Claim has found.
  RecordIOHeader Header(const Chunk& chunk) const;

 private:
  // What Claim says of a chunk of a file that can be read once only. Of others it says the number.
  struct ReadOnce {
    uint64_t number;
    RecordIOHeader header;
  };
  struct Position {
    uint64_t chunk;
    uint64_t offset;
  };

  // Throws the current exception, naming the chunk and the file.
  [[noreturn]] void Rethrow(const Position& at) const;
  const std::string& path() const;
  // How many bytes there are from `offset` to the end of the file, as it was when it was opened; of
  // one that can be read once only, how many of the first `wanted`.
  uint64_t LeftFrom(uint64_t offset, uint64_t wanted) const;
  // Copies bytes that are there.
  void Look(uint64_t offset, char* out, size_t size) const;
  // Has the chunk hold `length` bytes of the file, from chunk->offset on, that are there.
  void ReadChunk(Chunk* chunk, uint64_t length) const;
  // Throws unless the chunk's payload, as it is stored, has its checksum. That of a mapped file is
  // computed once for each mapping.
  void CheckPayload(const Chunk& chunk, const RecordIOHeader& header, const char* payload) const;
  void CheckPromise() const;
  // Sets dialect_ when the first chunk is claimed.
  void Recognise(const char* header, Chunk* chunk);
  // Those of the `possible` dialects in which the chunk that begins with this header is right: one,
  // or several if it is empty in all of them. Sets *likely to the one that explains most of it. The
  // chunk's bytes are read if it takes them to know.
  using Dialects = std::vector<RecordIODialect>;
  Dialects WhereRight(const char* header, const Dialects& possible, Chunk* chunk,
                      RecordIODialect* likely) const;

  const std::shared_ptr<OnePassStream> once_;  // one of these two is null
  const std::unique_ptr<const File> file_;
  const std::optional<RecordIOPromise> promised_;
  Position next_ = {0, 0};
  uint64_t records_ = 0;  // that the headers before next_ say
  bool seen_all_ = true;  // whether no chunk before next_ was passed without its header
  RecordIODialect dialect_ = RecordIODialect::kFluid;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_FILE_H_
