// SPDX-License-Identifier: Apache-2.0
// Formats that read with an index (chunk_index.h) where there is one. The chunks are the same with
// and without it, so that orders, shares and positions are the same, too.
#ifndef MILLHOPPER_READERS_INDEX_INDEXABLE_FORMAT_H_
#define MILLHOPPER_READERS_INDEX_INDEXABLE_FORMAT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/index/chunk_index.h"
#include "readers/index/index_builder.h"

namespace millhopper {

// A file whose chunks can be fetched, if it is plain, from their offset and length alone.
class IndexableSource : public FileSource {
 public:
  // Is given the XXH3-64 of the bytes that decide which records a chunk has.
  using CheckSum = std::function<void(uint64_t checksum)>;

  explicit IndexableSource(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // Does what Fetch does, for a chunk that Claim has found or one that has offset and length only,
  // in a file that is plain. It calls `check` once; if that throws, what the chunk lists is not to
  // be used. Any thread.
  virtual void FetchChecked(Chunk* chunk, const CheckSum& check) const = 0;

  const ByteStream& stream() const { return *stream_; }

 protected:
  ByteStream* mutable_stream() { return stream_.get(); }

 private:
  const std::unique_ptr<ByteStream> stream_;
};

// The base of all formats that can have indexes.
class IndexableFormat : public FileFormat {
 public:
  using FileFormat::FileFormat;

  // Reads the file and makes its index; adds to *bytes, which any thread may read, what was read so
  // far. Throws kInvalidArgument if the file is compressed or can be read once only, or if this
  // format leaves records out; kResourceLimit for a chunk of more than kMaxChunkBytes; and what
  // reading throws.
  ChunkIndex MakeIndex(const FileEntry& file, std::atomic<uint64_t>* bytes);
  // What the indexes say, if all of the files have one. Remote files whose index is in a cache are
  // asked for their versions.
  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override;

 protected:
  // How many records the file has by its index; nothing if there is none.
  std::optional<uint64_t> CountByIndex(const FileEntry& file) const;
  // How many all files have together; nothing if it is not known of one. Throws kDataLoss for more
  // than files can have, and what `count` throws.
  using Count = std::function<std::optional<uint64_t>(const FileEntry& file)>;
  static std::optional<uint64_t> SumOf(const std::vector<FileEntry>& files, const Count& count);
  // What decides, besides the bytes of the file, which chunks and records it has.
  virtual std::string Rules() const = 0;
  // Whether a record may be left out because of what is in it.
  virtual bool leaves_out_records() const = 0;

 private:
  // Reads what the index of the file has to say.
  virtual IndexBuilder FindChunks(const FileEntry& file, std::atomic<uint64_t>* bytes) = 0;
};

// The attributes that name indexes, for the schema of a SearchedFormat.
constexpr char kIndexAttribute[] = "index_filename";
constexpr char kIndexListAttribute[] = "index_file_names";
constexpr char kIndexDoc[] =
    "the index that recordio index has made of the file. With it the number of records is known, "
    "and shards leave chunks out. Beside a local file, as FILE.mhi, it is found by itself";

// Formats in which only reading tells where records begin, or how many there are. The companion of
// a file is its index.
class SearchedFormat : public IndexableFormat {
 public:
  SearchedFormat(const FormatArguments& arguments, std::vector<SlotSpec> slots)
      : IndexableFormat(std::move(slots)), files_(arguments.files) {}

  // Opens the file with its companion, or with the index beside it or in the cache, if there is
  // one. An index that was made by other rules is ignored, but as a companion it is an error.
  // Without an index, the source leaves one if it is due (first_pass_index.h). Throws also what
  // ReadIndex throws.
  std::unique_ptr<FileSource> Open(const FileEntry& file) override;
  bool chunks_tell_records() const override { return TellRecords(true); }
  bool tells_all_processes() const override { return TellRecords(false); }

 protected:
  // Whether a companion is named that is an index of the format itself, not one of recordio index.
  static bool HasForeignIndex(const FileEntry& file);
  // Opens the file without an index.
  virtual std::unique_ptr<IndexableSource> OpenWithoutIndex(const FileEntry& file) = 0;

 private:
  IndexBuilder FindChunks(const FileEntry& file, std::atomic<uint64_t>* bytes) final;
  // Whether each file has an index of these rules beside it, or `by_cache` perhaps in the cache.
  // Throws what RulesOf throws.
  bool TellRecords(bool by_cache) const;

  const std::vector<FileEntry> files_;  // none if they are not known
};

// Formats whose chunks tell how many records they have, so that an index adds only the number in
// the whole file. It has no table, and is noticed to be stale when the file has another number, so
// every chunk is claimed, also those before a saved position.
class CountedFormat : public IndexableFormat {
 public:
  using IndexableFormat::IndexableFormat;

  std::unique_ptr<FileSource> Open(const FileEntry& file) final;
  bool chunks_tell_records() const override { return !leaves_out_records(); }

 protected:
  // Opens the file; *counted says whether its number of records is known from elsewhere.
  virtual std::unique_ptr<FileSource> OpenUncounted(const FileEntry& file, bool* counted) = 0;

 private:
  IndexBuilder FindChunks(const FileEntry& file, std::atomic<uint64_t>* bytes) final;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_INDEX_INDEXABLE_FORMAT_H_
