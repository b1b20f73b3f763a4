// SPDX-License-Identifier: Apache-2.0
// libcopy_counter.so, to be preloaded: memcpy and memmove that count the bytes of calls from the
// program itself.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace {

using Copy = void* (*)(void* to, const void* from, size_t bytes);

std::atomic<uint64_t> copied{0};
// The C library's memmove. Null until the constructor below has run; code that runs while the
// process is loaded may copy before that.
Copy real_memmove = nullptr;
uintptr_t program_begin = 0;
uintptr_t program_end = 0;

int FindProgram(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    program_begin = info->dlpi_addr + segment.p_vaddr;
    program_end = program_begin + segment.p_memsz;
  }
  return 1;  // the program is the first
}

__attribute__((constructor)) void FindAll() {
  dl_iterate_phdr(FindProgram, nullptr);
  real_memmove = reinterpret_cast<Copy>(dlsym(RTLD_NEXT, "memmove"));
}

// Calls the library's memmove for memcpy too, which changes nothing in the count.
void* CountedCopy(void* to, const void* from, size_t bytes, const void* caller) {
  if (real_memmove == nullptr) {
    auto* out = static_cast<volatile char*>(to);
    const auto* in = static_cast<const volatile char*>(from);
    const bool backwards = to > from;
    for (size_t i = 0; i < bytes; ++i) {
      const size_t k = backwards ? bytes - 1 - i : i;
      out[k] = in[k];
    }
    return to;
  }
  const auto address = reinterpret_cast<uintptr_t>(caller);
  if (address >= program_begin && address < program_end) {
    copied.fetch_add(bytes, std::memory_order_relaxed);
  }
  return real_memmove(to, from, bytes);
}

}  // namespace

extern "C" {
// The compiler calls the first two, or the _chk functions where it knows the size of the
// destination.
void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) {
  return CountedCopy(to, from, bytes, __builtin_return_address(0));
}

void* memmove(void* to, const void* from, size_t bytes) {
  return CountedCopy(to, from, bytes, __builtin_return_address(0));
}

// NOLINTNEXTLINE(bugprone-reserved-identifier)
void* __memcpy_chk(void* to, const void* from, size_t bytes, size_t) {
  return CountedCopy(to, from, bytes, __builtin_return_address(0));
}

// NOLINTNEXTLINE(bugprone-reserved-identifier)
void* __memmove_chk(void* to, const void* from, size_t bytes, size_t) {
  return CountedCopy(to, from, bytes, __builtin_return_address(0));
}

uint64_t millhopper_copied_bytes() { return copied.load(); }
}
