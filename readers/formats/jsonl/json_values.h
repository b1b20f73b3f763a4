// SPDX-License-Identifier: Apache-2.0
// Files of JSON whose records are no lines: the items of one list, or values one after another.
#ifndef MILLHOPPER_READERS_FORMATS_JSONL_JSON_VALUES_H_
#define MILLHOPPER_READERS_FORMATS_JSONL_JSON_VALUES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "readers/index/indexable_format.h"

namespace millhopper {

// Whether the text of a file begins with a list. Reads its beginning.
bool IsJsonList(const std::string& path);

// The values of a file: the items of its list, or those that stand one after another, with blanks
// or nothing between them. A value is a record if `is_record` is empty or says so. Values may have
// any number of lines, and kMaxLineBytes. Errors of a value name the byte that it begins at.
std::unique_ptr<IndexableSource> MakeJsonValueSource(
    std::unique_ptr<ByteStream> stream, bool is_list,
    std::function<bool(std::string_view value)> is_record);

// The first values of a file, of 1 MiB or one at least, and the bytes that they begin at; and some
// of its middle and end, if all of the first values begin in one way in which nothing else does.
// Throws what the source throws for a value among the first that is no JSON.
std::vector<std::string> SampledJsonValues(const std::string& path, std::vector<uint64_t>* begins);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_JSONL_JSON_VALUES_H_
