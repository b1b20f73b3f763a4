// SPDX-License-Identifier: Apache-2.0
#include "framework/io/guarded_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr uint64_t kNone = UINT64_MAX;

struct sigaction previous;  // the handler that was installed before ours

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// Handles a SIGBUS that no guarded page has caused.
void PassOn(int signal, siginfo_t* info, void* context) {
  const bool detailed = (previous.sa_flags & SA_SIGINFO) != 0;
  const bool own_doing = info->si_code > 0;  // caused by this thread, not sent by a process
  if (!detailed && previous.sa_handler == SIG_IGN && !own_doing) return;
  const bool ends = !detailed && (previous.sa_handler == SIG_IGN || previous.sa_handler == SIG_DFL);
  if (ends || (previous.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction default_action = {};
    default_action.sa_handler = SIG_DFL;
    sigaction(signal, &default_action, nullptr);
  }
  if (ends) {
    // The thread repeats its access when this returns. A signal that was sent is raised again.
    if (!own_doing) raise(signal);
  } else if (detailed) {
    previous.sa_sigaction(signal, info, context);
  } else {
    previous.sa_handler(signal);
  }
}

}  // namespace

// The pages of one guard, as the handler sees them. A signal handler must not wait, so there is no
// lock. Entries are in a list that only grows; later guards reuse them.
struct GuardedPages::Entry {
  std::atomic<bool> taken{true};
  std::atomic<uint64_t> version{0};  // odd while begin and end are changed
  std::atomic<char*> begin{nullptr};
  std::atomic<char*> end{nullptr};
  std::atomic<uint64_t> lost{kNone};  // the first lost page, from `begin` on
  Entry* next = nullptr;

  static std::atomic<Entry*> first;

  static Entry* Take() {
    for (Entry* entry = first.load(); entry != nullptr; entry = entry->next) {
      bool taken = false;
      if (entry->taken.compare_exchange_strong(taken, true)) return entry;
    }
    auto* const entry = new Entry;  // never destroyed: the handler may be looking at it
    entry->next = first.load();
    while (!first.compare_exchange_weak(entry->next, entry)) continue;
    return entry;
  }
  void Set(char* the_begin, char* the_end) {
    version.fetch_add(1);
    begin.store(the_begin);
    end.store(the_end);
    lost.store(kNone);
    version.fetch_add(1);
  }
};

std::atomic<GuardedPages::Entry*> GuardedPages::Entry::first{nullptr};

struct BusErrorHandler {
  static void Handle(int signal, siginfo_t* info, void* context) {
    const int number = errno;
    if (info->si_code <= 0 || !GuardedPages::ReplaceFrom(static_cast<const char*>(info->si_addr))) {
      PassOn(signal, info, context);
    }
    errno = number;
  }
};

bool GuardedPages::InstallHandler() {
  PageBytes();
  struct sigaction action = {};
  action.sa_sigaction = &BusErrorHandler::Handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  // Our handler needs it, so it is read before ours is installed.
  sigaction(SIGBUS, nullptr, &previous);
  return sigaction(SIGBUS, &action, nullptr) == 0;
}

GuardedPages::Entry* GuardedPages::TakeEntry() {
  static const bool installed = InstallHandler();
  if (!installed) Throw(ErrorCode::kIo, "cannot install a handler for SIGBUS");
  return Entry::Take();
}

GuardedPages::GuardedPages(char* begin, size_t size) : entry_(TakeEntry()) {
  const size_t pages = (size + PageBytes() - 1) / PageBytes();
  entry_->Set(begin, begin + pages * PageBytes());
}

GuardedPages::~GuardedPages() {
  entry_->Set(nullptr, nullptr);
  entry_->taken.store(false);
}

std::optional<size_t> GuardedPages::lost() const {
  // The handler notes the loss before it maps zeros, so a thread that has read zeros sees the note.
  // fetch_add(0) keeps the thread's earlier reads before this; a plain load would not.
  const uint64_t lost = entry_->lost.fetch_add(0, std::memory_order_acq_rel);
  if (lost == kNone) return std::nullopt;
  return lost;
}

bool GuardedPages::ReplaceFrom(const char* address) {
  for (Entry* entry = Entry::first.load(); entry != nullptr; entry = entry->next) {
    // The entry of the pages that this thread is reading cannot change: their guard is alive.
    const uint64_t version = entry->version.load();
    char* const begin = entry->begin.load();
    char* const end = entry->end.load();
    if (version % 2 == 1 || entry->version.load() != version) continue;
    if (address < begin || address >= end) continue;
    const size_t offset = static_cast<size_t>(address - begin) / PageBytes() * PageBytes();
    uint64_t lost = entry->lost.load();
    while (offset < lost && !entry->lost.compare_exchange_weak(lost, offset)) continue;
    // If the file has become shorter, all later pages are lost, too. One call replaces them.
    const size_t rest = static_cast<size_t>(end - begin) - offset;
    // The wrapper of a sanitizer would take mmap for a write of the values.
    return ::syscall(SYS_mmap, begin + offset, rest, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != -1;
  }
  return false;
}

}  // namespace millhopper
