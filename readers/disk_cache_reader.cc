// SPDX-License-Identifier: Apache-2.0
#include "readers/disk_cache_reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "framework/io/file_system.h"
#include "readers/plan_past.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".mhcache";
// How much a file may grow until the reader looks again at what the others take.
constexpr uint64_t kBytesBetweenListings = uint64_t{64} << 20;
constexpr char kPartial[] = ".partial";  // the end of the name of a file that is being written

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

// A cache file by its name, whether it is there or not.
class DiskCacheReader::Entry {
 public:
  Entry(fs::path directory, const CacheKey& key)
      : directory_(std::move(directory)), name_(ToString(key) + kExtension), key_(key) {}
  ~Entry() { Unlock(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  std::string path() const { return (directory_ / name_).string(); }
  const CacheKey& key() const { return key_; }

  // Whether this reader alone may write the file from now on. Throws kIo.
  bool Lock() {
    std::error_code failed;
    fs::create_directories(directory_, failed);
    const std::string lock = path() + ".lock";
    const int descriptor = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) throw Error(ErrorCode::kIo, std::strerror(errno)).InFile(lock, -1);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      lock_ = descriptor;
      return true;
    }
    const int reason = errno;
    ::close(descriptor);
    if (reason == EWOULDBLOCK) return false;
    throw Error(ErrorCode::kIo, StrCat("cannot be locked: ", std::strerror(reason)))
        .InFile(lock, -1);
  }
  // Whether the lock is held.
  bool is_locked() const { return lock_ >= 0; }
  // A process that was forked has the lock, too, and closing the file frees it when all have closed
  // theirs: so the process that took it frees it, and no other one.
  void Unlock() {
    if (!is_locked()) return;
    if (process_.IsThis()) ::flock(lock_, LOCK_UN);
    ::close(lock_);
    lock_ = -1;
  }
  // Removes what killed processes have left of this file. The caller holds the lock.
  void RemoveRemains() const {
    ForEachFile([this](const fs::path& file) {
      const std::string name = file.filename().string();
      std::error_code failed;
      if (name.rfind(name_ + ".", 0) == 0 && EndsWith(name, kPartial)) fs::remove(file, failed);
    });
  }
  // Removes the file if it is this one still, which was found to be damaged. The caller holds the
  // lock, so that nobody gives another one its name meanwhile.
  void Remove(const FileId& damaged) const {
    std::error_code failed;
    if (FileSystemOf(path()).Stat(path()).id == damaged) fs::remove(path(), failed);
  }
  // How many bytes the files of other descriptions take, whole or not.
  uint64_t BytesOfOthers() const {
    uint64_t bytes = 0;
    ForEachFile([&](const fs::path& file) {
      const std::string name = file.filename().string();
      const bool counts = name.find(kExtension) != std::string::npos && name.rfind(name_, 0) != 0;
      std::error_code failed;
      const uint64_t size = counts ? fs::file_size(file, failed) : 0;
      if (!failed) bytes += size;
    });
    return bytes;
  }

 private:
  // Others may add and remove files meanwhile.
  template <typename F>
  void ForEachFile(const F& f) const {
    std::error_code failed;
    for (fs::directory_iterator file(directory_, failed), end; !failed && file != end;
         file.increment(failed)) {
      f(file->path());
    }
  }

  const fs::path directory_;
  const std::string name_;
  const CacheKey key_;
  const OwnProcess process_;
  int lock_ = -1;  // the descriptor of the file that is locked, or -1
};

DiskCacheReader::DiskCacheReader(std::unique_ptr<ReaderBase> reader, DiskCacheOptions options)
    : GatherReader(std::move(reader), reader->slots(), true), options_(std::move(options)) {
  Require(!options_.directory.empty(), "directory is empty; it must name a folder");
  Require(options_.directory_bytes >= 0, "disk_bytes is ", options_.directory_bytes,
          "; it must be at least 0");
  Require(&FileSystemOf(options_.directory) == &FileSystemOf(""), "directory '",
          Escaped(options_.directory),
          "' is on no local disk; a cache can be written to none else");
}

DiskCacheReader::~DiskCacheReader() = default;

const std::vector<SlotSpec>& DiskCacheReader::row_slots() const {
  return stored_slots_.empty() ? GatherReader::row_slots() : stored_slots_;
}

template <typename Step>
void DiskCacheReader::Write(const Step& step) {
  try {
    step();
  } catch (...) {
    // The caller plans ahead of need, before anything is written, and will call again.
    if (MemoryScope::IsAhead() && MemoryScope::WasRefused()) throw;
    const Error error = CurrentError();
    StopWriting();
    if (error.code() == ErrorCode::kCancelled) throw Error(error);
    gave_up_ = true;
    // One line, which is whole where several threads write.
    const std::string line =
        StrCat("warning: ", origin().empty() ? "a reader" : origin(), " keeps no elements in '",
               Escaped(options_.directory), "' and reads on without: ", error.message(), "\n");
    std::fputs(line.c_str(), stderr);
  }
}

void DiskCacheReader::StopWriting() {
  writer_.reset();
  writes_ = false;
  list_from_ = 0;
  if (entry_ != nullptr) entry_->Unlock();
}

