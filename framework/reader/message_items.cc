// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/message_items.h"

#include <cstdint>

namespace millhopper {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

// Takes the items from *left. False if there are more, or a group; true also where the bytes have
// no form, because parsing them ends there, too.
bool Take(const Descriptor* type, CodedInputStream* in, size_t* left) {
  while (const uint32_t tag = in->ReadTag()) {
    uint64_t value = 0;
    int size = 0;
    switch (tag & 7u) {
      case 0:
        if (!in->ReadVarint64(&value)) return true;
        break;
      case 1:
        if (!in->Skip(8)) return true;
        break;
      case 2: {
        if (*left == 0) return false;
        --*left;
        if (!in->ReadVarintSizeAsInt(&size)) return true;
        const FieldDescriptor* const field = type->FindFieldByNumber(static_cast<int>(tag >> 3));
        if (field == nullptr || field->message_type() == nullptr) {
          if (!in->Skip(size)) return true;
          break;
        }
        const auto nested = in->IncrementRecursionDepthAndPushLimit(size);
        if (nested.second < 0) return true;
        if (!Take(field->message_type(), in, left)) return false;
        if (!in->DecrementRecursionDepthAndPopLimit(nested.first)) return true;
        break;
      }
      case 3:
      case 4:
        return false;
      case 5:
        if (!in->Skip(4)) return true;
        break;
      default:
        return true;
    }
  }
  return true;
}

}  // namespace

bool HasFewItems(const Descriptor* type, size_t most, CodedInputStream* in) {
  return Take(type, in, &most);
}

}  // namespace millhopper
