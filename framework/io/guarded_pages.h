// SPDX-License-Identifier: Apache-2.0
// Memory whose pages may be lost: that of a mapped file. If the file has become shorter or the disk
// fails, the kernel sends a SIGBUS to the thread that touches such a page, which would end the
// process.
#ifndef MILLHOPPER_FRAMEWORK_IO_GUARDED_PAGES_H_
#define MILLHOPPER_FRAMEWORK_IO_GUARDED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace millhopper {

// Any thread may read the pages as long as this object lives. A thread that touches a lost page
// reads zeros from there to the end of the pages and continues. So a reader must check lost()
// before it uses what it has read.
//
// The first guard of the process installs a handler for SIGBUS, which stays. A SIGBUS for any other
// reason goes to the handler that was installed before, or ends the process as usual. A library
// that installs a handler later must pass on signals that are not its own.
class GuardedPages {
 public:
  // `begin` is the address of a page. The caller owns the pages and unmaps them after this object
  // is destroyed. Throws kIo where the handler cannot be installed.
  GuardedPages(char* begin, size_t size);
  ~GuardedPages();
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  // The offset of the first page that was found lost; nothing if none was. Bytes before it that the
  // caller read before the call are right. Any thread.
  std::optional<size_t> lost() const;

 private:
  struct Entry;
  static bool InstallHandler();
  static Entry* TakeEntry();
  // Called by the handler: if guarded pages contain the address, replaces them from there on by
  // zeros. Returns whether they do.
  static bool ReplaceFrom(const char* address);
  friend struct BusErrorHandler;

  Entry* const entry_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_GUARDED_PAGES_H_
