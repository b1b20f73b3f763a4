// SPDX-License-Identifier: Apache-2.0
// Parquet files, written without Arrow: plain values, uncompressed, a page for each column of a row
// group. Source: https://github.com/apache/parquet-format, parquet.thrift and Encodings.md.
#ifndef MILLHOPPER_TESTS_FILES_PARQUET_FILES_H_
#define MILLHOPPER_TESTS_FILES_PARQUET_FILES_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/base/error.h"
#include "tests/files/mxnet_records.h"
#include "tests/framework/program/program_bytes.h"

namespace millhopper {

// A struct in Thrift's compact protocol. Fields are added by ascending numbers.
class ThriftStruct {
 public:
  ThriftStruct& Int(int field, int64_t value, int size = 32) {
    Begin(field, size == 32 ? 5 : 6);
    bytes_ += ZigZag(value);
    return *this;
  }
  ThriftStruct& Text(int field, const std::string& text) {
    Begin(field, 8);
    bytes_ += Varint(text.size()) + text;
    return *this;
  }
  ThriftStruct& Struct(int field, const ThriftStruct& inner) {
    Begin(field, 12);
    bytes_ += inner.Bytes();
    return *this;
  }
  // `type` is 5 for i32, 8 for texts, 12 for structs.
  ThriftStruct& List(int field, int type, const std::vector<std::string>& items) {
    Begin(field, 9);
    if (items.size() < 15) {
      bytes_ += static_cast<char>(items.size() << 4 | static_cast<size_t>(type));
    } else {
      bytes_ += static_cast<char>(0xf0 | type) + Varint(items.size());
    }
    for (const std::string& item : items) bytes_ += item;
    return *this;
  }
  std::string Bytes() const { return bytes_ + '\0'; }

  static std::string ZigZag(int64_t value) {
    return Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  static std::string TextItem(const std::string& text) { return Varint(text.size()) + text; }

 private:
  void Begin(int field, int type) {
    bytes_ += static_cast<char>((field - last_) << 4 | type);
    last_ = field;
  }

  std::string bytes_;
  int last_ = 0;
};

// Columns are added in one order, that of the first row group.
class ParquetWriter {
 public:
  void BeginRowGroup(int64_t rows) {
    EndRowGroup();
    rows_ = rows;
    in_group_ = true;
  }

  // The next `children` columns are children of a struct.
  void BeginStruct(const std::string& name, int children) {
    struct_ = name;
    in_struct_ = children;
    if (groups_.empty()) {
      AddNode(ThriftStruct().Int(3, kRequired).Text(4, name).Int(5, children));
      ++outermost_;
    }
  }
  template <typename T>
  void Add(const std::string& name, const std::vector<T>& values) {
    AddLeaf<T>(name, kRequired);
    AddPage(TypeOf<T>(), {PathOf(name)}, Plain(values), "", static_cast<int64_t>(values.size()));
  }
  void AddTexts(const std::string& name, const std::vector<std::string>& texts) {
    AddLeaf<std::string>(name, kRequired);
    std::string values;
    for (const std::string& text : texts) {
      values += LittleEndian(static_cast<uint32_t>(text.size())) + text;
    }
    AddPage(kByteArray, {PathOf(name)}, values, "", static_cast<int64_t>(texts.size()));
  }
  // Values where there[i] is 1.
  template <typename T>
  void AddOptional(const std::string& name, const std::vector<T>& values,
                   const std::vector<int>& there) {
    AddLeaf<T>(name, kOptional);
    AddPage(TypeOf<T>(), {PathOf(name)}, Plain(values), Levels(there),
            static_cast<int64_t>(there.size()));
  }
  // Lists of sizes[i] values each, 1 at least.
  template <typename T>
  void AddLists(const std::string& name, const std::vector<T>& items,
                const std::vector<int>& sizes) {
    if (groups_.empty()) {
      AddNode(ThriftStruct().Int(3, kRequired).Text(4, name).Int(5, 1).Int(6, kListType));
      AddNode(ThriftStruct().Int(3, kRepeated).Text(4, "list").Int(5, 1));
      AddNode(ThriftStruct().Int(1, TypeOf<T>()).Int(3, kRequired).Text(4, "element"));
      ++outermost_;
    }
    std::vector<int> repeats;
    for (const int size : sizes) {
      for (int i = 0; i < size; ++i) repeats.push_back(i == 0 ? 0 : 1);
    }
    AddPage(TypeOf<T>(), {name, "list", "element"}, Plain(items),
            Levels(repeats) + Levels(std::vector<int>(repeats.size(), 1)),
            static_cast<int64_t>(repeats.size()));
  }

