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

// How the bytes of a file come to whoever needs them.
enum class BufferType {
  kMemory,  // they are read into memory
  kMmap,    // large pieces are seen where the kernel keeps them, which has its risks (mapping.h)
};

// Size and identity are taken when the file is opened: what is appended later is not seen, and what
// is cut off is an error instead of an end. All bytes that are read are those of the file that was
// opened: where the name means another file by now, reading goes on in the first one or throws
// kDataLoss. Reading is safe on any thread.
class File {
 public:
  // Opens a file of whichever file system has it (file_system.h). Throws kIo with the file's name,
  // and kResourceLimit where only reading all of it tells its size and that is too much; for kMmap
  // also kInvalidArgument where its file system maps no files.
  static std::unique_ptr<const File> Open(const std::string& path,
                                          BufferType buffer_type = BufferType::kMemory);
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // As it was opened, with its scheme.
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  const FileId& id() const { return id_; }
  // The file as memory, if it was opened as kMmap; null else, and where there is nothing to map.
  const Ref<Mapping>& mapping() const { return mapping_; }
  // Reads exactly `size` bytes from `offset` on. Throws kIo if they cannot be read, kDataLoss if
  // they are gone ("file is shorter than when it was opened") or the file is another one by now;
  // all name file and byte. Throws kCancelled if a stop is requested while it waits.
  void Read(uint64_t offset, char* out, size_t size) const;
  // The same for `count` pieces of `size` bytes each, which lie one behind another in the file and
  // `stride` bytes apart in memory.
  virtual void ReadApart(uint64_t offset, char* out, size_t size, size_t stride,
                         size_t count) const;

 protected:
  // The size and the identity may be set until the file is handed out.
  explicit File(std::string path) : path_(std::move(path)) {}

  // Reads 1 to `size` bytes; 0 where the file ends, whatever its size was. Any thread, several
  // calls at once. Errors as Read says. What may succeed when it is tried again, as over a network,
  // is tried again in here; so is waiting, which looks for a request to stop (stop.h).
  virtual size_t ReadSome(uint64_t offset, char* out, size_t size) const = 0;
  [[noreturn]] void ThrowShorter(uint64_t offset) const;

  void set_size(uint64_t size) { size_ = size; }
  void set_id(const FileId& id) { id_ = id; }
  void set_mapping(Ref<Mapping> mapping) { mapping_ = std::move(mapping); }

 private:
  const std::string path_;
  uint64_t size_ = 0;
  FileId id_;
  Ref<Mapping> mapping_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FILE_H_
