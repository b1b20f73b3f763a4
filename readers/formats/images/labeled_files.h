// SPDX-License-Identifier: Apache-2.0
// Many small files with a label each, such as images by class. A record is a whole file and its
// label: its bytes as they are, uint8 [-1] with one level of detail, and an int64 [1], or [1, 1] if
// the program declares it so. Formats whose files have more than a label (detection) say what that
// is; a record of theirs may be several files, or none.
#ifndef MILLHOPPER_READERS_FORMATS_IMAGES_LABELED_FILES_H_
#define MILLHOPPER_READERS_FORMATS_IMAGES_LABELED_FILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/mutex.h"
#include "framework/memory/buffer.h"
#include "framework/reader/file_format.h"

namespace millhopper {

// The files in order. There may be millions, so it holds each name once and little beside it.
class LabeledFiles {
 public:
  // `source` is the list or folder that names the files, for errors; names stand after `base` and
  // before `query`, which is that of a URL or "".
  LabeledFiles(std::string source, std::string base, std::string query = "")
      : source_(std::move(source)), base_(std::move(base)), query_(std::move(query)) {}
  // For names that a list has, which lie in the folder `root`, or if it is "" beside the list.
  static LabeledFiles NamedIn(const std::string& list, const std::string& root);
  LabeledFiles(LabeledFiles&&) = default;
  virtual ~LabeledFiles() = default;

  // Adds a file that is named in this line of the list; 0 if it is in no line. Throws
  // kResourceLimit if names and labels take more memory than kMaxFileTableBytes or half of the
  // memory limit.
  void Add(std::string_view name, int64_t label, uint64_t line = 0);

  size_t size() const { return entries_.size(); }
  const std::string& source() const { return source_; }
  // Sets *path to that of a file, in the memory that it has. A name that begins with a slash or a
  // scheme is a path as it is.
  void GetPath(size_t i, std::string* path) const;
  // As it was added.
  std::string_view name(size_t i) const;
  int64_t label(size_t i) const { return entries_[i].label; }
  uint64_t line(size_t i) const { return entries_[i].line; }
  // Counts their memory as needed now, even if a thread that is ahead of need has taken it.
  virtual void SetNeeded();
  // What names a file, for errors: "line 17 of list.txt"; "" if a folder does.
  virtual std::string NamedBy(size_t i) const;
  // How many files are read for a record, whose bytes lie end to end in its ticket.
  virtual size_t files_each() const { return 1; }
  // Sets *path to that of file `which` of a record.
  virtual void GetPathOf(size_t i, size_t which, std::string* path) const;
  // What belongs to a record stands before its files in a ticket: its label. A multiple of 8 bytes.
  // sizes[k] is how many bytes file k has.
  virtual size_t BytesBefore(size_t i) const;
  virtual void WriteBefore(size_t i, const uint64_t* sizes, char* out) const;
  // A number that changes with names and labels.
  virtual uint64_t Fingerprint() const;

 protected:
  // A table that grows is in memory twice for a moment, so it does not grow to twice its size.
  template <typename T>
  static void MakeRoom(size_t more, PooledVector<T>* table) {
    const size_t needed = table->size() + more;
    if (needed <= table->capacity()) return;
    constexpr size_t kFewest = 1024;
    table->reserve(std::max({needed, table->size() + table->size() / 4, kFewest}));
  }

 private:
  struct Entry {
    uint64_t name_end;  // in names_, where it begins after the name before it
    int64_t label;
    uint64_t line;
  };

  std::string source_, base_, query_;
  PooledVector<char> names_;
  PooledVector<Entry> entries_;
};

// The bytes of a file. Throws kDataLoss if there are none. It is the record that is wrong, not what
// is read with it: so it belongs to Load.
std::string_view NotEmpty(std::string_view file);

// A format whose files name other files, which are read several at once.
class LabeledFilesFormat : public FileFormat {
 public:
  explicit LabeledFilesFormat(const FormatArguments& arguments);
  // The same with other slots, which a Load of its own fills.
  LabeledFilesFormat(const FormatArguments& arguments, const std::vector<SlotSpec>& slots);

  std::unique_ptr<FileSource> Open(const FileEntry& file) override;
  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override;
  // Of the names and labels in their order.
  uint64_t Fingerprint(const FileEntry& file) const override;
  bool chunks_tell_records() const override { return true; }
  // Of the name of the file, which stays where others are added.
  uint64_t RecordKey(const FileEntry& file, uint64_t file_key, uint64_t chunk,
                     uint64_t number) const override;
  // The path of the file, and the line that names it.
  std::string RecordName(const FileEntry& file, uint64_t chunk, uint64_t number) const override;
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;

 private:
  // What the list or folder of this path names. Any thread. Throws what Open throws.
  virtual std::shared_ptr<LabeledFiles> FilesOf(const std::string& path) const = 0;
  // The same as it was opened last.
  std::shared_ptr<const LabeledFiles> OpenedFiles(const std::string& path) const EXCLUDES(mutex_);

  mutable Mutex mutex_;
  // By the path of the list or folder.
  mutable std::map<std::string, std::shared_ptr<const LabeledFiles>> opened_ GUARDED_BY(mutex_);
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_IMAGES_LABELED_FILES_H_
