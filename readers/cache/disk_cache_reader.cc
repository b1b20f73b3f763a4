// SPDX-License-Identifier: Apache-2.0
#include "readers/cache/disk_cache_reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "framework/io/file_system.h"
#include "framework/memory/attempt.h"
#include "readers/decorate/plan_past.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".mhcache";
// How much a file may grow until the reader looks again at what the others take.
constexpr uint64_t kBytesBetweenListings = uint64_t{64} << 20;
constexpr char kPartial[] = ".partial";  // the end of the name of a file that is being written

// Tickets from the file have their number in the pass as an index, or this, if it is larger.
constexpr uint32_t kNoNumber = UINT32_MAX;

void SetStored(uint64_t number, Ticket* ticket) {
  ticket->id = ElementCacheFormat::IdOf(*ticket);
  ticket->index = static_cast<uint32_t>(std::min<uint64_t>(number, kNoNumber));
}

// Has an element of the reader below take the place of one that was planned again.
void TakePart(const Ref<GatheredPart>& part, size_t place, const TakeElement& take) {
  const Ref<Gathered> element = Pool<Gathered>::Take();
  element->Add(part);
  Ticket ticket;
  ticket.id = element->id();
  ticket.owner = element.get();
  take(place, ticket);
}

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
  // lock, so that no other file gets its name meanwhile.
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
  Require(IsLocal(options_.directory), "directory '", Escaped(options_.directory),
          "' is on no local disk; a cache can be written to none else");
}

DiskCacheReader::~DiskCacheReader() = default;

const std::vector<SlotSpec>& DiskCacheReader::row_slots() const {
  return stored_slots_.empty() ? GatherReader::row_slots() : stored_slots_;
}

template <typename Step>
void DiskCacheReader::Write(const Step& step) {
  const Attempt writing(step);
  if (writing.is_done()) return;
  // The caller plans ahead of need, before anything is written, and will call again.
  if (writing.outcome() != Attempt::Outcome::kRefused) StopWriting();
  writing.ThrowIfMayBeRepeated();
  const Error error = KeptError(writing.error());
  if (error.code() == ErrorCode::kCancelled) throw Error(error);
  gave_up_ = true;
  // One line, which is whole where several threads write.
  const std::string line =
      StrCat("warning: ", origin().empty() ? "a reader" : origin(), " keeps no elements in '",
             Escaped(options_.directory), "' and reads on without: ", error.message(), "\n");
  std::fputs(line.c_str(), stderr);
}

void DiskCacheReader::StopWriting() {
  writer_.reset();
  writes_ = false;
  list_from_ = 0;
  if (entry_ != nullptr) entry_->Unlock();
}

std::unique_ptr<ElementCacheFormat> DiskCacheReader::OpenFile(FileId* id) {
  std::unique_ptr<const File> file = File::Open(entry_->path());
  *id = file->id();
  std::unique_ptr<ElementCacheFormat> format =
      ElementCacheFormat::Read(std::move(file), entry_->key());
  // Only in the first pass, because later other threads may read them.
  if (first_pass_) stored_slots_ = format->slots();
  return format;
}

bool DiskCacheReader::Find(uint64_t first) {
  stored_id_ = FileId();
  try {
    std::unique_ptr<ElementCacheFormat> format = OpenFile(&stored_id_);
    left_in_file_ = first == 0 ? 0 : first - format->StartWith(first);
    stored_ = std::make_unique<FileReader>(std::move(format), FileEntry{entry_->path(), "", {}});
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    if (error.code() == ErrorCode::kDataLoss && entry_->is_locked()) entry_->Remove(stored_id_);
    return false;
  }
  stored_->set_origin(origin());
  return true;
}

void DiskCacheReader::Describe() {
  if (entry_ != nullptr || gave_up_) return;
  Write([this] {
    description_ = options_.describe();
    entry_ = std::make_unique<Entry>(options_.directory, CacheKeyOf(description_));
  });
}

