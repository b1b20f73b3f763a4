// SPDX-License-Identifier: Apache-2.0
// The one exception family of Millhopper: what went wrong, where in which file, and while doing
// what.
#ifndef MILLHOPPER_FRAMEWORK_BASE_ERROR_H_
#define MILLHOPPER_FRAMEWORK_BASE_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millhopper {

// What kind of thing went wrong. The numbers are the exit codes of the commands.
enum class ErrorCode {
  kInvalidArgument = 2,  // a program, an attribute or a flag
  kDataLoss = 3,         // the content of a file
  kIo = 4,               // the operating system: a missing file, a failed read
  kResourceLimit = 5,    // a limit on memory, sizes, steps or time
  kPlugin = 6,           // a plugin that is not allowed, not loadable or of another version
  kInternal = 70,        // a bug of Millhopper
  kCancelled = 130,      // stopped by a request
};

// "invalid argument", "data loss" ...
const char* ToString(ErrorCode code);

template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);  // where there is no memory no text is cut off in silence
  (out << ... << parts);
  return out.str();
}

// `text` with control characters and bytes that are not printable ASCII or UTF-8 escaped, so that
// a hostile file name cannot forge a line of a log, and without secrets (secrets.h): if it begins
// with a URL, all of it is taken for one.
std::string Escaped(const std::string& text);

// The exception of another language that became an Error, so that code of that language can throw
// it again unchanged. The subclass knows how to hold and to drop it. Any thread.
class ErrorCause {
 public:
  ErrorCause() = default;
  ErrorCause(const ErrorCause&) = delete;
  ErrorCause& operator=(const ErrorCause&) = delete;
  virtual ~ErrorCause() = default;
};

// The cause of an error of memory: the limit (memory_limit.h) or the system has not given it.
class OutOfMemory final : public ErrorCause {
 public:
  // True if work ahead of need was refused memory. The work is done again when it is needed.
  bool refused = false;
  // The memory that is needed at once, as far as is known; 0 if it is not.
  size_t needed = 0;
  // The memory of one element of the reader that was refused; 0 if it is not known.
  size_t element = 0;
  // The text of the error without its advice.
  std::string problem;
};

// An error and the steps that led to it. No text of it holds a secret (secrets.h): names are to be
// put into messages and steps by Escaped, and what is left there is taken out. what() is the
// message and one indented line a step, innermost first:
//
//   train-00002.recordio: chunk at byte 18350080: payload checksum 1f0a33c2, header says 77e1904b
//     while reading record 17201 of reader 'files' (open_files, startup.pbtxt:12)
//     while running operator 'read' (main.pbtxt:30, block 1)
//
// Values of this class never change: a stored error is rethrown many times, so a step is added to a
// copy. Plain copies share their text and take no memory, because there may be none.
class Error : public std::exception {
 public:
  Error(ErrorCode code, const std::string& message);
  Error(const Error&) noexcept = default;  // nothing is moved out of an error
  Error& operator=(const Error&) noexcept = default;

  ErrorCode code() const { return content_->code; }
  const std::string& message() const { return content_->message; }
  const std::vector<std::string>& context() const { return content_->context; }
  // The data file that the error is about, without the secrets of a URL, or "".
  const std::string& file() const { return content_->file; }
  // Byte in file(), or -1.
  int64_t offset() const { return content_->offset; }
  // The exception that it was made from, or null.
  const std::shared_ptr<const ErrorCause>& cause() const { return content_->cause; }
  // Its cause if it is an error of memory, else null.
  const OutOfMemory* out_of_memory() const;
  // True for a request to stop and for a lack of memory. Such an error is about this moment and not
  // about the data, so it does not wait for the place of an element but is thrown at once.
  bool interrupts() const;
  const char* what() const noexcept override { return content_->text.c_str(); }

  // A copy with one more outer step, e.g. "while running operator 'read' (main.pbtxt:30, block 1)".
  Error WithContext(const std::string& step) const;
  // A copy that names the data file and byte; the message is prefixed with the file's name.
  Error InFile(const std::string& file, int64_t offset) const;
  // A copy with another message; all else is the same.
  Error WithMessage(const std::string& message) const;
  // A copy with a cause.
  Error WithCause(std::shared_ptr<const ErrorCause> cause) const;

 private:
  struct Content {
    ErrorCode code;
    std::string message;
    std::vector<std::string> context;
    std::string file;
    int64_t offset = -1;
    std::shared_ptr<const ErrorCause> cause;
    std::string text;  // for what()
  };
  explicit Error(Content content);

  std::shared_ptr<const Content> content_;
};

// Says that there is no next element. It is the only subclass, because it is the only error that
// users catch in order to continue. Inside a chain of readers the end is a return value; this is
// thrown where users and operators read.
class EndOfData final : public Error {
 public:
  explicit EndOfData(const std::string& message) : Error(ErrorCode::kInvalidArgument, message) {}

  // As Error::WithContext; the copy is an EndOfData, too.
  EndOfData WithContext(const std::string& step) const {
    return EndOfData(Error::WithContext(step));
  }

 private:
  explicit EndOfData(const Error& error) : Error(error) {}
};

template <typename... Parts>
[[noreturn]] void Throw(ErrorCode code, const Parts&... parts) {
  throw Error(code, StrCat(parts...));
}

// Throws kInvalidArgument unless `condition` holds.
template <typename... Parts>
void Require(bool condition, const Parts&... parts) {
  if (__builtin_expect(!condition, 0)) Throw(ErrorCode::kInvalidArgument, parts...);
}

// The current exception as an Error: itself; kResourceLimit for std::bad_alloc and for a thread
// that cannot be started; kIo for other errors of the system, naming the file if there is one; else
// kInternal with its text. Call inside a catch block only.
Error CurrentError();
// The same for an exception that was kept.
Error KeptError(const std::exception_ptr& thrown);

// Notes a step that led to a std::bad_alloc, so that CurrentError on this thread can say it later:
// when memory is exhausted there is none for an Error with context. The parts are joined.
void NoteOutOfMemory(std::string_view first, std::string_view second) noexcept;

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_ERROR_H_
