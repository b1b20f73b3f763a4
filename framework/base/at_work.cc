// SPDX-License-Identifier: Apache-2.0
#include "framework/base/at_work.h"

#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "framework/base/error.h"
#include "framework/base/secrets.h"

namespace millhopper {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;

std::atomic<bool> installed{false};
std::atomic<bool> exit_expected{false};
// Both are set before any thread starts.
pid_t watched_process = -1;
void (*abandon_work)() = nullptr;

// Lines that are put together in this object and written from it: the handler of a signal must not
// allocate memory.
class CrashLines final : public TextSink {
 public:
  void Put(std::string_view piece) override { Add(piece); }
  void Add(std::string_view text) {
    for (const char c : text) {
      if (size_ + 1 >= sizeof(bytes_)) return;
      const auto byte = static_cast<unsigned char>(c);
      bytes_[size_++] = byte < ' ' || byte == 0x7f ? '?' : c;  // names of files are not trusted
    }
  }
  void Add(uint64_t number) {
    char digits[21];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    Add(digits + at);
  }
  void EndLine() {
    bytes_[size_++] = '\n';
    if (size_ > sizeof(bytes_) / 2) Write();
  }
  void AddActivity(const Activity& activity) {
    if (activity.library != nullptr) {
      Add("  in code of ");
      Add(activity.library);
      EndLine();
    }
    if (activity.file != nullptr) {
      Add("  while reading ");
      AddChunk({activity.file, activity.offset});
    } else if (activity.chunks != nullptr) {
      AddChunks(*activity.chunks);
    }
    if (activity.step != nullptr) {
      Add("  ");
      PutWithoutSecrets(activity.step, TextKind::kWords, this);
      EndLine();
    }
  }
  void Write() {
    for (size_t at = 0; at < size_;) {
      const ssize_t written = ::write(STDERR_FILENO, bytes_ + at, size_ - at);
      if (written <= 0) break;
      at += static_cast<size_t>(written);
    }
    size_ = 0;
  }

 private:
  void AddChunk(const ChunksAtWork::Place& chunk) {
    PutWithoutSecrets(chunk.file, TextKind::kName, this);
    Add(", the chunk at byte ");
    Add(chunk.offset);
    EndLine();
  }
  // Each chunk once.
  void AddChunks(const ChunksAtWork& chunks) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      const ChunksAtWork::Place chunk = chunks[i];
      bool said = false;
      for (size_t k = 0; k < i && !said; ++k) {
        said = chunks[k].file == chunk.file && chunks[k].offset == chunk.offset;
      }
      if (said) continue;
      Add(i == 0 ? "  while reading " : "  or ");
      AddChunk(chunk);
    }
  }

  char bytes_[4096];
  size_t size_ = 0;
};

void OnCrash(int signal) {
  CrashLines lines;
  lines.Add("error: crashed by signal ");
  lines.Add(static_cast<uint64_t>(signal));
  if (const char* const name = sigdescr_np(signal)) {
    lines.Add(" (");
    lines.Add(name);
    lines.Add(")");
  }
  lines.EndLine();
  lines.AddActivity(AtWork::Now());
  lines.Write();
  raise(signal);  // its default action, which is set again, ends the process on return
}

// An executable or a shared library in memory.
struct LoadedObject {
  const char* name = nullptr;  // null: none
  ElfW(Addr) base = 0;
};

// The object that some code is in. dladdr would also look for the name of the function, which takes
// the time to look at every name that the object exports.
LoadedObject ObjectOf(const void* code) {
  struct Search {
    ElfW(Addr) address;
    LoadedObject found;
  } search = {reinterpret_cast<ElfW(Addr)>(code), {}};
  const auto look = [](dl_phdr_info* object, size_t, void* data) {
    auto* const search = static_cast<Search*>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      if (search->address - (object->dlpi_addr + segment.p_vaddr) >= segment.p_memsz) continue;
      search->found = {object->dlpi_name, object->dlpi_addr};
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

void OnExit() {
  // A child that a plugin has forked may end as it likes.
  if (exit_expected.load() || getpid() != watched_process) return;
  const Activity& activity = AtWork::Now();
  CrashLines lines;
  lines.Add("error: ended by a call of exit in the middle of the work");
  lines.EndLine();
  lines.AddActivity(activity);
  lines.Write();
  abandon_work();
  // The exit code is that of an error even if the plugin has asked for 0.
  _exit(static_cast<int>(activity.library != nullptr ? ErrorCode::kPlugin : ErrorCode::kInternal));
}

}  // namespace

thread_local Activity AtWork::now_;

const char* LibraryOf(const void* code) {
  static const LoadedObject own = ObjectOf(reinterpret_cast<const void*>(&LibraryOf));
  const LoadedObject object = ObjectOf(code);
  return object.name == nullptr || object.base == own.base ? nullptr : object.name;
}

void InstallCrashLines(void (*abandon)()) {
  if (installed.exchange(true)) return;
  abandon_work = abandon;
  static const CrashStack main_stack;
  watched_process = getpid();
  std::atexit(OnExit);
  std::at_quick_exit(OnExit);
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
}

void ExpectExit() { exit_expected.store(true); }

CrashStack::CrashStack() {
  if (!installed.load()) return;
  void* const bytes =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return;  // a thread that uses up its stack then leaves no lines
  stack_t stack = {};
  stack.ss_sp = bytes;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
  bytes_ = bytes;
}

CrashStack::~CrashStack() {
  if (bytes_ == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(bytes_, kStackBytes);
}

}  // namespace millhopper
