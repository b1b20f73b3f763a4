// SPDX-License-Identifier: Apache-2.0
// Memory whose pages may be lost: those of a mapped file. Where the file became shorter, or the
// disk fails, the kernel sends the thread that touches such a page a SIGBUS, which would end the
// process.
#ifndef MILLHOPPER_FRAMEWORK_IO_GUARDED_PAGES_H_
#define MILLHOPPER_FRAMEWORK_IO_GUARDED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace millhopper {

// Pages that may be read on any thread while this lives. A thread that meets a lost page reads
// zeros from there to the end of the pages and goes on; whoever has read must look at lost() before
// using what it has read.
//
// The first of all guards installs the process's handler for SIGBUS, for good. A SIGBUS for any
// other reason goes to the handler that was there before, or ends the process as ever. A library
// that installs a handler later must pass on what is not its own.
class GuardedPages {
 public:
  // `begin` is at the beginning of a page. The pages belong to the caller, who unmaps them after
  // this is gone. Throws kIo where the handler cannot be installed.
  GuardedPages(char* begin, size_t size);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  // Where the first page lies, from `begin` on, that was found lost; nothing if none was. What the
  // caller has read before the call is right, up to there. Any thread.
  std::optional<size_t> lost() const;

 private:
  struct Entry;
  static bool InstallHandler();
  static Entry* TakeEntry();
  // The handler's part: has the rest of the pages be zeros if the address is in guarded ones.
  static bool ReplaceFrom(const char* address);
  friend struct BusErrorHandler;

  Entry* const entry_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_GUARDED_PAGES_H_