  // The bytes of the file.
  std::string Finish() {
    EndRowGroup();
    std::vector<std::string> schema = {ThriftStruct().Text(4, "schema").Int(5, outermost_).Bytes()};
    schema.insert(schema.end(), nodes_.begin(), nodes_.end());
    const std::string footer = ThriftStruct()
                                   .Int(1, 2)
                                   .List(2, 12, schema)
                                   .Int(3, all_rows_, 64)
                                   .List(4, 12, groups_)
                                   .Bytes();
    return file_ + footer + LittleEndian(static_cast<uint32_t>(footer.size())) + "PAR1";
  }

 private:
  static constexpr int kRequired = 0, kOptional = 1, kRepeated = 2;
  static constexpr int kByteArray = 6, kListType = 3;
  static constexpr int kPlain = 0, kRle = 3;

  template <typename T>
  static constexpr int TypeOf() {
    if constexpr (std::is_same_v<T, int32_t>) return 1;
    if constexpr (std::is_same_v<T, int64_t>) return 2;
    if constexpr (std::is_same_v<T, float>) return 4;
    return kByteArray;
  }
  template <typename T>
  static std::string Plain(const std::vector<T>& values) {
    std::string bytes;
    for (const T value : values) bytes += LittleEndian(value);
    return bytes;
  }
  // Levels of 0 and 1, each its own run.
  static std::string Levels(const std::vector<int>& levels) {
    std::string runs;
    for (const int level : levels) runs += Varint(2) + static_cast<char>(level);
    return LittleEndian(static_cast<uint32_t>(runs.size())) + runs;
  }

  std::vector<std::string> PathOf(const std::string& name) {
    if (in_struct_ == 0) return {name};
    --in_struct_;
    return {struct_, name};
  }
  template <typename T>
  void AddLeaf(const std::string& name, int repetition) {
    if (!groups_.empty()) return;
    AddNode(ThriftStruct().Int(1, TypeOf<T>()).Int(3, repetition).Text(4, name));
    if (in_struct_ == 0) ++outermost_;
  }
  void AddNode(const ThriftStruct& node) { nodes_.push_back(node.Bytes()); }

  void AddPage(int type, const std::vector<std::string>& path, const std::string& values,
               const std::string& levels, int64_t count) {
    const std::string content = levels + values;
    const auto size = static_cast<int64_t>(content.size());
    const ThriftStruct data = ThriftStruct().Int(1, count).Int(2, kPlain).Int(3, kRle).Int(4, kRle);
    const std::string page =
        ThriftStruct().Int(1, 0).Int(2, size).Int(3, size).Struct(5, data).Bytes() + content;
    const auto begin = static_cast<int64_t>(file_.size());
    file_ += page;
    std::vector<std::string> names;
    for (const std::string& name : path) names.push_back(ThriftStruct::TextItem(name));
    const auto bytes = static_cast<int64_t>(page.size());
    columns_.push_back(
        ThriftStruct()
            .Int(2, begin, 64)
            .Struct(3, ThriftStruct()
                           .Int(1, type)
                           .List(2, 5, {ThriftStruct::ZigZag(kPlain), ThriftStruct::ZigZag(kRle)})
                           .List(3, 8, names)
                           .Int(4, 0)
                           .Int(5, count, 64)
                           .Int(6, bytes, 64)
                           .Int(7, bytes, 64)
                           .Int(9, begin, 64))
            .Bytes());
    group_bytes_ += bytes;
  }

  void EndRowGroup() {
    if (!in_group_) return;
    groups_.push_back(
        ThriftStruct().List(1, 12, columns_).Int(2, group_bytes_, 64).Int(3, rows_, 64).Bytes());
    all_rows_ += rows_;
    columns_.clear();
    group_bytes_ = 0;
    in_group_ = false;
  }

  std::string file_ = "PAR1";
  std::vector<std::string> nodes_;  // of the schema, but its root
  int outermost_ = 0;
  std::string struct_;
  int in_struct_ = 0;  // how many columns of it are still to come
  std::vector<std::string> groups_, columns_;
  int64_t rows_ = 0, all_rows_ = 0, group_bytes_ = 0;
  bool in_group_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_PARQUET_FILES_H_
