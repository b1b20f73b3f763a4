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
#include "framework/io/file_system.h"
#include "readers/plan_past.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".mhcache";
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
    lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) throw Error(ErrorCode::kIo, std::strerror(errno)).InFile(lock, -1);
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return true;
    const int reason = errno;
    Unlock();
    if (reason == EWOULDBLOCK) return false;
    throw Error(ErrorCode::kIo, StrCat("cannot be locked: ", std::strerror(reason)))
        .InFile(lock, -1);
  }
  void Unlock() {
    if (lock_ >= 0) ::close(lock_);
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
  // Removes the file, which was found to be damaged.
  void Remove() const {
    std::error_code failed;
    fs::remove(path(), failed);
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
  int lock_ = -1;
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
  if (entry_ != nullptr) entry_->Unlock();
}

bool DiskCacheReader::Find() {
  std::unique_ptr<CacheFileFormat> format = CacheFileFormat::Find(entry_->path(), entry_->key());
  if (format == nullptr) return false;
  std::vector<SlotSpec> slots = format->slots();
  try {
    stored_ = std::make_unique<FileReader>(std::move(format), FileEntry{entry_->path(), "", {}});
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return false;  // it has been removed
  }
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
    entry_->Remove();  // what has its name is damaged
    writes_ = true;
  });
}

CacheFileWriter& DiskCacheReader::Writer() {
  if (writer_ == nullptr) {
    writer_ = std::make_unique<CacheFileWriter>(
        entry_->path(), entry_->key(), GatherReader::row_slots(), [this](uint64_t bytes) {
          const uint64_t others = entry_->BytesOfOthers();
          const auto most = static_cast<uint64_t>(options_.directory_bytes);
          if (bytes <= most && others <= most - bytes) return;
          Throw(ErrorCode::kResourceLimit, "they take more than the disk_bytes of ", most,
                others == 0 ? "" : StrCat(", of which other caches in it take ", others),
                "; raise the limit, or remove files that are no longer wanted");
        });
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
    if (CurrentError().interrupts()) throw;
    stored_.reset();
    entry_->Remove();
    left_ = yielded_;
    return false;
  }
  for (size_t i = first; i < run->tickets.size(); ++i) {
    run->tickets[i].id = CacheFileFormat::IdOf(run->tickets[i]);
  }
  yielded_ += run->tickets.size() - first;
  return true;
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
