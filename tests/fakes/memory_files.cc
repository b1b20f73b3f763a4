// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/memory_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

constexpr char kScheme[] = "memory";
constexpr char kBegin[] = "memory://";

}  // namespace

MemoryFiles& MemoryFiles::Get() {
  static auto* files = new MemoryFiles;
  return *files;
}

bool MemoryFiles::IsIn(const std::string& path) { return path.rfind(kBegin, 0) == 0; }

void MemoryFiles::Write(const std::string& path, std::string content) {
  const std::lock_guard<std::mutex> lock(mutex_);
  files_[path] = {std::make_shared<const std::string>(std::move(content)), next_number_++};
}

void MemoryFiles::Remove(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  files_.erase(path);
}

void MemoryFiles::Break(FileTrouble trouble, int64_t call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  trouble_ = trouble;
  first_ = call;
  calls_ = 0;
  ++troubles_;
  hit_ = stalls_ = released_ = false;
}

void MemoryFiles::Mend() {
  const std::lock_guard<std::mutex> lock(mutex_);
  trouble_ = FileTrouble::kNone;
  released_ = true;
}

bool MemoryFiles::hit() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hit_;
}

bool MemoryFiles::stalls() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stalls_;
}

void MemoryFiles::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  released_ = true;
}

std::vector<std::string> MemoryFiles::TakeOpened() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(opened_, {});
}

size_t MemoryFiles::open_files() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return open_files_;
}

uint64_t MemoryFiles::bytes_read() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_read_;
}

FileTrouble MemoryFiles::Call(const std::string& path, int64_t offset) {
  bool first = false;
  return Call(path, offset, &first);
}

FileTrouble MemoryFiles::Call(const std::string& path, int64_t offset, bool* first) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int64_t call = calls_++;
  if (trouble_ == FileTrouble::kNone || call < first_) return FileTrouble::kNone;
  *first = call == first_;
  hit_ = true;
  if (trouble_ == FileTrouble::kFail) {
    throw Error(ErrorCode::kIo,
                offset < 0 ? "cannot reach it" : StrCat("cannot read at byte ", offset))
        .InFile(path, offset);
  }
  if (trouble_ != FileTrouble::kStall) return trouble_;
  if (!*first) return FileTrouble::kNone;
  stalls_ = true;
  for (Backoff backoff; !released_;) {
    lock.unlock();
    backoff.Pause();
    try {
      CheckWait();
    } catch (const Error&) {
      lock.lock();
      stalls_ = false;
      throw;
    }
    lock.lock();
  }
  stalls_ = false;
  return FileTrouble::kNone;
}

class MemoryFile final : public File {
 public:
  MemoryFile(const std::string& path, std::shared_ptr<const std::string> bytes, const FileId& id,
             bool longer)
      : File(path), bytes_(std::move(bytes)) {
    set_size(bytes_->size() + (longer ? 1 : 0));
    set_id(id);
    MemoryFiles& files = MemoryFiles::Get();
    const std::lock_guard<std::mutex> lock(files.mutex_);
    ++files.open_files_;
    files.opened_.push_back(path);
    // This file is opened after the trouble began, so the trouble spares it.
    spared_ = files.hit_ ? files.troubles_ : 0;
  }
  ~MemoryFile() override {
    MemoryFiles& files = MemoryFiles::Get();
    const std::lock_guard<std::mutex> lock(files.mutex_);
    --files.open_files_;
  }

 private:
  size_t ReadSome(uint64_t offset, char* out, size_t size) const override {
    MemoryFiles& files = MemoryFiles::Get();
    const FileTrouble trouble = files.Call(path(), static_cast<int64_t>(offset));
    const bool spared = [&] {
      const std::lock_guard<std::mutex> lock(files.mutex_);
      return spared_ == files.troubles_;
    }();
    uint64_t end = bytes_->size();
    if (trouble == FileTrouble::kShrink && !spared) end /= 2;
    if (trouble == FileTrouble::kReplace && !spared) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("is another file than the one that was opened (at byte ", offset, ")"))
          .InFile(path(), static_cast<int64_t>(offset));
    }
    if (offset >= end) return 0;
    const size_t most = trouble == FileTrouble::kShort ? 1 : size;
    const size_t got = std::min<uint64_t>(most, end - offset);
    std::memcpy(out, bytes_->data() + offset, got);
    if (trouble == FileTrouble::kFlip) out[got - 1] = static_cast<char>(out[got - 1] ^ 1);
    const std::lock_guard<std::mutex> lock(files.mutex_);
    files.bytes_read_ += got;
    return got;
  }

  const std::shared_ptr<const std::string> bytes_;
  uint64_t spared_ = 0;  // the number of the trouble that spares this file, or 0
};

