// SPDX-License-Identifier: Apache-2.0
// All outputs of this project are written here. The constructor decides what kind of output a name
// is before anything is written, and no existing file is destroyed unasked.
//
//   nothing there     a regular file appears under the name when it is complete, or not at all
//   regular file      it stays as it is until then, and is replaced only if `overwrite` is set
//   symbolic link     stands for its target; the link stays. If the target does not exist, it is
//                     made, unless `make_target` is not set
//   FIFO, character   refused, or written to as the bytes come if `stream` is set; the same for
//   device, /dev/fd/N open descriptors of the process, such as /dev/stdout
//   anything else     refused: directories, block devices, sockets
//   scheme://...      a file of another file system (Upload), if that can be written to. It appears
//                     when it is complete, in place of an older one
//
// A file that the process reads (files_in_use.h) is refused in any case.
//
// Until it is complete, a local file is called <name>.partial. If a file of that name exists, it
// may belong to another process and is left alone; the new one is called <name>.2.partial, and so
// on.
#ifndef MILLHOPPER_FRAMEWORK_IO_OUTPUT_FILE_H_
#define MILLHOPPER_FRAMEWORK_IO_OUTPUT_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "framework/io/files_in_use.h"
#include "framework/io/upload.h"

namespace millhopper {

constexpr char kPartialSuffix[] = ".partial";

struct OutputRules {
  bool overwrite = true;  // replace a regular file of this name
  bool stream = false;    // write to a pipe, a device or an open descriptor
  // Not set for files that the user has not named, where a dangling link cannot be meant: indexes,
  // manifests, the checkpoints of a folder.
  bool make_target = true;
  // The error text for a file that exists and must not be replaced.
  const char* refusal = "the file exists and 'overwrite' is false";
  FileRole role = FileRole::kData;
  bool is_private = false;  // a local file is its user's alone (0600), from its beginning on
};

// One thread at a time.
class OutputFile {
 public:
  // Throws kIo if the output cannot or must not be written, kInvalidArgument if the process reads
  // it. A stream is opened by the first Write or by Finish.
  explicit OutputFile(std::string path, const OutputRules& rules = {});
  // Removes the file unless it has its name.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throws kIo; waits for a reader of a FIFO, and throws as CheckWait (stop.h) meanwhile. After
  // an error every later call of Write, Finish and Publish throws it again: the file is not whole.
  void Write(const char* bytes, size_t size);
  void Write(const std::string& bytes) { Write(bytes.data(), bytes.size()); }
  // Replaces the first bytes by others, as many. Throws kInvalidArgument for a stream and for a
  // file on a server, whose first bytes are gone by then. Before Finish.
  void ReplaceBeginning(const std::string& bytes);
  // Ends the writing. When this returns, the bytes are on the disk. A second call does nothing.
  // Throws kIo.
  void Finish();
  // Finishes the file and gives it its name. Throws kIo.
  void Publish();

  const std::string& path() const { return path_; }
  // The path of the file itself, after all links; with its scheme if it is not local.
  const std::string& place() const { return place_; }
  uint64_t bytes() const { return bytes_; }
  // Whether there was a file of this name when the writing began.
  bool replaces() const { return replaced_ != nullptr; }
  // Whether it is written to as a stream.
  bool is_stream() const { return is_stream_; }
  // Whether it is the standard output of the process, so that nothing else may be printed there.
  bool is_standard_output() const { return is_standard_output_; }

 private:
  friend void PublishInOrder(const std::vector<OutputFile*>& files);

  void CreateUpload();
  void CreatePartial();
  // What Write and Finish do. After it has thrown, so does every later call of both.
  template <typename Step>
  void OrFailForGood(const Step& step);
  void OpenStream();
  // Throws unless the file may still be given its name.
  void CheckName() const;
  void Rename();
  [[noreturn]] void Fail(const std::string& problem) const;
  [[noreturn]] void FailWith(const std::string& problem, int number) const;

  const std::string path_;
  const OutputRules rules_;
  std::unique_ptr<const FileReplaced> replaced_;  // null if there was no file
  bool is_stream_ = false;
  bool is_standard_output_ = false;
  std::unique_ptr<Upload> upload_;  // null for a local file
  int inherited_ = -1;              // the open descriptor that the path stands for, or -1
  const pid_t owner_;    // the process that made the partial file; forked children do not remove it
  std::string place_;    // "" for a stream
  std::string partial_;  // "" once it has its name
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
  bool finished_ = false;
  std::exception_ptr failure_;  // the first of Write and Finish
};

// Finishes all files, checks that each may still be given its name, and then names them one after
// another. Only SIGKILL, a crash, or for uploads a stop can end it in between. Throws kIo; if a
// file cannot be given its name, the files before it have theirs.
void PublishInOrder(const std::vector<OutputFile*>& files);

// Removes all files that have no name yet. From then on, threads that would create another one or
// give one its name wait for ever. Gives up after a second if another thread is giving names for so
// long. Only a thread that is about to end the process by _exit may call it.
void AbandonOutputs();

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_OUTPUT_FILE_H_
