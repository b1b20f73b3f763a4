// SPDX-License-Identifier: Apache-2.0
// Files that can be read once only, from their beginning to their end: what a command writes
// ("pipe:..."), FIFOs, and standard input ("-").
#ifndef MILLHOPPER_FRAMEWORK_IO_ONE_PASS_H_
#define MILLHOPPER_FRAMEWORK_IO_ONE_PASS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/lane_context.h"
#include "framework/io/file.h"

namespace millhopper {

// Where the bytes come from. One thread at a time.
class OnePassInput {
 public:
  // How long a wait may last before it checks whether it is to stop.
  static constexpr int kPatienceMs = 4;

  OnePassInput() = default;
  virtual ~OnePassInput() = default;
  OnePassInput(const OnePassInput&) = delete;
  OnePassInput& operator=(const OnePassInput&) = delete;

  // Waits for bytes, and reads 1 to `size` of them; 0 at the end. Throws kIo with what is wrong,
  // but not where, and kCancelled as CheckWait (base/stop.h); after that it may
  // be called again.
  virtual size_t Read(char* out, size_t size) = 0;
  // Waits until then, at most, for bytes or the end. Returns whether Read would not have to wait.
  virtual bool IsReady(std::chrono::steady_clock::time_point until) = 0;
};

// The bytes of one input by their place. What was looked at is kept until it is read. One thread at
// a time.
class OnePassStream {
 public:
  OnePassStream(std::string path, std::unique_ptr<OnePassInput> input);

  const std::string& path() const { return path_; }
  // Reads `size` bytes from `offset` on, which must not have been forgotten. It returns fewer only
  // at the end or before an error, which the next call throws with file and byte. Throws kCancelled
  // as OnePassInput does, and has read nothing then.
  size_t Read(uint64_t offset, char* out, size_t size);
  // The same, but at least one byte is enough: of a writer that falls silent it gives what has come
  // within kMoment of the first one.
  size_t ReadSome(uint64_t offset, char* out, size_t size);
  static constexpr std::chrono::milliseconds kMoment{50};
  // Looks ahead: how many of the `size` bytes from `offset` on there are. Fewer are at the end or
  // before an error, which Read and CheckNoError throw. Throws kCancelled.
  size_t Has(uint64_t offset, size_t size);
  void CheckNoError() const;
  // Copies what Has says there is, without reading it.
  size_t Look(uint64_t offset, char* out, size_t size) const;
  // Drops the bytes before `offset`, up to which there must be bytes, unless it keeps everything.
  void Forget(uint64_t offset);
  // As long as it keeps, everything that was read can be read again. It keeps nothing unless told.
  void set_keeps(bool keeps) { keeps_ = keeps; }
  bool keeps() const { return keeps_; }

 private:
  uint64_t end() const { return begin_ + window_.size(); }
  // Reads `size` bytes of the input; fewer at its end or before its error, or before a request to
  // stop, which it puts into *stop; or what ReadSome reads.
  size_t Fill(char* out, size_t size, std::exception_ptr* stop, bool some = false);
  size_t ReadFrom(uint64_t offset, char* out, size_t size, bool some);

  const std::string path_;
  const std::unique_ptr<OnePassInput> input_;
  bool keeps_ = false;
  std::string window_;  // what was read from the input and is kept,
  uint64_t begin_ = 0;  // from this byte on
  uint64_t taken_ = 0;  // bytes of the input
  bool ended_ = false;
  std::exception_ptr error_;
};

// The inputs of one reader. Each is opened by the first Open within a scope of this object, and can
// be opened again from its first byte on, because a format may look at the beginning of a file
// before it reads it; until Seal. One thread at a time.
class OnePassFiles {
 public:
  OnePassFiles() = default;
  // Ends the commands that are still running.
  ~OnePassFiles();
  OnePassFiles(const OnePassFiles&) = delete;
  OnePassFiles& operator=(const OnePassFiles&) = delete;

  // Says that this reader will read the file, whose status gives `id`, if it is none of a command.
  // Throws kInvalidArgument if it is named twice, or if another reader of the process reads the
  // same FIFO or standard input.
  void Add(const std::string& path, const FileId& id);
  // Whether there are none.
  bool empty() const { return files_.empty(); }
  bool Has(const std::string& path) const { return files_.count(path) > 0; }
  // Throws kInvalidArgument, if there are any, that the first can be read once only, and why; and
  // `advice`, what to do.
  void Refuse(const std::string& advice) const;
  // From now on, what is open belongs to the streams that were returned, and cannot be opened
  // again.
  void Seal();
  // Closes what is open, which ends commands that are still running. What was open cannot be opened
  // again.
  void Close();

  // Opens in the innermost scope of the calling thread or, without one, for the caller alone. Null
  // if the file can be read at any place. Throws what FileSystem::OpenOnce throws, kInvalidArgument
  // if it was sealed, and kIo if it was not added, because it was a file when the reader was made.
  static std::shared_ptr<OnePassStream> Open(const std::string& path);

 private:
  friend class OnePassLook;
  struct OneFile {
    std::shared_ptr<OnePassStream> stream;  // null before it is opened and after Close
    bool sealed = false;
  };
  std::shared_ptr<OnePassStream> OpenHere(const std::string& path);

  bool takes_all_ = false;  // also files that were not added
  std::map<std::string, OneFile> files_;
  std::vector<FileId> ids_;  // that no other reader of the process may read
};

// Within its life, the calling thread opens inputs for these files. Scopes nest.
using OnePassScope = LaneScope<&LaneContext::inputs>;

// For code that looks at the beginnings of files before it makes their readers, such as a command
// that finds out which format they have. What is opened in a scope of files() is handed over, as if
// nothing had been read of it, to the reader that opens it next, as long as this object lives. Only
// one exists at a time.
class OnePassLook {
 public:
  OnePassLook();
  ~OnePassLook();
  OnePassLook(const OnePassLook&) = delete;
  OnePassLook& operator=(const OnePassLook&) = delete;

  OnePassFiles* files() { return &files_; }
  // The stream that was opened for this name; null if none was. Any thread.
  static std::shared_ptr<OnePassStream> Take(const std::string& path);

 private:
  OnePassFiles files_;
};

// What to do, where a file must be readable at any place.
inline constexpr char kCopyIt[] =
    "here any place of a file must be readable, so copy it to a file and read that";
// Says that standard input is read now. Throws kInvalidArgument if it was read before.
void UseStandardInput();
// Whether the path is a command line: "pipe:" and words (command.h). It has no extension then.
bool IsCommand(const std::string& path);
// Whether the file is one of this kind. Asks no network.
bool CanBeReadOnceOnly(const std::string& path);
// The error that the file can be read once only, because it is a pipe, a FIFO or standard input;
// and `advice`, what to do.
Error ReadOnceOnly(const std::string& path, const std::string& advice);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_ONE_PASS_H_
