// SPDX-License-Identifier: Apache-2.0
// Everything that this project writes goes through here: what an output is, is decided before
// anything is written, and nothing that somebody may need is destroyed.
//
//   nothing there     a regular file appears under the name when it is complete, or not at all
//   regular file      it stays as it is until then, and is replaced only where `overwrite` says so
//   symbolic link     means what it leads to; the link stays
//   FIFO, character   refused, or where `stream` says so written to as the bytes come; so is what
//   device, /dev/fd/N the process has open, such as /dev/stdout
//   anything else     refused: directories, block devices, sockets
//
// A file that the process reads (files_in_use.h) is refused in any case.
//
// Until it is complete a file is called <name>.partial, or <name>.2.partial and so on where a file
// of that name exists, which may belong to another process and is left alone.
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

namespace millhopper {

struct OutputRules {
  bool overwrite = true;  // replace a regular file of this name
  bool stream = false;    // write to a pipe, a device or an open descriptor
  // What an error says of a file that exists if it is not to be replaced.
  const char* refusal = "the file exists and 'overwrite' is false";
  FileRole role = FileRole::kData;
};

// One thread at a time.
class OutputFile {
 public:
  // Throws kIo if the output cannot be or is not to be written, kInvalidArgument if the process
  // reads it. What is written to as a stream is opened by the first Write or by Finish.
  explicit OutputFile(std::string path, const OutputRules& rules = {});
  // Removes a file that has not got its name yet.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throws kIo; waits for a reader of a FIFO, and throws kCancelled once a stop is requested. After
  // an error every later call of Write, Finish and Publish throws it again: the file is not whole.
  void Write(const char* bytes, size_t size);
  void Write(const std::string& bytes) { Write(bytes.data(), bytes.size()); }
  // Ends the writing. When this returns, the bytes are on the disk. A second call does nothing.
  // Throws kIo.
  void Finish();
  // Finishes it and gives it its name. Throws kIo.
  void Publish();

  const std::string& path() const { return path_; }
  // Where the file itself is, behind all links.
  const std::string& place() const { return place_; }
  uint64_t bytes() const { return bytes_; }
  // Whether it is written to as a stream.
  bool is_stream() const { return is_stream_; }
  // Whether it is also what the process prints to, so that nothing else is to be printed there.
  bool is_standard_output() const { return is_standard_output_; }

 private:
  friend void PublishInOrder(const std::vector<OutputFile*>& files);

  void CreatePartial();
  // What Write and Finish do. After it has thrown, so does every later call of both.
  template <typename Step>
  void OrFailForGood(const Step& step);
  void OpenStream();
  // Throws unless the name is still one that may be given.
  void CheckName() const;
  void Rename();
  [[noreturn]] void Fail(const std::string& problem) const;
  [[noreturn]] void FailWith(const std::string& problem, int number) const;

  const std::string path_;
  const OutputRules rules_;
  std::unique_ptr<const FileReplaced> replaced_;  // null if there was no file
  bool is_stream_ = false;
  bool is_standard_output_ = false;
  int inherited_ = -1;   // the descriptor that the path means, or -1
  const pid_t owner_;    // of the partial file, which is not a forked child's
  std::string place_;    // "" for a stream
  std::string partial_;  // "" once it has its name
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
  bool finished_ = false;
  std::exception_ptr failure_;  // the first of Write and Finish
};

// Finishes all files, sees that every one of them may have its name still, and then names them one
// right behind another: what ends the process may come in between only if it is SIGKILL or a crash.
// Throws kIo; if that is because a name could not be given, the ones before it have been.
void PublishInOrder(const std::vector<OutputFile*>& files);

// Removes all files that have no name yet. From then on, threads that would create another one or
// give one its name wait for ever. Gives up after a second if another thread is giving names for so
// long. Only a thread that is about to end the process by _exit may call it.
void AbandonOutputs();

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_OUTPUT_FILE_H_
