// SPDX-License-Identifier: Apache-2.0
// File formats. The records of a file pass four phases, of which a format writes three:
//
//   Claim  where does the next chunk of the file lie? By arithmetic or from a header, without
//          reading what is in it; one thread a file, in order. Only a true stream, such as a gzip
//          file, is read here.
//   Fetch  what are its records? Reads, checks, expands and lists them; any thread.
//   Plan   which record comes next? FileReader's: it hands out a ticket for each.
//   Load   what are the tensors of a record? Any thread, straight into their place.
//
// FileReader takes care of reading ahead, order, threads, memory and the context of errors.
//
// A format is one folder in readers/formats with one REGISTER_FILE_FORMAT line. Registering it
// gives its creation operator create_<tag>_file_reader, its tag for open_files and its row in
// `executor --list_formats`.
#ifndef MILLHOPPER_FRAMEWORK_READER_FILE_FORMAT_H_
#define MILLHOPPER_FRAMEWORK_READER_FILE_FORMAT_H_

#include <any>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/io/file.h"
#include "framework/memory/memory.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"

namespace millhopper {

// One record in a chunk.
struct Piece {
  uint32_t offset;  // in Chunk::bytes
  uint32_t size;
};

// Holds the records of a chunk in another form than stretches of bytes, such as rows of columns.
class RecordHolder : public RefCounted {
 public:
  // How much memory it holds.
  virtual size_t bytes() const = 0;
  // Counts memory that was taken ahead of need (MemoryScope) as needed now.
  virtual void SetNeeded() = 0;
};

// A stretch of a file with its records listed. Pooled.
class Chunk final : public RefCounted {
 public:
  // Set by Claim: where the chunk lies in the file. In a list of files, `offset` says which of them
  // is the chunk's first one.
  uint64_t offset = 0;
  uint64_t length = 0;
  // A value of the format's own type that Claim passes to Fetch.
  std::any claimed;
  // Set by Claim if the file tells the chunk's number of records before it is read. Then a shard
  // can leave the chunk out without fetching it.
  std::optional<uint64_t> records;
  // Set by Claim if the chunk has no records and is only the first part of the next chunk's data.
  // Then both belong to the same share, and the next one is planned when both are fetched.
  bool is_part = false;
  // The index in `bytes` at which to store the data read from `offset`; `bytes` needs that much
  // more room. The kernel's pages are aligned as the file is, and some processors (AMD's Zen) copy
  // far slower if the target lies 1 to 15 bytes further in its page than the source.
  size_t lead() const { return offset % kBufferAlignment; }
  // Set by Fetch, or already by Claim: the records in order and the bytes that hold them.
  Ref<Buffer> bytes;
  PooledVector<Piece> pieces;
  // Set by Fetch in place of `bytes`. Then tickets have no bytes: their owner is the chunk, and
  // Ticket::index is the `offset` of their piece, which means what the format likes.
  Ref<RecordHolder> holder;

  // Makes `bytes` hold `size` bytes of the file from `from` on, of which it holds `have` already,
  // and returns the first of them. They begin as many bytes into `bytes` as `from` lies beyond a
  // multiple of kBufferAlignment (lead(), if `from` is `offset`). A mapped file is not read:
  // `bytes` then views its pages, which may change at any time (mapping.h). The reader gives out
  // only records that did not change, but a format must not read a byte twice and expect the same
  // value.
  const char* Read(const File& file, uint64_t from, size_t size, size_t have = 0);
  // The same, but always copies into the chunk's own memory, also from a mapped file.
  const char* Copy(const File& file, uint64_t from, size_t size, size_t have = 0);
  // Says that `bytes`, from lead() on, holds the file (or its decompressed content) from `offset`
  // on, so that errors can tell the place of each record. Read and Copy say it themselves.
  void SetAsInFile() { SetAsInFile(offset - lead()); }
  // The index in `bytes` of the byte of the file at `offset`; nothing if the bytes are no copy of
  // the file, such as expanded ones.
  std::optional<uint32_t> IndexInBytes() const {
    if (!bytes || bytes.get() != as_in_file_) return std::nullopt;
    return static_cast<uint32_t>(offset - first_byte_);
  }
  // Whether the bytes are those of a mapped file.
  bool mapped() const { return mapping_ && bytes && mapping_->Has(bytes->data()); }
  // Throws if a mapped file may have changed since it was opened (Mapping::CheckUnchanged).
  void CheckUnchanged() const {
    if (mapping_) mapping_->CheckUnchanged(offset);
  }
  // The file that the bytes are mapped from, or were before they were expanded; null if none.
  const Mapping* mapping() const { return mapping_.get(); }

