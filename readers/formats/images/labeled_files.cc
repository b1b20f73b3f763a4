// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/images/labeled_files.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/io/file_system.h"
#include "framework/io/files_in_use.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/claimed_list.h"
#include "readers/support/byte_records.h"

namespace millhopper {
namespace {

constexpr size_t kLabelBytes = sizeof(int64_t);
constexpr size_t kMostRecords =
    64;  // in a chunk, so that several threads share files of a few bytes

// Where the bytes of a file lie in its chunk, after what stands before it: aligned as they are in
// the file (Chunk::lead).
uint64_t BeginBehind(uint64_t end) {
  return (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// Whether a file of `size` bytes, and what stands before it, are not too large.
bool IsRecord(size_t before, uint64_t size) {
  return before <= kMaxRecordBytes && size <= kMaxRecordBytes - before;
}

// Claim asks for the sizes of the next files, and Fetch reads these files.
class LabeledFilesSource final : public FileSource {
 public:
  explicit LabeledFilesSource(std::shared_ptr<const LabeledFiles> files)
      : table_(std::move(files)), files_(*table_) {}

  bool Claim(Chunk* chunk) override {
    if (next_ == files_.size()) return false;
    Ref<ClaimedList<uint64_t>> claimed = ClaimedList<uint64_t>::Take();
    PooledVector<uint64_t>& sizes = claimed->values;
    uint64_t length = 0, records = 0;
    do {
      const size_t record = next_ + records++;
      for (size_t which = 0; which < files_.files_each(); ++which) {
        files_.GetPathOf(record, which, &path_);
        sizes.push_back(SizeOf(path_));
      }
      const uint64_t size = SizeOfRecord(sizes, records - 1);
      const size_t before = files_.BytesBefore(record);
      // Memory is taken only for files that will be read.
      if (IsRecord(before, size)) length = BeginBehind(length + before) + size;
    } while (next_ + records < files_.size() && records < kMostRecords && length < kReadBlockBytes);
    chunk->offset = next_;
    chunk->length = length;
    chunk->records = records;
    next_ += records;
    chunk->claimed = std::move(claimed);
    return true;
  }

  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    if (offset >= files_.size()) return false;
    next_ = offset;
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    // A thread reads one file after another, so that it needs no new memory for each.
    thread_local std::string path;
    const PooledVector<uint64_t>& sizes = ClaimedList<uint64_t>::Of(*chunk);
    chunk->bytes = BufferPool::At(Place()).Take(chunk->length);
    char* const bytes = chunk->bytes->data();
    uint64_t end = 0;
    for (uint64_t i = 0; i < *chunk->records; ++i) {
      const size_t record = chunk->offset + i;
      const size_t before = files_.BytesBefore(record);
      const uint64_t begin = BeginBehind(end + before);
      const uint64_t size = SizeOfRecord(sizes, i);
      const uint64_t* const own = sizes.data() + i * files_.files_each();
      try {
        if (!IsRecord(before, size)) ThrowTooLarge(record, own);
        char* file = bytes + begin;
        for (size_t which = 0; which < files_.files_each(); file += own[which++]) {
          files_.GetPathOf(record, which, &path);
          FileSystemOf(path).ReadWhole(path, own[which], file);
        }
      } catch (const Error& error) {
        const std::string named_by = error.interrupts() ? "" : files_.NamedBy(record);
        if (named_by.empty()) throw;
        throw error.WithContext(StrCat("named in ", named_by));
      }
      files_.WriteBefore(record, own, bytes + begin - before);
      chunk->pieces.push_back(
          {static_cast<uint32_t>(begin - before), static_cast<uint32_t>(before + size)});
      end = begin + size;
    }
  }

 private:
  // `sizes` are those of the record's files, of which the error names the largest.
  [[noreturn]] void ThrowTooLarge(size_t record, const uint64_t* sizes) const {
    const size_t files = files_.files_each();
    const size_t largest = std::max_element(sizes, sizes + files) - sizes;
    std::string path, what;
    if (files == 0 || sizes[largest] <= kMaxRecordBytes) {
      files_.GetPath(record, &path);
      what = "all that is read for this file is too large";
    } else {
      files_.GetPathOf(record, largest, &path);
      what = StrCat("the file has ", sizes[largest], " bytes");
    }
    throw Error(ErrorCode::kResourceLimit,
                StrCat(what, "; the limit of a record is ", kMaxRecordBytes))
        .InFile(path, 0);
  }

  // 0 if there is no such file: to read it will tell why.
  uint64_t SizeOf(const std::string& path) {
    const FileStatus status = FileSystemOf(path).Stat(path);
    if (status.kind != FileStatus::Kind::kFile) return 0;
    read_.Add(path, status.id);
    return status.size;
  }

  // How many bytes the files of a record of the chunk have together; where one of them is too
  // large, some number that is too large.
  uint64_t SizeOfRecord(const PooledVector<uint64_t>& sizes, uint64_t record) const {
    uint64_t size = 0;
    for (size_t which = 0; which < files_.files_each(); ++which) {
      size += std::min<uint64_t>(sizes[record * files_.files_each() + which], kMaxRecordBytes + 1);
    }
    return size;
  }

  const std::shared_ptr<const LabeledFiles> table_;
  const LabeledFiles& files_;  // in it
  size_t next_ = 0;            // to be claimed
  std::string path_;           // of the file whose size is asked for
  FilesRead read_{FileRole::kData};
};

// The label of a batch of n is [n], or [n, 1] if it is declared so, as programs of the lineage do.
std::vector<SlotSpec> SlotsFor(const std::vector<SlotSpec>& declared) {
  SlotSpec label;
  label.dtype = DataType::kInt64;
  const bool has_axis = declared.size() == 2 && declared[1].dims.size() == 2;
  label.dims = has_axis ? Dims{1, 1} : Dims{1};
  return {BytesSlot(), label};
}

}  // namespace

std::string_view NotEmpty(std::string_view file) {
  if (file.empty()) Throw(ErrorCode::kDataLoss, "the file is empty");
  return file;
}

void LabeledFiles::Add(std::string_view name, int64_t label, uint64_t line) {
  const uint64_t bytes = names_.size() + name.size() + (entries_.size() + 1) * sizeof(Entry);
  if (bytes > std::min<uint64_t>(kMaxFileTableBytes, MemoryLimit::bytes() / 2)) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("the names and labels of more than ", entries_.size(),
                       " files take too much memory (the limit is ", kMaxFileTableBytes,
                       " bytes, and half of the memory limit); divide them"))
        .InFile(source_, 0);
  }
  try {
    MakeRoom(name.size(), &names_);
    MakeRoom(1, &entries_);
  } catch (const Error& error) {
    throw error.InFile(source_, 0);
  }
  names_.insert(names_.end(), name.begin(), name.end());
  entries_.push_back({names_.size(), label, line});
}

