// SPDX-License-Identifier: Apache-2.0
// Digests and JSON of the elements of a reader, by which elements can be compared between languages
// and machines.
//
// The digest of an element is the SHA-256 of its slots in order, each as: u32 dtype (the numbers of
// framework.proto), u32 rank, i64 dims, u32 number of levels of detail, per level u64 count and
// that many u64 offsets, then the values; all little-endian, no padding. The digest of a stream is
// the SHA-256 of the 32-byte digests of its elements in order.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_DIGEST_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_DIGEST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/tensor/tensor.h"

namespace millhopper {

using Digest = std::array<uint8_t, 32>;

// 64 lower-case hex digits.
std::string ToHex(const Digest& digest);

// The SHA-256 of the bytes that are added. One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(const void* bytes, size_t size);
  // The digest of everything added so far; more may be added afterwards.
  Digest Value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Tensors on a device are copied to the host first.
Digest DigestOf(const std::vector<LoDTensor>& element);

// {"slots":[{"dtype":"uint8","dims":[1,2],"lod":[[0,1]],"data":[7,8]}]}, without a line end. Where
// slots have names, "name" is the first field of each.
std::string ToJson(const std::vector<LoDTensor>& element,
                   const std::vector<std::string>& names = {});
// "dtype":"uint8","dims":[1,2],"lod":[[0,1]],"data":[7,8]: the fields of one tensor. Floats have
// the fewest digits that tell them apart; "nan", "inf" and "-inf" are strings. What is text
// (IsText) has "text" last: the text, or a list where there are several.
std::string JsonFields(const LoDTensor& tensor);

// Value i as a number; bool is 0 or 1. Exact except for integers above 2^53.
double ValueAt(const LoDTensor& tensor, int64_t i);
// Value i as in JSON, but "nan", "inf" and "-inf" without quotes.
std::string ValueText(const LoDTensor& tensor, int64_t i);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_DIGEST_H_