class MemoryUpload final : public WholeUpload {
 public:
  explicit MemoryUpload(std::string path) : path_(std::move(path)) {}

 private:
  void Send(std::shared_ptr<const std::string> bytes) override {
    MemoryFiles::Get().Call(path_, -1);
    MemoryFiles::Get().Write(path_, *bytes);
  }

  const std::string path_;
};

class MemoryFileSystem final : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string& path) const override {
    MemoryFiles& files = MemoryFiles::Get();
    bool first = false;
    const FileTrouble trouble = files.Call(path, -1, &first);
    MemoryFiles::Content content;
    {
      const std::lock_guard<std::mutex> lock(files.mutex_);
      const auto found = files.files_.find(path);
      if (found == files.files_.end()) {
        throw Error(ErrorCode::kIo, "cannot open: nothing has this name").InFile(path, -1);
      }
      content = found->second;
    }
    return std::make_unique<MemoryFile>(path, content.bytes, IdOf(content, trouble),
                                        first && trouble == FileTrouble::kLonger);
  }

  FileStatus Stat(const std::string& path) const override {
    MemoryFiles& files = MemoryFiles::Get();
    FileStatus status;
    FileTrouble trouble = FileTrouble::kNone;
    try {
      trouble = files.Call(path, -1);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      status.kind = FileStatus::Kind::kUnknown;
      status.problem = error.message();
      return status;
    }
    const std::lock_guard<std::mutex> lock(files.mutex_);
    const auto found = files.files_.find(path);
    if (found == files.files_.end()) {
      const std::string folder = InFolder(path);
      const auto inside = files.files_.lower_bound(folder);
      const bool is_folder = inside != files.files_.end() && inside->first.rfind(folder, 0) == 0;
      if (is_folder) status.kind = FileStatus::Kind::kDirectory;
      if (!is_folder) status.problem = "nothing has this name";
      return status;
    }
    status.kind = FileStatus::Kind::kFile;
    status.size = found->second.bytes->size();
    status.version = found->second.number;
    status.id = IdOf(found->second, trouble);
    return status;
  }

  std::vector<std::string> List(const std::string& pattern) const override {
    MemoryFiles& files = MemoryFiles::Get();
    files.Call(pattern, -1);
    const std::lock_guard<std::mutex> lock(files.mutex_);
    std::vector<std::string> names;
    for (const auto& [path, content] : files.files_) {
      if (::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) {
        names.push_back(path);
      }
    }
    return names;
  }

  // A folder is there as long as a file lies in it.
  std::vector<FolderEntry> ListFolder(const std::string& path) const override {
    MemoryFiles& files = MemoryFiles::Get();
    files.Call(path, -1);
    const std::string folder = InFolder(path);
    const std::lock_guard<std::mutex> lock(files.mutex_);
    std::map<std::string, FileStatus::Kind> found;
    for (const auto& [file, content] : files.files_) {
      if (file.rfind(folder, 0) != 0) continue;
      const std::string rest = file.substr(folder.size());
      const size_t slash = rest.find('/');
      found[rest.substr(0, slash)] =
          slash == std::string::npos ? FileStatus::Kind::kFile : FileStatus::Kind::kDirectory;
    }
    std::vector<FolderEntry> entries;
    entries.reserve(found.size());
    for (const auto& [name, kind] : found) entries.push_back({name, kind});
    return entries;
  }

  std::unique_ptr<Upload> Create(const std::string& path) const override {
    return std::make_unique<MemoryUpload>(path);
  }

  void Remove(const std::string& path) const override {
    MemoryFiles::Get().Call(path, -1);
    MemoryFiles::Get().Remove(path);
  }

 private:
  // How the paths of the files in a folder begin.
  static std::string InFolder(const std::string& path) {
    return path.back() == '/' ? path : path + "/";
  }

  static FileId IdOf(const MemoryFiles::Content& content, FileTrouble trouble) {
    constexpr uint64_t kOther = uint64_t{1} << 32;
    return {FileId::kFirstOtherVolume,
            content.number + (trouble == FileTrouble::kReplace ? kOther : 0)};
  }
};

namespace {

REGISTER_FILE_SYSTEM(MemoryFileSystem, kScheme);

}  // namespace
}  // namespace millhopper