std::string LabeledFiles::NamedBy(size_t i) const {
  return line(i) == 0 ? "" : StrCat("line ", line(i), " of ", Escaped(source_));
}

size_t LabeledFiles::BytesBefore(size_t) const { return kLabelBytes; }

void LabeledFiles::WriteBefore(size_t i, const uint64_t*, char* out) const {
  std::memcpy(out, &entries_[i].label, kLabelBytes);
}

uint64_t LabeledFiles::Fingerprint() const {
  uint64_t hash = size();
  std::string path;
  for (size_t i = 0; i < size(); ++i) {
    CheckStop();  // there may be millions
    GetPath(i, &path);
    hash = XXH3_64bits_withSeed(path.data(), path.size(), hash);
    hash = MixBits(hash ^ static_cast<uint64_t>(label(i)));
  }
  return hash;
}

void LabeledFiles::SetNeeded() {
  if (entries_.empty()) return;
  SetTableNeeded(names_.data());
  SetTableNeeded(entries_.data());
}

std::string_view LabeledFiles::name(size_t i) const {
  const uint64_t begin = i == 0 ? 0 : entries_[i - 1].name_end;
  return {names_.data() + begin, entries_[i].name_end - begin};
}

void LabeledFiles::GetPath(size_t i, std::string* path) const {
  const std::string_view name = this->name(i);
  const bool whole = name.substr(0, 1) == "/" || name.find("://") != std::string_view::npos;
  path->assign(whole ? std::string_view() : base_).append(name);
  if (!whole) path->append(query_);
}

