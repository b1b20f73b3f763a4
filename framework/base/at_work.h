// SPDX-License-Identifier: Apache-2.0
// Notes of what each thread is doing, and the lines that a crashing process prints of them.
#ifndef MILLHOPPER_FRAMEWORK_BASE_AT_WORK_H_
#define MILLHOPPER_FRAMEWORK_BASE_AT_WORK_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

// The chunks that a thread may be reading. It reads one of them; which one is not known.
class ChunksAtWork {
 public:
  struct Place {
    const char* file;
    uint64_t offset;
  };

  virtual size_t size() const = 0;
  // The handler of a signal calls it, so it may only look at memory. The same chunk may come again.
  virtual Place operator[](size_t i) const = 0;

 protected:
  ~ChunksAtWork() = default;
};

// What a thread is doing. The pointers are to things that outlive the work; null is unknown.
struct Activity {
  const char* step = nullptr;            // "while running operator 'read' (main.pbtxt:30)"
  const char* library = nullptr;         // that the called code is in, as LibraryOf gives it
  const char* file = nullptr;            // that is being read
  uint64_t offset = 0;                   // of the chunk in the file
  const ChunksAtWork* chunks = nullptr;  // where `file` is null: of the records that are loaded
};

// Lets the calling thread note what it is doing. The destructor restores the previous note.
class AtWork {
 public:
  AtWork() : before_(now_) {}
  ~AtWork() { now_ = before_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  Activity* operator->() { return &now_; }
  // What the calling thread is doing now.
  static const Activity& Now() { return now_; }

 private:
  static thread_local Activity now_;
  const Activity before_;
};

// The path of the library that holds this code (a function, a table of virtual functions), if it is
// another one than Millhopper's own: a plugin. Else null.
const char* LibraryOf(const void* code);

// From now on, a thread whose fault ends the process by a signal leaves some lines on standard
// error that say what it was doing. So does a thread that calls exit or quick_exit before
// ExpectExit; then `abandon` is called, and the exit code is that of an error, whatever code the
// thread has asked for. For commands: a host such as Python has its own handlers.
void InstallCrashLines(void (*abandon)());
// Says that the work is done: from now on a call of exit is no fault.
void ExpectExit();

// A second stack for the signal handler, which runs on it when the thread has used up its own
// stack. One per thread, for as long as the thread works. Does nothing before InstallCrashLines, or
// if there is no memory for it.
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