bool DiskCacheReader::Find() {
  std::optional<FileId> id;
  std::vector<SlotSpec> slots;
  try {
    std::unique_ptr<const File> file = File::Open(entry_->path());
    id = file->id();
    std::unique_ptr<CacheFileFormat> format = CacheFileFormat::Read(std::move(file), entry_->key());
    slots = format->slots();
    stored_ = std::make_unique<FileReader>(std::move(format), FileEntry{entry_->path(), "", {}});
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    if (error.code() == ErrorCode::kDataLoss && entry_->is_locked()) entry_->Remove(*id);
    return false;
  }
  stored_id_ = *id;
  stored_->set_origin(origin());
  // Later, threads may be asking for what is known by then.
  if (first_pass_) stored_slots_ = std::move(slots);
  return true;
}

void DiskCacheReader::Begin() {
  if (entry_ == nullptr && !gave_up_) {
    Write([this] {
      description_ = options_.describe();
      entry_ = std::make_unique<Entry>(options_.directory, CacheKeyOf(description_));
    });
  }
  if (entry_ == nullptr || Find() || gave_up_) return;
  Write([this] {
    if (!entry_->Lock()) return;  // another reader writes it
    if (Find()) {                 // another reader has written it
      entry_->Unlock();
      return;
    }
    entry_->RemoveRemains();
    writes_ = true;
  });
}

void DiskCacheReader::CheckRoom(uint64_t bytes) {
  if (bytes >= list_from_) {
    others_ = entry_->BytesOfOthers();
    list_from_ = bytes + kBytesBetweenListings;
  }
  const auto most = static_cast<uint64_t>(options_.directory_bytes);
  if (bytes <= most && others_ <= most - bytes) return;
  Throw(ErrorCode::kResourceLimit, "they take more than the disk_bytes of ", most,
        others_ == 0 ? "" : StrCat(", of which other caches in it take ", others_),
        "; raise the limit, or remove files that are no longer wanted");
}

CacheFileWriter& DiskCacheReader::Writer() {
  if (writer_ == nullptr) {
    writer_ =
        std::make_unique<CacheFileWriter>(entry_->path(), entry_->key(), GatherReader::row_slots(),
                                          [this](uint64_t bytes) { CheckRoom(bytes); });
  }
  return *writer_;
}

void DiskCacheReader::PlanNext(size_t n, TicketRun* run) {
  if (!begun_) {
    Begin();
    begun_ = true;
    first_pass_ = false;
  }
  if (stored_ != nullptr && PlanStored(n, run)) return;
  if (!PlanPast(&reader(), &left_)) {
    Throw(ErrorCode::kDataLoss, "the reader below yields ", yielded_ - left_,
          " elements now, and has yielded at least ", yielded_, " before");
  }
  GatherReader::PlanNext(n, run);
}

bool DiskCacheReader::PlanStored(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  try {
    stored_->Plan(n, run);
  } catch (...) {
    const Error error = CurrentError();
    if (error.interrupts()) throw;
    // While the file is open, no other one can have its id.
    if (error.code() == ErrorCode::kDataLoss) RemoveDamaged();
    stored_.reset();
    left_ = yielded_;
    return false;
  }
  for (size_t i = first; i < run->tickets.size(); ++i) {
    run->tickets[i].id = CacheFileFormat::IdOf(run->tickets[i]);
  }
  yielded_ += run->tickets.size() - first;
  return true;
}

void DiskCacheReader::RemoveDamaged() {
  try {
    if (!entry_->Lock()) return;  // a reader that writes a new one will replace it
    entry_->Remove(stored_id_);
  } catch (const Error& error) {
    if (error.interrupts()) throw;  // else it stays, and is found to be damaged again
  }
  entry_->Unlock();
}

void DiskCacheReader::Gather(const Ref<GatheredPart>& part) {
  if (writes_) Write([&] { Writer().Add(part->id, part->tensors); });
  Ref<Gathered> element = Pool<Gathered>::Take();
  element->Add(part);
  Yield(std::move(element));
}

void DiskCacheReader::GatherRest() {
  if (!writes_) return;
  Write([this] {
    if (options_.describe() != description_) {
      Throw(ErrorCode::kDataLoss, "the files that they come from have changed meanwhile");
    }
    list_from_ = 0;  // others may have written meanwhile
    Writer().Publish();
    StopWriting();
  });
}

void DiskCacheReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  for (size_t i = 0; i < n; ++i) {
    if (tickets[i].bytes != nullptr) {
      CacheFileFormat::LoadElement(tickets[i], rows);
    } else {
      GatherReader::LoadRows(tickets + i, 1, rows);
    }
  }
}

void DiskCacheReader::LoadGathered(const Gathered& gathered, Rows* rows) const {
  rows->Append(gathered.pieces().front().part->tensors);
}

void DiskCacheReader::SaveState(ReaderState*) const {
  Throw(ErrorCode::kInvalidArgument, origin().empty() ? "a reader" : origin(),
        " keeps elements on a disk and cannot say where it stands, so that its chain cannot be "
        "saved; without `directory` it can");
}

void DiskCacheReader::Rewind(uint64_t) {
  StopWriting();
  stored_.reset();
  begun_ = false;
  yielded_ = left_ = 0;
  GatherReader::Rewind(0);
}

}  // namespace millhopper
