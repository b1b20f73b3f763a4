// SPDX-License-Identifier: Apache-2.0
// A file that is open for reading, wherever it lies.
#ifndef MILLHOPPER_FRAMEWORK_IO_FILE_H_
#define MILLHOPPER_FRAMEWORK_IO_FILE_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "framework/io/mapping.h"

namespace millhopper {

// Which file it is, whatever it is called. Local files have the numbers of the operating system;
// another file system numbers its files as it likes, in volumes from kFirstOtherVolume on.
struct FileId {
  static constexpr uint64_t kFirstOtherVolume = uint64_t{1} << 63;

  FileId() = default;
  FileId(uint64_t the_volume, uint64_t the_number) : volume(the_volume), number(the_number) {}
  explicit FileId(const struct stat& status) : volume(status.st_dev), number(status.st_ino) {}
  bool operator==(const FileId& other) const {
    return volume == other.volume && number == other.number;
  }
  bool operator!=(const FileId& other) const { return !(*this == other); }
  bool operator<(const FileId& other) const {
    return volume != other.volume ? volume < other.volume : number < other.number;
  }

  uint64_t volume = 0, number = 0;
};

// How a reader gets at the bytes of a file.
enum class BufferType {
  kMemory,  // they are read into memory
  kMmap,    // large pieces are used in the kernel's pages, which has risks (mapping.h)
};

// Size and identity are those at the time of opening: bytes that are appended later are not read,
// and a file that becomes shorter is an error instead of an early end. All bytes come from the file
// that was opened: if the name has come to mean another file, reading continues in the opened one
// or throws kDataLoss. Any thread may read.
class File {
 public:
  // Opens a file of the file system that the path belongs to (file_system.h). Throws kIo with the
  // file's name, kResourceLimit if the file does not report its size and is too large to be read as
  // a whole, and for kMmap also kInvalidArgument if its file system cannot map files.
  static std::unique_ptr<const File> Open(const std::string& path,
                                          BufferType buffer_type = BufferType::kMemory);
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // The path that was opened, with its scheme.
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  const FileId& id() const { return id_; }
  // What tells the content that was opened from any other that the path had or will have, for what
  // is kept elsewhere of it; "" if nothing does. Any thread.
  virtual std::string version() const { return ""; }
  // The file as memory if it was opened as kMmap and is not empty; null otherwise.
  const Ref<Mapping>& mapping() const { return mapping_; }
  // Reads exactly `size` bytes from `offset` on. Throws kIo if they cannot be read, kDataLoss if
  // they are gone ("file is shorter than when it was opened") or the name means another file now.
  // The errors have file and byte. Throws as CheckWait (stop.h) while it waits.
  void Read(uint64_t offset, char* out, size_t size) const;
  // The same for `count` consecutive pieces of `size` bytes each, which go to memory `stride` bytes
  // apart.
  virtual void ReadApart(uint64_t offset, char* out, size_t size, size_t stride,
                         size_t count) const;

 protected:
  // A file system sets size and identity before it returns the file.
  explicit File(std::string path) : path_(std::move(path)) {}

  // Reads 1 to `size` bytes, or returns 0 if the file now ends at `offset`. Any thread, several
  // calls at once. Throws what Read throws. A file system that may fail for a moment, such as a
  // network, tries again in here, and asks CheckWait (stop.h) while it waits.
  virtual size_t ReadSome(uint64_t offset, char* out, size_t size) const = 0;
  [[noreturn]] void ThrowShorter(uint64_t offset) const;

  void set_size(uint64_t size) { size_ = size; }
  void set_id(const FileId& id) { id_ = id; }
  void set_mapping(Ref<Mapping> mapping) { mapping_ = std::move(mapping); }
  // Its bytes come from another File, which counts them (CountedReads).
  void set_is_view() { is_view_ = true; }

 private:
  const std::string path_;
  uint64_t size_ = 0;
  FileId id_;
  Ref<Mapping> mapping_;
  bool is_view_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FILE_H_