void LabeledFiles::GetPathOf(size_t i, size_t, std::string* path) const { GetPath(i, path); }

LabeledFiles LabeledFiles::NamedIn(const std::string& list, const std::string& root) {
  const std::string& place = root.empty() ? list : root;
  const std::string_view name = WithoutQuery(place);
  return {list, StrCat(root.empty() ? FolderOf(list) : name, root.empty() ? "" : "/"),
          place.substr(name.size())};
}

LabeledFilesFormat::LabeledFilesFormat(const FormatArguments& arguments)
    : LabeledFilesFormat(arguments, SlotsFor(arguments.declared)) {}

LabeledFilesFormat::LabeledFilesFormat(const FormatArguments& arguments,
                                       const std::vector<SlotSpec>& slots)
    : FileFormat(AgreeOnSlots(arguments.declared, slots)) {
  Require(arguments.buffer_type == BufferType::kMemory,
          "buffer_type \"mmap\" is for large files; many small ones are read with \"memory\"");
}

std::unique_ptr<FileSource> LabeledFilesFormat::Open(const FileEntry& file) {
  const std::shared_ptr<LabeledFiles> files = FilesOf(file.path);
  files->SetNeeded();
  const MutexLock lock(&mutex_);
  opened_[file.path] = files;
  return std::make_unique<LabeledFilesSource>(files);
}

std::shared_ptr<const LabeledFiles> LabeledFilesFormat::OpenedFiles(const std::string& path) const {
  const MutexLock lock(&mutex_);
  std::shared_ptr<const LabeledFiles>& files = opened_[path];
  if (files == nullptr) {
    // Who asks could not begin again what it does: the list is needed now, and to its end.
    const MemoryScope needed(nullptr);
    const RunsToItsEnd to_its_end;
    files = FilesOf(path);
  }
  return files;
}

uint64_t LabeledFilesFormat::RecordKey(const FileEntry& file, uint64_t, uint64_t chunk,
                                       uint64_t number) const {
  const std::shared_ptr<const LabeledFiles> files = OpenedFiles(file.path);
  Require(chunk + number < files->size(), "there is no file ", chunk + number, " in ",
          Escaped(file.path));
  const std::string_view name = files->name(chunk + number);
  return XXH3_64bits(name.data(), name.size());
}

std::optional<uint64_t> LabeledFilesFormat::CountRecords(
    const std::vector<FileEntry>& files) const {
  uint64_t records = 0;
  for (const FileEntry& file : files) records += FilesOf(file.path)->size();
  return records;
}

std::string LabeledFilesFormat::RecordName(const FileEntry& file, uint64_t chunk,
                                           uint64_t number) const {
  try {
    const std::shared_ptr<const LabeledFiles> files = OpenedFiles(file.path);
    const size_t i = chunk + number;
    if (i >= files->size()) return "";  // the list is another one by now
    std::string path;
    files->GetPath(i, &path);
    const std::string named_by = files->NamedBy(i);
    return StrCat(Escaped(path), named_by.empty() ? "" : ", named in ", named_by);
  } catch (const Error& error) {
    if (error.interrupts() && error.out_of_memory() == nullptr) throw;
    return "";
  }
}

uint64_t LabeledFilesFormat::Fingerprint(const FileEntry& file) const {
  return FilesOf(file.path)->Fingerprint();
}

void LabeledFilesFormat::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    AppendBytes(NotEmpty({ticket.bytes + kLabelBytes, ticket.size - kLabelBytes}), 0, rows);
  }
  char* const labels = rows->Append(1, n);
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(labels + i * kLabelBytes, tickets[i].bytes, kLabelBytes);
  }
}

}  // namespace millhopper
