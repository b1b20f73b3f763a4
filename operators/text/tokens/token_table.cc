// SPDX-License-Identifier: Apache-2.0
#include "operators/text/tokens/token_table.h"

#include <xxhash.h>

namespace millhopper {
namespace {

uint64_t HashOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace

uint64_t HashOfBytes(const uint8_t* bytes, size_t size) { return XXH3_64bits(bytes, size); }

uint32_t TokenTable::Add(std::string_view bytes, int32_t id) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint64_t hash = HashOf(bytes);
  const uint32_t same = Find(begin, bytes.size(), hash);
  if (same != kNone) return same;
  const auto token = static_cast<uint32_t>(tokens_.size());
  if (2 * (tokens_.size() + 1) > entries_.size()) Grow();
  tokens_.push_back(
      {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(bytes.size()), id});
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  longest_ = bytes.size() > longest_ ? bytes.size() : longest_;
  if (bytes.size() == 1) of_byte_[*begin] = token;
  Place(hash, token);
  return kNone;
}

void TokenTable::Place(uint64_t hash, uint32_t token) {
  const auto mask = entries_.size() - 1;
  size_t place = hash & mask;
  while (entries_[place].token != kNone) place = (place + 1) & mask;
  entries_[place] = {static_cast<uint32_t>(hash >> 32), token};
}

void TokenTable::Grow() {
  entries_.assign(2 * entries_.size(), Entry());
  for (uint32_t token = 0; token < tokens_.size(); ++token) Place(HashOf(bytes(token)), token);
}

std::array<uint32_t, 256> ByteTokens(const TokenTable& tokens) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::array<uint32_t, 256> found{};
  for (size_t byte = 0; byte < found.size(); ++byte) {
    const std::array<uint8_t, 6> name = {'<',
                                         '0',
                                         'x',
                                         static_cast<uint8_t>(kDigits[byte >> 4]),
                                         static_cast<uint8_t>(kDigits[byte & 15]),
                                         '>'};
    found[byte] = tokens.Find(name.data(), name.size());
  }
  return found;
}

}  // namespace millhopper