void DiskCacheReader::Begin() {
  Describe();
  if (entry_ == nullptr || Find(0) || gave_up_) return;
  Write([this] {
    if (!entry_->Lock()) return;  // another reader writes it
    if (Find(0)) {                // another reader has written it
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

ElementCacheWriter& DiskCacheReader::Writer() {
  if (writer_ == nullptr) {
    writer_ = std::make_unique<ElementCacheWriter>(entry_->path(), entry_->key(),
                                                   GatherReader::row_slots(),
                                                   [this](uint64_t bytes) { CheckRoom(bytes); });
  }
  return *writer_;
}

void DiskCacheReader::PlanNext(size_t n, TicketRun* run) {
  if (!begun_) {
    Begin();
    begun_ = true;
  }
  first_pass_ = false;
  if (stored_ != nullptr && PlanStored(n, run)) return;
  below_begun_ = true;
  if (!PlanPast(&reader(), &left_)) {
    Throw(ErrorCode::kDataLoss, "the reader below yields ", yielded_ - left_,
          " elements now, and has yielded at least ", yielded_, " before");
  }
  const size_t first = run->tickets.size();
  try {
    GatherReader::PlanNext(n, run);
  } catch (...) {
    yielded_ += run->tickets.size() - first;
    throw;
  }
  yielded_ += run->tickets.size() - first;
}

bool DiskCacheReader::PlanStored(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  try {
    PlanPast(stored_.get(), &left_in_file_);
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
    SetStored(yielded_ + (i - first), &run->tickets[i]);
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
      ElementCacheFormat::LoadElement(tickets[i], rows);
    } else {
      GatherReader::LoadRows(tickets + i, 1, rows);
    }
  }
}

void DiskCacheReader::LoadGathered(const Gathered& gathered, Rows* rows) const {
  rows->Append(gathered.pieces().front().part->tensors);
}

// Of each element: its number in the pass plus one, if it came from the file; or 0, and then the
// reader below names what it is.
void DiskCacheReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->count += n;
  names->below.resize(1);
  for (size_t i = 0; i < n; ++i) {
    if (tickets[i].bytes == nullptr) {
      names->numbers.push_back(0);
      names->below[0].Append(NamesOf({tickets[i].object<Gathered>()}).below[0]);
      continue;
    }
    if (tickets[i].index == kNoNumber) {
      Throw(ErrorCode::kResourceLimit, origin(), " can name the first ", kNoNumber,
            " elements of a pass, and this is a later one");
    }
    names->numbers.push_back(uint64_t{tickets[i].index} + 1);
  }
}

void DiskCacheReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  std::vector<std::pair<uint64_t, size_t>> stored;  // the number in the pass, and the place
  std::vector<size_t> gathered;                     // the places
  for (size_t place = 0; place < names.numbers.size(); ++place) {
    if (names.numbers[place] == 0) {
      gathered.push_back(place);
    } else {
      stored.emplace_back(names.numbers[place] - 1, place);
    }
  }
  Require(names.numbers.size() == names.count && names.records.empty() && names.below.size() == 1 &&
              names.below[0].count == gathered.size(),
          "the position names elements of ", origin(), " that make no sense");
  const std::vector<Ref<GatheredPart>> parts = LoadPartsAgain(names.below[0]);
  for (size_t i = 0; i < gathered.size(); ++i) TakePart(parts[i], gathered[i], take);
  if (stored.empty()) return;
  std::sort(stored.begin(), stored.end());
  std::vector<uint64_t> numbers;
  numbers.reserve(stored.size());
  for (const auto& one : stored) numbers.push_back(one.first);
  const TakeElement take_stored = [&](size_t i, const Ticket& ticket) {
    take(stored[i].second, ticket);
  };
  std::vector<bool> taken(numbers.size());
  PlanStoredAgain(numbers, take_stored, &taken);
  PlanBelowAgain(numbers, take_stored, taken);
}

void DiskCacheReader::PlanStoredAgain(const std::vector<uint64_t>& numbers, const TakeElement& take,
                                      std::vector<bool>* taken) {
  Describe();
  if (entry_ == nullptr) return;
  std::exception_ptr refused;  // what `take` has thrown
  try {
    FileId id;
    std::unique_ptr<ElementCacheFormat> format = OpenFile(&id);
    ElementNames places;
    places.count = numbers.size();
    places.records = format->PlacesOf(numbers);
    FileReader file(std::move(format), FileEntry{entry_->path(), "", {}});
    file.PlanAgain(places, [&](size_t i, const Ticket& planned) {
      Ticket ticket = planned;
      SetStored(numbers[i], &ticket);
      (*taken)[i] = true;
      try {
        take(i, ticket);
      } catch (...) {
        refused = std::current_exception();
        throw;
      }
    });
  } catch (const Error& error) {
    if (error.interrupts() || refused != nullptr) throw;  // else the reader below has them, too
  }
}

// They are named by planning alone, and then loaded.
void DiskCacheReader::PlanBelowAgain(const std::vector<uint64_t>& numbers, const TakeElement& take,
                                     const std::vector<bool>& taken) {
  if (std::find(taken.begin(), taken.end(), false) == taken.end()) return;
  if (below_begun_) {
    GatherReader::Rewind(0);
    left_ = yielded_;
  }
  ElementNames below;
  std::vector<size_t> places;
  TicketRun run;
  uint64_t planned = 0;  // elements of the reader below; the last one is in the run
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (taken[i]) continue;
    if (planned != numbers[i] + 1) {  // else it is named twice
      size_t left = numbers[i] - planned;
      run.Clear();
      if (!PlanPast(&reader(), &left) || reader().Plan(1, &run) == 0) {
        Throw(ErrorCode::kDataLoss, "the reader below yields ", numbers[i] - left,
              " elements now, and has yielded at least ", numbers[i] + 1, " before");
      }
      planned = numbers[i] + 1;
    }
    reader().NameElements(run.tickets.data(), 1, &below);
    places.push_back(i);
  }
  run.Clear();
  reader().Restart(0);
  const std::vector<Ref<GatheredPart>> parts = LoadPartsAgain(below);
  for (size_t i = 0; i < places.size(); ++i) TakePart(parts[i], places[i], take);
}

void DiskCacheReader::SaveState(ReaderState* state) const {
  GatherReader::SaveState(state);
  state->Set("begun", begun_ ? 1 : 0);
  state->Set("from_file", stored_ != nullptr ? 1 : 0);
  state->Set("yielded", yielded_);
  state->Set("left", left_);
}

void DiskCacheReader::RestoreState(const ReaderState& state) {
  GatherReader::RestoreState(state);
  begun_ = state.Get("begun", 1) == 1;
  const bool from_file = state.Get("from_file", 1) == 1;
  below_begun_ = begun_ && !from_file;
  yielded_ = state.Get("yielded");
  left_ = state.Get("left", yielded_);
  if (!from_file || state.end()) return;
  Describe();
  if (entry_ == nullptr || !Find(yielded_)) left_ = yielded_;
}

void DiskCacheReader::Rewind(uint64_t) {
  StopWriting();
  stored_.reset();
  begun_ = below_begun_ = false;
  yielded_ = left_in_file_ = left_ = 0;
  GatherReader::Rewind(0);
}

}  // namespace millhopper
