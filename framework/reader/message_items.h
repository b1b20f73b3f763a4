// SPDX-License-Identifier: Apache-2.0
// Bounds the memory of an untrusted protobuf message before it is built: two bytes in a file may
// take a hundred in memory.
#ifndef MILLHOPPER_FRAMEWORK_READER_MESSAGE_ITEMS_H_
#define MILLHOPPER_FRAMEWORK_READER_MESSAGE_ITEMS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>

#include <cstddef>

namespace millhopper {

// Counts messages, strings and lists in the bytes of a message of this type, as far as they have
// its form, without building them. False if there are more than `most`, and for a message with
// groups, which ours never have and which would end the count. `in` must have the recursion limit
// with which the message will be parsed. Any thread.
bool HasFewItems(const google::protobuf::Descriptor* type, size_t most,
                 google::protobuf::io::CodedInputStream* in);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_MESSAGE_ITEMS_H_