 private:
  friend class ChunkQueue;
  friend class DealtChunk;
  void Dispose() override;
  // Counts memory that was taken ahead of need (MemoryScope) as needed now.
  void SetNeeded();
  void SetAsInFile(uint64_t first_byte) {
    as_in_file_ = bytes.get();
    first_byte_ = first_byte;
  }

  const Buffer* as_in_file_ = nullptr;  // bytes that begin with byte first_byte_ of the file
  uint64_t first_byte_ = 0;
  uint64_t number_ = 0;        // in the file
  bool ready_ = false;         // fetched, as far as it can be
  uint64_t left_out_ = 0;      // records in the chunks before it that belong to other shares
  size_t claimed_pieces_ = 0;  // how many Claim has listed
  bool deferred_ = false;      // there was no memory to fetch it ahead, so no thread works on it
  std::exception_ptr error_;   // comes after the pieces
  Ref<Mapping> mapping_;
};

// Records of one size, of which each can be found by arithmetic.
struct RecordTable {
  uint64_t records;
  size_t record_bytes;
  uint64_t begin;        // the byte of the file at which record 0 begins
  size_t bytes_in_file;  // from one record to the next; less than record_bytes beside a companion
  uint64_t in_chunk;     // how many records a chunk has, but for the last one
  // The records where they lie one after another in a mapped file (mapping.h); null otherwise.
  Ref<Buffer> mapped;
  Ref<const Mapping> mapping;  // of `mapped`
};

// One file that is being read, from its beginning to its end or record by record.
class FileSource {
 public:
  virtual ~FileSource() = default;
  // Finds the next chunk, or returns false at the end of the file. One thread at a time, in order.
  // A call that is refused memory (MemoryScope) is made again later, with another chunk: it must
  // not have lost what it has read. Errors are kDataLoss or kIo, name the file and the byte
  // (Error::InFile), and end the file; a Claim that has listed records already delivers them first.
  virtual bool Claim(Chunk* chunk) = 0;
  // Reads and checks the chunk and lists its records. Any thread, several chunks at once. May list
  // the records before a damaged one and then throw; they are delivered first. A call that is
  // refused memory (MemoryScope) is made again later, with the chunk as Claim has left it.
  virtual void Fetch(Chunk* chunk) const = 0;
  // Goes to the chunk that begins there, so that the next Claim finds it, and returns true; or
  // changes nothing and returns false: then the caller claims the chunks before it and drops them
  // without Fetch. `offset` is Chunk::offset of a chunk that another source has found in this file,
  // or any number if a position is wrong: then Claim may also fail as if the file ended or were
  // damaged there. `number` is the chunk's number in the file, from 0, if it is known. Called
  // before the first Claim, or between two calls of it for a chunk farther on.
  virtual bool Seek(uint64_t offset, std::optional<uint64_t> number);
  // The records of a file in which each can be read by itself; nothing if it is no such file.
  // Throws what Claim throws at the end of a file that is too short or too long.
  virtual std::optional<RecordTable> Records() const { return std::nullopt; }
  // Reads the bytes of n consecutive records of that table, as tickets of them have them, to `out`,
  // one after another. Any thread. Errors are those of Fetch.
  virtual void ReadRecords(uint64_t first, size_t n, char* out) const;
};

// A file named by a program, and its companion file (labels) in formats that have one.
struct FileEntry {
  std::string path;
  std::string companion;  // "" if there is none
  BufferType buffer_type = BufferType::kMemory;
};

// A format with the settings of one reader, for all files of that reader. Only Open changes it,
// when it learns slots from a file.
class FileFormat {
 public:
  explicit FileFormat(std::vector<SlotSpec> slots) : slots_(std::move(slots)) {}
  virtual ~FileFormat() = default;
  // The slots as declared, or as the format knows them without reading a file.
  const std::vector<SlotSpec>& slots() const { return slots_; }
  // The slots that Load fills, as learned from opened files. Called when tickets are loaded.
  virtual const std::vector<SlotSpec>& row_slots() const { return slots_; }
  // Opens the file. One thread at a time. Throws kIo or kDataLoss with the file's name.
  virtual std::unique_ptr<FileSource> Open(const FileEntry& file) = 0;
  // How many records the files hold together, if file sizes, headers or manifests tell it without
  // reading records. Any thread, at any time. Throws what Open throws.
  virtual std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const;
  // Appends the records of the tickets to the rows. Any thread. Errors say what is wrong with the
  // record; file and place are added by the reader. A loop over Prefetched (prefetched.h) has the
  // beginning of each record in the cache.
  virtual void Load(const Ticket* tickets, size_t n, Rows* rows) const = 0;
  // How users name the place of a record that begins at this byte of the file, such as "line 17";
  // "" if there is no such name. For texts of errors only, so it may read the file. Any thread.
  virtual std::string PlaceName(const FileEntry& file, uint64_t offset) const;
  // How users name record `number` of the chunk at `chunk`, where it is not only bytes of the file:
  // such as the path of an image that a list names.
  virtual std::string RecordName(const FileEntry& file, uint64_t chunk, uint64_t number) const;
  // A number that tells a record from others, whatever is added after it: of the file's key and the
  // place in the file by default; of its name alone where a list or folder names it. Any thread.
  virtual uint64_t RecordKey(const FileEntry& file, uint64_t file_key, uint64_t chunk,
                             uint64_t number) const;
  // A number that changes with a file, besides its path and size: of a list of other files or of a
  // folder, a fingerprint of the names and labels in it. 0 if there is none. Throws what Open
  // throws.
  virtual uint64_t Fingerprint(const FileEntry& file) const;
  // What the records depend on besides the files, by name: the format and its attributes.
  const std::map<std::string, std::string>& settings() const { return settings_; }
  // Whether a file's path is that of a folder.
  bool reads_folders() const { return reads_folders_; }
  // Says that tickets will wait in a window (ReaderBase::ExpectWindow). Called before Open.
  virtual void ExpectWindow() {}
  // Whether Claim sets Chunk::records, so that a shard can leave out the chunks of other shards.
  virtual bool chunks_tell_records() const { return false; }
  // Whether it sets them in every process that reads the files: not if an index tells them that is
  // in a cache, which another machine may lack. What elements there are may depend on it.
  virtual bool tells_all_processes() const { return chunks_tell_records(); }
  // The plugin library that holds the format's code; null if it is no plugin's.
  const char* library() const { return library_; }

