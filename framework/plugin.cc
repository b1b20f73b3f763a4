// SPDX-License-Identifier: Apache-2.0
// Checks the file of a plugin, loads it, and keeps or takes back what it registers.
#include "framework/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/registration.h"
#include "framework/io/files_in_use.h"
#include "framework/reader/parser_plugins.h"

namespace millhopper {
namespace {

constexpr PluginStamp kStamp = CurrentPluginStamp();
constexpr char kParserName[] = "millhopper_parser";  // the function of millhopper_parser.h

// An open file that is mapped for reading.
class MappedFile {
 public:
  // With O_NONBLOCK, opening a pipe does not wait for a writer.
  explicit MappedFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    struct stat status;
    if (fd_ < 0 || fstat(fd_, &status) != 0) Fail(path, StrCat("cannot open: ", Reason()));
    if (!S_ISREG(status.st_mode)) Fail(path, "no regular file");
    if ((status.st_mode & S_IWOTH) != 0) Fail(path, "everybody may write this file");
    size_ = static_cast<size_t>(status.st_size);
    if (size_ == 0) Fail(path, "an empty file");
    if (size_ > kMaxPluginBytes) {
      Fail(path, StrCat("a file of ", size_, " bytes; the limit is ", kMaxPluginBytes));
    }
    void* const bytes = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_, 0);
    if (bytes == MAP_FAILED) Fail(path, StrCat("cannot read: ", Reason()));
    bytes_ = bytes;
  }
  ~MappedFile() {
    munmap(bytes_, size_);
    close(fd_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const void* Find(const void* what, size_t size) const {
    return memmem(bytes_, size_, what, size);
  }
  const char* end() const { return static_cast<const char*>(bytes_) + size_; }

 private:
  static const char* Reason() { return std::strerror(errno); }
  [[noreturn]] void Fail(const std::string& path, const std::string& reason) const {
    if (fd_ >= 0) close(fd_);
    throw Error(ErrorCode::kPlugin, reason).InFile(path, -1);
  }

  const int fd_;
  size_t size_ = 0;
  void* bytes_ = nullptr;
};

std::string Describe(const PluginStamp& stamp) {
  const auto text = [](const char* bytes, size_t size) {
    return Escaped(std::string(bytes, strnlen(bytes, size)));
  };
  return StrCat("Millhopper ", text(stamp.version, sizeof(stamp.version)), " (compiler ",
                text(stamp.compiler, sizeof(stamp.compiler)), ", layout ", std::hex, stamp.layout,
                ")");
}

// Returns whether the file has a stamp. Throws unless it is that of this Millhopper, or the file
// has none but may be a parser, which needs none: it has the name of the function that it exports.
bool HasStamp(const std::string& path) {
  const MappedFile file(path);
  const auto* found = static_cast<const char*>(file.Find(kStamp.mark, sizeof(kStamp.mark)));
  if (found == nullptr && file.Find(kParserName, sizeof(kParserName)) != nullptr) {
    return false;
  }
  PluginStamp stamp;
  if (found == nullptr || static_cast<size_t>(file.end() - found) < sizeof(stamp)) {
    throw Error(ErrorCode::kPlugin, "no plugin of Millhopper: it has no line MILLHOPPER_PLUGIN")
        .InFile(path, -1);
  }
  std::memcpy(&stamp, found, sizeof(stamp));
  if (std::memcmp(&stamp, &kStamp, sizeof(stamp)) != 0) {
    throw Error(ErrorCode::kPlugin,
                StrCat("built for ", Describe(stamp), ", but this is ", Describe(kStamp)))
        .InFile(path, -1);
  }
  return true;
}

std::string FirstOf(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += StrCat(" and ", names.size() - kMost, " more");
  return text;
}

// Makes Millhopper's symbols visible to plugins. Where Millhopper is a shared library of another
// program (Python), they are not, because the program has loaded it with RTLD_LOCAL. In
// Millhopper's own programs they are visible anyway.
void OfferOwnSymbols() {
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&LoadPlugin), &own) != 0 && own.dli_fname != nullptr) {
    dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  }
}

}  // namespace

void LoadPlugin(const std::string& path) {
  if (path.empty() || path[0] != '/') {
    throw Error(ErrorCode::kPlugin, "a plugin must be named by its absolute path").InFile(path, -1);
  }
  // The plugin's initialisers run inside dlopen. If they crash, the crash lines name the plugin.
  AtWork at_work;
  at_work->library = path.c_str();
  at_work->step = "while loading it";
  const bool has_stamp = HasStamp(path);
  static auto* loaded = new FilesRead(FileRole::kPlugin);  // until the process ends
  loaded->AddLocal(path);
  OfferOwnSymbols();
  RegistrationWatch watch;
  // Without RTLD_DEEPBIND, with which the variables of inline code, such as lane_context, would be
  // others in the plugin than here.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorCode::kPlugin, StrCat("cannot load: ", Escaped(dlerror()))).InFile(path, -1);
  }
  // A refused library is still in memory, so its initialisers do not run again and `watch` sees
  // nothing the next time. `refused` remembers its names, so that it is refused again.
  static auto* refused = new std::map<void*, std::vector<std::string>>;
  if (!watch.refused().empty()) (*refused)[library] = watch.refused();
  const auto found = refused->find(library);
  if (found != refused->end()) {
    throw Error(ErrorCode::kPlugin,
                "registers what is registered already: " + FirstOf(found->second))
        .InFile(path, -1);
  }
  using ParserFunction = const MillhopperParser* (*)(uint32_t);
  if (void* const parser = dlsym(library, kParserName)) {
    AddParserPlugin(path, reinterpret_cast<ParserFunction>(parser));
  } else if (!has_stamp) {
    throw Error(ErrorCode::kPlugin, "no plugin of Millhopper: it exports no millhopper_parser")
        .InFile(path, -1);
  }
  if (has_stamp) watch.Keep();
}

}  // namespace millhopper
