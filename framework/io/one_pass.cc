// SPDX-License-Identifier: Apache-2.0
#include "framework/io/one_pass.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "framework/base/mutex.h"
#include "framework/io/counted_reads.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

constexpr char kCommandPrefix[] = "pipe:";

// The FIFOs and the standard input that readers of this process have.
struct Taken {
  Mutex mutex;
  std::set<FileId> ids GUARDED_BY(mutex);

  static Taken& Get() {
    static auto* taken = new Taken;  // never destroyed: readers may live as long as the process
    return *taken;
  }
};

Mutex& LookMutex() {
  static auto* const mutex = new Mutex;
  return *mutex;
}
OnePassLook* look GUARDED_BY(LookMutex()) = nullptr;

const char* KindOf(const std::string& path) {
  return IsCommand(path) ? "a pipe" : path == "-" ? "standard input" : "a FIFO";
}

}  // namespace

bool IsCommand(const std::string& path) { return path.rfind(kCommandPrefix, 0) == 0; }

bool CanBeReadOnceOnly(const std::string& path) {
  return IsCommand(path) || path == "-" ||
         (IsLocal(path) && FileSystemOf(path).Stat(path).kind == FileStatus::Kind::kOnce);
}

Error ReadOnceOnly(const std::string& path, const std::string& advice) {
  return Error(ErrorCode::kInvalidArgument,
               StrCat("can be read once only, because it is ", KindOf(path), "; ", advice))
      .InFile(path, -1);
}

// --- OnePassStream ---

OnePassStream::OnePassStream(std::string path, std::unique_ptr<OnePassInput> input)
    : path_(std::move(path)), input_(std::move(input)) {}

void OnePassStream::CheckNoError() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

size_t OnePassStream::Fill(char* out, size_t size, std::exception_ptr* stop, bool some) {
  size_t got = 0;
  std::chrono::steady_clock::time_point until;  // which some is enough
  while (got < size && !ended_) {
    size_t more = 0;
    try {
      if (some && got > 0 && !input_->IsReady(until)) return got;
      more = input_->Read(out + got, size - got);
    } catch (const Error& error) {
      if (error.interrupts()) {
        *stop = std::current_exception();
        return got;
      }
      error_ = std::make_exception_ptr(error.InFile(path_, static_cast<int64_t>(taken_)));
    }
    ended_ = more == 0;
    if (some && got == 0) until = std::chrono::steady_clock::now() + kMoment;
    CountedReads::Add(more);
    got += more;
    taken_ += more;
  }
  return got;
}

size_t OnePassStream::Has(uint64_t offset, size_t size) {
  constexpr size_t kBlock = size_t{64} << 10;  // memory is taken as the bytes come
  while (offset + size > end() && !ended_) {
    const size_t had = window_.size();
    window_.resize(had + std::min<uint64_t>(kBlock, offset + size - end()));
    std::exception_ptr stop;
    const size_t got = Fill(window_.data() + had, window_.size() - had, &stop);
    window_.resize(had + got);
    if (stop != nullptr) std::rethrow_exception(stop);
  }
  return std::min<uint64_t>(size, end() - std::min(offset, end()));
}

size_t OnePassStream::Look(uint64_t offset, char* out, size_t size) const {
  if (size > 0) std::memcpy(out, window_.data() + (offset - begin_), size);
  return size;
}

void OnePassStream::Forget(uint64_t offset) {
  if (keeps_ || offset <= begin_) return;
  window_.erase(0, offset - begin_);
  begin_ = offset;
}

size_t OnePassStream::Read(uint64_t offset, char* out, size_t size) {
  return ReadFrom(offset, out, size, false);
}

size_t OnePassStream::ReadSome(uint64_t offset, char* out, size_t size) {
  return ReadFrom(offset, out, size, true);
}

