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

struct sigaction previous;  // the handler that ours stands before

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// A SIGBUS that is not for us.
void PassOn(int signal, siginfo_t* info, void* context) {
  const bool detailed = (previous.sa_flags & SA_SIGINFO) != 0;
  const bool own_doing = info->si_code > 0;  // of this thread, and no signal that somebody sent
  if (!detailed && previous.sa_handler == SIG_IGN && !own_doing) return;
  const bool ends = !detailed && (previous.sa_handler == SIG_IGN || previous.sa_handler == SIG_DFL);
  if (ends || (previous.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction default_action = {};
    default_action.sa_handler = SIG_DFL;
    sigaction(signal, &default_action, nullptr);
  }
  if (ends) {
    // What the thread did it does again when this returns; what somebody sent is sent again.
    if (!own_doing) raise(signal);
  } else if (detailed) {
    previous.sa_sigaction(signal, info, context);
  } else {
    previous.sa_handler(signal);
  }
}

}  // namespace

// The pages of one guard, as the handler sees them: it may wait for nobody, so there is no lock.
// Entries are in a list that only grows, and are used again.
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
  // Known before ours can run.
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
  // A thread that has read zeros has met the new pages, which are mapped after the loss is noted.
  // Adding nothing keeps what it has read before this, which a mere load would not.
  const uint64_t lost = entry_->lost.fetch_add(0, std::memory_order_acq_rel);
  if (lost == kNone) return std::nullopt;
  return lost;
}

bool GuardedPages::ReplaceFrom(const char* address) {
  for (Entry* entry = Entry::first.load(); entry != nullptr; entry = entry->next) {
    // The pages that the thread is reading are guarded, so their entry does not change meanwhile.
    const uint64_t version = entry->version.load();
    char* const begin = entry->begin.load();
    char* const end = entry->end.load();
    if (version % 2 == 1 || entry->version.load() != version) continue;
    if (address < begin || address >= end) continue;
    const size_t offset = static_cast<size_t>(address - begin) / PageBytes() * PageBytes();
    uint64_t lost = entry->lost.load();
    while (offset < lost && !entry->lost.compare_exchange_weak(lost, offset)) continue;
    // Where a page is lost because the file is shorter, all behind it are: one call does.
    const size_t rest = static_cast<size_t>(end - begin) - offset;
    // The system call itself: what a sanitizer puts before it takes this for a write of values.
    return ::syscall(SYS_mmap, begin + offset, rest, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != -1;
  }
  return false;
}

}  // namespace millhopper