 protected:
  // Makes the settings.
  void DescribeAs(const std::string& format, const AttributeMap& attributes);

 private:
  friend struct FormatSchema;

  std::vector<SlotSpec> slots_;
  std::map<std::string, std::string> settings_;
  const char* library_ = nullptr;
  bool reads_folders_ = false;
};

// The settings that a format is made from.
struct FormatArguments {
  std::vector<SlotSpec> declared;  // empty if the program declares no slots
  AttributeMap attributes;         // by the format's schema
  // The patterns with wildcards that found the files. With them a format that knows of a missing
  // file can tell that the program meant it.
  std::vector<std::string> patterns;
  bool has_companions = false;                   // every FileEntry will name one
  BufferType buffer_type = BufferType::kMemory;  // of every FileEntry
  // The files that will be opened; empty if they are not known yet. A format may learn undeclared
  // slots from files beside them.
  std::vector<FileEntry> files;
  // How the caller that makes the reader declares slots, for the texts of errors. `names` are those
  // of the slots, or none. Null if it is not known.
  std::string (*declaration)(const std::vector<SlotSpec>& slots,
                             const std::vector<std::string>& names) = nullptr;
};

// Fields that fit a file: entries of the attribute `fields`, one a slot.
struct FittingFields {
  std::vector<std::string> entries;
  // What is in the file and no field can read, with the reason: "'m' is a map of maps".
  std::vector<std::string> left_out;
  // Other attributes of the format that they go with, such as the delimiter that was found.
  AttributeMap attributes = {};
  // What entries do not tell of what is in the file: "'t' has the numbers of time32[ms]".
  std::vector<std::string> notes = {};
  // The format has no nulls, so that booleans "a.valid" beside "a" are its mask, as we write it.
  bool holds_masks = false;
};

// Looks at all records of some files, for fields that fit every one of them (infer: "all").
class FieldsOfRecords {
 public:
  virtual ~FieldsOfRecords() = default;
  // The fields, of bytes, by which the files are read for this. Without any, a record is its bytes.
  virtual std::vector<std::string> entries() const { return {}; }
  // Looks at the next record, of which there is one value for each of the entries. Errors say what
  // is wrong with it.
  virtual void Add(const std::vector<std::string_view>& values) = 0;
  // What fits the records so far.
  virtual FittingFields Fields() const = 0;
};

// How a format presents itself. Built fluently by the function given to REGISTER_FILE_FORMAT.
struct FormatSchema {
  explicit FormatSchema(std::string text) : doc(std::move(text)) {}
  FormatSchema& Attr(AttributeSchema attribute);
  // File names with this end in small letters, such as ".recordio", are of this format; a ".gz",
  // ".zst" or ".lz4" after it is ignored.
  FormatSchema& Extension(std::string extension);
  // Whether the first bytes of a file (up to 64, decompressed) can be of this format.
  FormatSchema& Magic(bool (*matches)(const char* head, size_t size));
  // A "file" of the format is a folder.
  FormatSchema& Folders();
  // What the slots are called where nobody names them, for a format whose records always have
  // these. Added to `doc`.
  FormatSchema& SlotNames(std::vector<std::string> names);
  // An attribute that names one more file per file: `name` for a single file, `list_name` (paired
  // by position) in open_files.
  FormatSchema& Companion(std::string name, std::string list_name, std::string text);
  // Names with this end, such as ".manifest.json", are those of files beside files of the format: a
  // pattern of file names leaves them out, unless it has the same extension (".json") itself.
  FormatSchema& Beside(std::string suffix);
  // Files of the format name others, which lie in their folder or in folders within it. `name` is a
  // part of the names of all files of the format that their first bytes alone tell.
  FormatSchema& NamesFilesBeside(std::string name);
  // Files of the format name others, which may lie anywhere.
  FormatSchema& NamesFilesAnywhere();
  // For formats with an attribute `fields`: what a file holds, by its schema or by a sample of its
  // records, for a reader with these attributes. No entries if it holds records of bytes. May throw
  // what reading the file throws. A reader without `fields` has these, but for those that the
  // attribute `exclude` names, which this adds (readers/sources/inferred_fields.h).
  FormatSchema& InferFields(FittingFields (*infer)(const std::string& path,
                                                   const AttributeMap& attributes));
  // The same of all files of a reader, where that costs little. Besides the function above, which a
  // reader then does not call.
  FormatSchema& InferFieldsOfAll(FittingFields (*infer)(const std::vector<std::string>& paths,
                                                        const AttributeMap& attributes));
  // For formats without a schema: what looks at all records where the attribute `infer`, which this
  // adds, is "all". `sampled` is what the function of InferFields has found, with its other
  // attributes. Besides that function.
  FormatSchema& InferFieldsOfRecords(std::unique_ptr<FieldsOfRecords> (*make)(
      const FittingFields& sampled, const AttributeMap& attributes));
  // The attributes, with defaults for those that are not set.
  AttributeMap WithDefaults(AttributeMap attributes) const;
  // A format with these settings, as its function makes it; attributes that are not set have their
  // defaults.
  std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) const;

