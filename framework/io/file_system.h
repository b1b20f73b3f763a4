// SPDX-License-Identifier: Apache-2.0
// Where files come from. A path "scheme://..." belongs to the file system that is registered for
// the scheme; every other path is a local one, also where it looks like that and nobody is
// registered. The prefix of a format comes before it: "recordio:scheme://...".
//
// A file system is one file with one REGISTER_FILE_SYSTEM line. What is written is always local
// (output_file.h).
#ifndef MILLHOPPER_FRAMEWORK_IO_FILE_SYSTEM_H_
#define MILLHOPPER_FRAMEWORK_IO_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/io/file.h"

namespace millhopper {

// What there is under a name.
struct FileStatus {
  enum class Kind {
    kFile,       // that can be opened
    kDirectory,  // or what comes near to it
    kOther,      // neither, such as a device
    kMissing,    // nothing has this name
    kUnknown,    // nobody can tell
  };
  Kind kind = Kind::kMissing;
  std::string problem;   // of kMissing and kUnknown, in words
  uint64_t size = 0;     // of a file
  uint64_t version = 0;  // another number if the content of the same file has changed
  FileId id;

  bool exists() const { return kind != Kind::kMissing && kind != Kind::kUnknown; }
};

// Paths are whole, with their scheme. Any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Throws as File::Open.
  virtual std::unique_ptr<const File> Open(const std::string& path) const = 0;
  // For BufferType::kMmap. Throws kInvalidArgument unless the file system can do that.
  virtual std::unique_ptr<const File> OpenMapped(const std::string& path) const;
  // Throws nothing but kCancelled.
  virtual FileStatus Stat(const std::string& path) const = 0;
  // Whether something has exactly this name, if only a link that leads nowhere.
  virtual bool Exists(const std::string& path) const { return Stat(path).exists(); }
  // The names that a pattern with * ? or [a-z] fits, in any order: as in the shell, never a leading
  // dot nor a slash. Throws kIo, naming the pattern, if it cannot look everywhere.
  virtual std::vector<std::string> List(const std::string& pattern) const = 0;
};

// The file system that a path belongs to.
const FileSystem& FileSystemOf(const std::string& path);
// "" or, for a path "scheme://..." whose scheme nobody is registered for, a hint that says so.
std::string UnknownSchemeHint(const std::string& path);

// Registers a file system for a scheme, "" for all other paths. Before main, or while a plugin is
// loaded; if the scheme is taken, the process ends with a message, or the plugin is refused.
bool RegisterFileSystem(const std::string& scheme, std::unique_ptr<const FileSystem> system);

#define REGISTER_FILE_SYSTEM(type, scheme)                  \
  [[maybe_unused]] static const bool registered_##type##_ = \
      ::millhopper::RegisterFileSystem(scheme, std::make_unique<const type>())

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FILE_SYSTEM_H_
