// SPDX-License-Identifier: Apache-2.0
// Where files come from. A path "scheme://..." belongs to the file system that is registered for
// the scheme; "pipe:..." is a command (command.h) and "-" standard input. Every other path is a
// local one, and so is "scheme://..." if no file system is registered for the scheme. The prefix of
// a format comes first: "recordio:scheme://...".
//
// A file system is one source file with one REGISTER_FILE_SYSTEM line. How files are written is
// said in output_file.h.
#ifndef MILLHOPPER_FRAMEWORK_IO_FILE_SYSTEM_H_
#define MILLHOPPER_FRAMEWORK_IO_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/io/file.h"
#include "framework/io/upload.h"

namespace millhopper {

class OnePassInput;

// What a name stands for.
struct FileStatus {
  enum class Kind {
    kFile,       // it can be opened
    kDirectory,  // or what the file system has in place of directories
    kOnce,       // it can be read once only (one_pass.h)
    kOther,      // such as a device
    kMissing,    // nothing has this name
    kUnknown,    // the file system could not tell
  };
  Kind kind = Kind::kMissing;
  std::string problem;   // in words, if kMissing or kUnknown
  uint64_t size = 0;     // of a file
  uint64_t version = 0;  // changes when the content of the file does
  FileId id;

  bool exists() const { return kind != Kind::kMissing && kind != Kind::kUnknown; }
};

// What a folder holds.
struct FolderEntry {
  std::string name;  // in the folder
  FileStatus::Kind kind;
};

// Paths include their scheme. Any thread may call it.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Throws as File::Open, and kInvalidArgument for what can be read once only.
  virtual std::unique_ptr<const File> Open(const std::string& path) const = 0;
  // What can be read once only (one_pass.h); null if the file is none such. Throws kIo with the
  // path, and kInvalidArgument if it must not be read. Call OnePassFiles::Open instead.
  virtual std::unique_ptr<OnePassInput> OpenOnce(const std::string& path) const;
  // For BufferType::kMmap. Throws kInvalidArgument if the file system cannot map files.
  virtual std::unique_ptr<const File> OpenMapped(const std::string& path) const;
  // Reads a file that has `size` bytes. For many small files, since a file system may do it without
  // what Open takes for each. Throws as Open and File::Read, and kDataLoss for another size.
  virtual void ReadWhole(const std::string& path, uint64_t size, char* out) const;
  // Throws nothing but kCancelled.
  virtual FileStatus Stat(const std::string& path) const = 0;
  // The same of many names, in their order. Where asking takes long, several are asked for at once.
  virtual std::vector<FileStatus> StatAll(const std::vector<std::string>& paths) const;
  // Whether the name exists, even if it is a link whose target does not.
  virtual bool Exists(const std::string& path) const { return Stat(path).exists(); }
  // The names that match a pattern with * ? or [a-z], in any order. As in the shell, these match
  // neither a leading dot nor a slash. Throws kIo with the pattern if a folder cannot be listed.
  virtual std::vector<std::string> List(const std::string& pattern) const = 0;
  // All that lies in a folder, in any order, also names with a leading dot; a link is what it leads
  // to. Throws kIo with the path if the folder cannot be listed, and kInvalidArgument if the file
  // system cannot list any. Where a folder is nothing but the names of files in it, none is listed
  // of one that is not there.
  virtual std::vector<FolderEntry> ListFolder(const std::string& path) const;
  // Begins to write a file. Called by OutputFile, which all other code uses, and which writes local
  // files itself. Throws kIo with the path if it cannot be written there.
  virtual std::unique_ptr<Upload> Create(const std::string& path) const;
  // Removes a file, or does nothing if there is none. Throws kIo with the path if it cannot.
  virtual void Remove(const std::string& path) const;
};

// The file system that a path belongs to.
const FileSystem& FileSystemOf(const std::string& path);
// Whether this is the local one.
bool IsLocal(const std::string& path);
// Whether the path is that of a file on a server: neither local nor one that is read once only.
bool IsOnServer(const std::string& path);
// FileSystem::StatAll of paths that may belong to several file systems.
std::vector<FileStatus> StatAll(const std::vector<std::string>& paths);
// A hint for error texts if the path is "scheme://..." and no file system is registered for the
// scheme; "" otherwise.
std::string UnknownSchemeHint(const std::string& path);

// Registers a file system for a scheme; "" stands for paths without one, "-" for that path. Called
// before main or while a plugin is loaded. If the scheme is taken, the process ends with a message,
// or the plugin is refused.
bool RegisterFileSystem(const std::string& scheme, std::unique_ptr<const FileSystem> system);

#define REGISTER_FILE_SYSTEM(type, scheme)                  \
  [[maybe_unused]] static const bool registered_##type##_ = \
      ::millhopper::RegisterFileSystem(scheme, std::make_unique<const type>())

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FILE_SYSTEM_H_