  std::string tag;  // set by the registry
  std::string doc;  // one line
  std::vector<AttributeSchema> attributes;
  std::vector<std::string> extensions;
  std::vector<std::string> beside;
  bool (*matches)(const char* head, size_t size) = nullptr;
  bool reads_folders = false;
  std::vector<std::string> slot_names;  // empty if other things than the format tell them
  bool names_files_beside = false, names_files_anywhere = false;
  std::string name_part;  // of files that name others beside them
  std::string companion_name, companion_list_name, companion_doc;
  FittingFields (*guess_fields)(const std::string& path, const AttributeMap& attributes) = nullptr;
  FittingFields (*infer_fields_of_all)(const std::vector<std::string>& paths,
                                       const AttributeMap& attributes) = nullptr;
  std::unique_ptr<FieldsOfRecords> (*fields_of_records)(const FittingFields& sampled,
                                                        const AttributeMap& attributes) = nullptr;
  std::unique_ptr<FileFormat> (*make)(const FormatArguments& arguments) = nullptr;
  const char* library = nullptr;  // the library of `make` (LibraryOf); set by the registry
};

using MakeFormat = std::unique_ptr<FileFormat> (*)(const FormatArguments& arguments);

// Registers a format under its tag. Called before main or while a plugin is loaded. If the tag is
// taken, the process ends with a message, or the plugin is refused.
bool RegisterFileFormat(const std::string& tag, FormatSchema schema, MakeFormat make);
// Null if there is none.
const FormatSchema* FindFileFormat(const std::string& tag);
std::vector<std::string> FileFormatTags();  // sorted

