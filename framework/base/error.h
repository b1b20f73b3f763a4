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
  kCancelled = 130,      // stopped because somebody asked for it
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
// a hostile file name cannot forge a line of a log.
std::string Escaped(const std::string& text);

// What an error was before it became one of ours, for whoever wants it back at the other end: the
// exception of another language, which has its own way to hold and to drop it. Any thread.
class ErrorCause {
 public:
  ErrorCause() = default;
  ErrorCause(const ErrorCause&) = delete;
  ErrorCause& operator=(const ErrorCause&) = delete;
  virtual ~ErrorCause() = default;
};

// The cause of an error of memory, which the limit (memory_limit.h) or the system did not give.
class OutOfMemory final : public ErrorCause {
 public:
  // True if it was refused to work ahead of need, which is to be done again when it is needed.
  bool refused = false;
  // The memory that all that is needed at once would take, as far as is known; 0 if it is not.
  size_t needed = 0;
  // The same for one element of the reader that was refused it.
  size_t element = 0;
  // What the error says in front of its advice.
  std::string problem;
};

// An error and the steps that led to it. what() is the message and one indented line a step,
// innermost first:
//
//   train-00002.recordio: chunk at byte 18350080: payload checksum 1f0a33c2, header says 77e1904b
//     while reading record 17201 of reader 'files' (open_files, startup.pbtxt:12)
//     while running operator 'read' (main.pbtxt:30, block 1)
//
// Values of this class never change: a stored error is rethrown many times, so a step is added to a
// copy. Copies as such share what they say, and take no memory: there may be none.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);
  Error(const Error&) noexcept = default;  // nothing is moved out of an error
  Error& operator=(const Error&) noexcept = default;

  ErrorCode code() const { return content_->code; }
  const std::string& message() const { return content_->message; }
  const std::vector<std::string>& context() const { return content_->context; }
  // The data file that the error is about, or "".
  const std::string& file() const { return content_->file; }
  // Byte in file(), or -1.
  int64_t offset() const { return content_->offset; }
  // What it was before, or null.
  const std::shared_ptr<const ErrorCause>& cause() const { return content_->cause; }
  // Its cause if it is an error of memory, else null.
  const OutOfMemory* out_of_memory() const;
  // True for a request to stop and for a lack of memory: such an error tells of this moment and not
  // of the data, so it has no place among the elements and is handed on at once.
  bool interrupts() const;
  const char* what() const noexcept override { return content_->text.c_str(); }

  // A copy with one more outer step, e.g. "while running operator 'read' (main.pbtxt:30, block 1)".
  Error WithContext(const std::string& step) const;
  // A copy that names the data file and byte; the message is prefixed with the file's name.
  Error InFile(const std::string& file, int64_t offset) const;
  // A copy with another message and the same of all else.
  Error WithMessage(std::string message) const;
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

// There is no next element. The only subclass, because it is the only one that users catch to go
// on. Inside a chain of readers the end is a return value; this is thrown at its edge.
class EndOfData final : public Error {
 public:
  explicit EndOfData(const std::string& message) : Error(ErrorCode::kInvalidArgument, message) {}

  // As Error::WithContext; it stays the end of data.
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

// Notes a step that led to a std::bad_alloc, for CurrentError on this thread to say later: where
// memory is exhausted there is none for an Error with context. Parts are laid end to end.
void NoteOutOfMemory(std::string_view first, std::string_view second) noexcept;

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_ERROR_H_
