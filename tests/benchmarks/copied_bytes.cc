// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/copied_bytes.h"

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>

#include "framework/base/error.h"
#include "tests/benchmarks/data.h"

namespace millhopper {

uint64_t BytesCopiedSoFar() {
  static const auto count =
      reinterpret_cast<uint64_t (*)()>(dlsym(RTLD_DEFAULT, "millhopper_copied_bytes"));
  if (count == nullptr) Throw(ErrorCode::kInternal, "libcopy_counter.so is not preloaded");
  return count();
}

std::optional<CopiedBytes> CountCopies(const std::string& workload) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      StrCat("LD_PRELOAD='", (program.parent_path() / "libcopy_counter.so").string(), "' '",
             program.string(), "' --count_copies='", workload, "' --data='", DataFolder(),
             "' --threads=", Options().workers);
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return std::nullopt;
  unsigned long long copied = 0;
  unsigned long long payload = 0;
  const int fields = fscanf(output, "%llu %llu", &copied, &payload);
  if (pclose(output) != 0 || fields != 2 || payload == 0) return std::nullopt;
  return CopiedBytes{copied, payload};
}

void PrintCopies(const Workload& workload) {
  const CopiedBytes bytes = workload.copy();
  std::printf("%llu %llu\n", static_cast<unsigned long long>(bytes.copied),
              static_cast<unsigned long long>(bytes.payload));
}

}  // namespace millhopper