#define REGISTER_FILE_FORMAT(tag, schema, make)            \
  [[maybe_unused]] static const bool registered_##tag##_ = \
      ::millhopper::RegisterFileFormat(#tag, schema(), make)

// A file name without its prefix, and the format that it has by its name, or null.
struct FormatChoice {
  std::string path;
  const FormatSchema* schema = nullptr;
};
// Looks at the prefix only: a registered tag, without a slash, before the first colon.
FormatChoice SplitFormatPrefix(const std::string& file_name);
// Looks at the prefix, then at the extension. If neither names a format, `schema` is null, and the
// first bytes decide when the file is first read. Throws kInvalidArgument if the extension belongs
// to several formats, or to one of a plugin of ours that is not loaded.
FormatChoice ChooseFormat(const std::string& file_name);

// Whether the extension is one of files of columns (Parquet, Arrow, Feather), which may lie in
// folders that are read as one. Their plugin need not be loaded.
bool NamesColumns(const std::string& file_name);
// Whether the first bytes of a local file are those of such a file, whatever its name says.
bool HoldsColumns(const std::string& path);

// What is wrong with a folder where a file is wanted, with what can be typed instead.
std::string FolderProblem(const std::string& path);
// Throws that as kIo if the path is that of a folder.
void RefuseFolder(const std::string& path);

// The format by the first bytes of a file (decompressed). Throws kDataLoss if they fit none or
// several, and what reading the file throws.
const FormatSchema& FormatByContent(const std::string& path);

// A format for files whose prefix and extension name none. The first bytes (decompressed) of the
// first file that is opened decide. `arguments.declared` must not be empty.
std::unique_ptr<FileFormat> MakeFormatByContent(const FormatArguments& arguments);

// The cause of an error about slots that are neither declared nor told by the files, for callers
// that can say better how to declare them.
class MissingSlots final : public ErrorCause {
 public:
  // The error; its message may be followed by what has been found in the files.
  static Error ErrorOf(const std::string& problem, const std::vector<std::string>& fields);

  std::string problem;
  // Entries such as the attribute `fields` of the format needs; none if the slots themselves are to
  // be declared.
  std::vector<std::string> fields;
};

// Merges the declared slots with those that the format knows. They must agree (-1 agrees with any
// dim, and the more precise dim is taken). Throws kInvalidArgument "slot 1: float32 [1, 784] is
// declared, but the format has uint8 [1, 784]", with `who` for "the format has". Either may be
// empty; both may not.
std::vector<SlotSpec> AgreeOnSlots(const std::vector<SlotSpec>& declared,
                                   const std::vector<SlotSpec>& known,
                                   const std::string& who = "the format has");

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_FILE_FORMAT_H_
