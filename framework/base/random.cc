// SPDX-License-Identifier: Apache-2.0
#include "framework/base/random.h"

namespace millhopper {

RandomKey::RandomKey(uint64_t run_seed, uint64_t operator_seed, const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over the name
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  key_ = MixBits(run_seed + kStep);
  key_ = MixBits(key_ ^ (operator_seed + 2 * kStep));
  key_ = MixBits(key_ ^ (hash + 3 * kStep));
}

RandomKey RandomKey::OfSeeds(uint64_t run_seed, uint64_t operator_seed) {
  RandomKey key(run_seed, operator_seed, "");
  key.pass_step_ = 0;
  return key;
}

RandomKey RandomKey::OfPart(uint64_t part) const {
  RandomKey key(MixBits(key_ ^ (part + 1) * kStep));
  key.pass_step_ = pass_step_;
  return key;
}

RandomKey RandomKey::Of(const RecordId& id) const {
  const RandomKey element(Bits(id.pass, id.sample));
  return id.part == 0 ? element : RandomKey(element.Bits(0, id.part));
}

}  // namespace millhopper
