// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutation.h"

#include <algorithm>

namespace millhopper {

std::string Mutated(std::string bytes, size_t most) {
  const size_t size = std::min(bytes.size(), most);
  bytes.resize(most);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, most));
  return bytes;
}

size_t Replace(const std::string& bytes, uint8_t* data, size_t size, size_t most) {
  if (bytes.size() > most) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace millhopper