size_t OnePassStream::ReadFrom(uint64_t offset, char* out, size_t size, bool some) {
  if (offset < begin_) {
    throw Error(ErrorCode::kInternal, StrCat("byte ", offset, " is read again")).InFile(path_, -1);
  }
  if (keeps_) Has(offset, some ? 1 : size);
  size_t got = Look(offset, out, std::min<uint64_t>(size, end() - std::min(offset, end())));
  if (!keeps_ && got < (some ? 1 : size)) {  // the rest need not go through the window
    std::exception_ptr stop;
    got += Fill(out + got, size - got, &stop, some);
    if (stop != nullptr) {
      window_.assign(out, got);
      begin_ = offset;
      std::rethrow_exception(stop);
    }
  }
  if (!keeps_ && offset + got >= end()) {
    begin_ = offset + got;
    std::string().swap(window_);
  }
  if (got == 0 && size > 0) CheckNoError();
  return got;
}

// --- OnePassFiles ---

OnePassFiles::~OnePassFiles() {
  Taken& taken = Taken::Get();
  const MutexLock lock(&taken.mutex);
  for (const FileId& id : ids_) taken.ids.erase(id);
}

void OnePassFiles::Add(const std::string& path, const FileId& id) {
  if (!files_.emplace(path, OneFile()).second) {
    throw ReadOnceOnly(path, "name it once");
  }
  if (id == FileId()) return;
  Taken& taken = Taken::Get();
  const MutexLock lock(&taken.mutex);
  if (!taken.ids.insert(id).second) {
    throw ReadOnceOnly(path, "another reader of this process has it already");
  }
  ids_.push_back(id);
}

void OnePassFiles::Refuse(const std::string& advice) const {
  if (!empty()) throw ReadOnceOnly(files_.begin()->first, advice);
}

void OnePassFiles::Seal() {
  for (auto& [path, file] : files_) {
    // Other threads may read what was sealed before.
    if (file.stream == nullptr || file.sealed) continue;
    file.stream->set_keeps(false);
    file.sealed = true;
  }
}

void OnePassFiles::Close() {
  for (auto& [path, file] : files_) {
    if (file.stream == nullptr) continue;
    file.stream.reset();
    file.sealed = true;
  }
}

std::shared_ptr<OnePassStream> OnePassFiles::OpenHere(const std::string& path) {
  const auto found = files_.find(path);
  if (found != files_.end() && found->second.sealed) {
    throw ReadOnceOnly(path, "for a second pass, copy it to a file and read that");
  }
  if (found != files_.end() && found->second.stream != nullptr) return found->second.stream;
  std::shared_ptr<OnePassStream> stream = OnePassLook::Take(path);
  if (stream == nullptr) {
    std::unique_ptr<OnePassInput> input = FileSystemOf(path).OpenOnce(path);
    if (input == nullptr) return nullptr;
    if (found == files_.end() && !takes_all_) {
      throw Error(ErrorCode::kIo, "is not a regular file").InFile(path, -1);
    }
    stream = std::make_shared<OnePassStream>(path, std::move(input));
  }
  stream->set_keeps(true);
  files_[path].stream = stream;
  return stream;
}

std::shared_ptr<OnePassStream> OnePassFiles::Open(const std::string& path) {
  if (ThisLane().inputs != nullptr) return ThisLane().inputs->OpenHere(path);
  std::unique_ptr<OnePassInput> input = FileSystemOf(path).OpenOnce(path);
  if (input == nullptr) return nullptr;
  return std::make_shared<OnePassStream>(path, std::move(input));
}

// --- OnePassLook ---

OnePassLook::OnePassLook() {
  files_.takes_all_ = true;
  const MutexLock lock(&LookMutex());
  look = this;
}

OnePassLook::~OnePassLook() {
  const MutexLock lock(&LookMutex());
  look = nullptr;
}

std::shared_ptr<OnePassStream> OnePassLook::Take(const std::string& path) {
  const MutexLock lock(&LookMutex());
  if (look == nullptr) return nullptr;
  const auto found = look->files_.files_.find(path);
  if (found == look->files_.files_.end()) return nullptr;
  std::shared_ptr<OnePassStream> stream = std::move(found->second.stream);
  look->files_.files_.erase(found);
  return stream;
}

}  // namespace millhopper
