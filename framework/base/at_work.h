// SPDX-License-Identifier: Apache-2.0
// What each thread is at, and the lines in which a process that crashes says so.
#ifndef MILLHOPPER_FRAMEWORK_BASE_AT_WORK_H_
#define MILLHOPPER_FRAMEWORK_BASE_AT_WORK_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

// Chunks of files, of which a thread is at one and nobody knows which.
class ChunksAtWork {
 public:
  struct Place {
    const char* file;
    uint64_t offset;
  };

  virtual size_t size() const = 0;
  // Called in the handler of a signal: it may only look at memory. The same chunk may come again.
  virtual Place operator[](size_t i) const = 0;

 protected:
  ~ChunksAtWork() = default;
};

// Texts and other things that outlive the work; null is unknown.
struct Activity {
  const char* step = nullptr;            // "while running operator 'read' (main.pbtxt:30)"
  const char* library = nullptr;         // whose code is called, as LibraryOf gives it
  const char* file = nullptr;            // that is being read
  uint64_t offset = 0;                   // of the chunk in the file
  const ChunksAtWork* chunks = nullptr;  // where `file` is null: of the records that are loaded
};

// Lets the calling thread note what it is at; what it was at before comes back in the end.
class AtWork {
 public:
  AtWork() : before_(now_) {}
  ~AtWork() { now_ = before_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  Activity* operator->() { return &now_; }
  // The calling thread's, right now.
  static const Activity& Now() { return now_; }

 private:
  static thread_local Activity now_;
  const Activity before_;
};

// The path of the library that holds this code (a function, a table of virtual functions), if it is
// another one than Millhopper's own: a plugin. Else null.
const char* LibraryOf(const void* code);

// From now on, a thread that is ended by a signal for a fault of the program leaves some lines on
// standard error that say what it was at. So does one that calls exit or quick_exit before
// ExpectExit; `abandon` is called then, and the process ends with a code that says so, whatever
// code was asked for. For commands: a host such as Python has handlers of its own.
void InstallCrashLines(void (*abandon)());
// The work is done: exit is how the process is meant to end now.
void ExpectExit();

// Where the lines are written from if the thread has used up its stack. One a thread, for as long
// as the thread works. Does nothing before InstallCrashLines, nor where there is no memory for it.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  void* bytes_ = nullptr;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_AT_WORK_H_
