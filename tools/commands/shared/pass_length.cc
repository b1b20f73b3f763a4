// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/pass_length.h"

namespace millhopper {
namespace {

template <typename Reader>
std::optional<uint64_t> Ask(const Reader& reader) {
  try {
    return reader.PassLength();
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<uint64_t> LengthIfTold(const ReaderHolder& reader) { return Ask(reader); }

std::optional<uint64_t> LengthIfTold(const ReaderBase& reader) { return Ask(reader); }

}  // namespace millhopper
