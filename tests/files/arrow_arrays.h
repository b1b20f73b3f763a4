// SPDX-License-Identifier: Apache-2.0
// Columns in Arrow's memory, built by hand.
#ifndef MILLHOPPER_TESTS_FILES_ARROW_ARRAYS_H_
#define MILLHOPPER_TESTS_FILES_ARROW_ARRAYS_H_

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "readers/arrow/arrow_c_data.h"

namespace millhopper {

using Strings = std::vector<std::string>;

template <typename T>
std::string Raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Bits, the first one lowest.
inline std::string Bits(const std::vector<int>& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); ++i) bytes[i / 8] |= static_cast<char>(bits[i] << i % 8);
  return bytes;
}

// A column with its values. Stays where it is, because its structs point into it.
class ArrowColumnValues {
 public:
  // The first buffer is that of the bits that tell nulls; "" if there are none.
  ArrowColumnValues(std::string name, std::string format, int64_t length, Strings buffers,
                    std::vector<std::shared_ptr<ArrowColumnValues>> children = {})
      : name_(std::move(name)),
        format_(std::move(format)),
        buffers_(buffers.begin(), buffers.end()),
        children_(std::move(children)) {
    schema.format = format_.c_str();
    schema.name = name_.c_str();
    array.length = length;
    for (const std::string& buffer : buffers_) {
      places_.push_back(buffer.empty() ? nullptr : buffer.data());
    }
    array.null_count = buffers_.empty() || buffers_[0].empty() ? 0 : -1;
    for (const auto& child : children_) {
      schemas_.push_back(&child->schema);
      arrays_.push_back(&child->array);
    }
    array.n_buffers = static_cast<int64_t>(places_.size());
    array.buffers = places_.data();
    schema.n_children = array.n_children = static_cast<int64_t>(children_.size());
    schema.children = schemas_.data();
    array.children = arrays_.data();
  }
  ArrowColumnValues(const ArrowColumnValues&) = delete;
  ArrowColumnValues& operator=(const ArrowColumnValues&) = delete;

  std::shared_ptr<ArrowColumnValues> SetDictionary(std::shared_ptr<ArrowColumnValues> self,
                                                   std::shared_ptr<ArrowColumnValues> words) {
    dictionary_ = std::move(words);
    schema.dictionary = &dictionary_->schema;
    array.dictionary = &dictionary_->array;
    return self;
  }

  ArrowSchema schema{};
  ArrowArray array{};

 private:
  const std::string name_, format_;
  const std::deque<std::string> buffers_;
  const std::vector<std::shared_ptr<ArrowColumnValues>> children_;
  std::vector<const void*> places_;
  std::vector<ArrowSchema*> schemas_;
  std::vector<ArrowArray*> arrays_;
  std::shared_ptr<ArrowColumnValues> dictionary_;
};

using ColumnPtr = std::shared_ptr<ArrowColumnValues>;

inline ColumnPtr Make(const std::string& name, const std::string& format, int64_t length,
                      Strings buffers, std::vector<ColumnPtr> children = {}) {
  return std::make_shared<ArrowColumnValues>(name, format, length, std::move(buffers),
                                             std::move(children));
}
template <typename T>
ColumnPtr Numbers(const std::string& name, const std::string& format, const std::vector<T>& values,
                  const std::string& valid = "") {
  return Make(name, format, static_cast<int64_t>(values.size()), {valid, Raw(values)});
}
inline ColumnPtr Texts(const std::string& name, const Strings& texts,
                       const std::string& valid = "") {
  std::vector<int32_t> offsets{0};
  std::string all;
  for (const std::string& text : texts) {
    all += text;
    offsets.push_back(static_cast<int32_t>(all.size()));
  }
  return Make(name, "u", static_cast<int64_t>(texts.size()), {valid, Raw(offsets), all + "?"});
}
inline ColumnPtr List(const std::string& name, const std::vector<int32_t>& offsets, ColumnPtr items,
                      const std::string& valid = "") {
  return Make(name, "+l", static_cast<int64_t>(offsets.size()) - 1, {valid, Raw(offsets)},
              {std::move(items)});
}
inline ColumnPtr Batch(std::vector<ColumnPtr> columns) {
  const int64_t length = columns[0]->array.length;
  return Make("", "+s", length, {""}, std::move(columns));
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_ARROW_ARRAYS_H_
