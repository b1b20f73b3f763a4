// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/named_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "framework/base/error.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tests/bytes.h"
#include "tests/files/field_files.h"
#include "tests/files/record_files.h"

namespace millhopper {
namespace {

// The parts of a name.
struct NamedFile {
  std::string kind;
  int64_t first = 0;
  int64_t records = 0;
  int64_t chunk_records = 1;
  std::string dialect, compressor, line_end;
  std::string format;  // of one with fields
  int64_t bad_chunk = -1;
  int64_t odd_record = -1;
  bool compressed = false;
};

NamedFile Parse(const std::string& path) {
  std::string name = std::filesystem::path(path).filename();
  if (name == "index.json") name = std::filesystem::path(path).parent_path().filename();
  std::istringstream stem(name.substr(0, name.find('.')));
  std::vector<std::string> parts;
  for (std::string part; std::getline(stem, part, '_');) parts.push_back(part);
  NamedFile file;
  file.kind = parts.at(0);
  file.first = std::stoll(parts.at(1));
  file.records = std::stoll(parts.at(2));
  file.compressed = name.size() > 3 && name.compare(name.size() - 3, 3, ".gz") == 0;
  if (file.kind == "lines") file.line_end = parts.at(3);
  if (file.kind == "named") {
    const std::string ends = name.substr(name.find('.') + 1);
    file.format = ends.substr(0, ends.find('.'));
    file.chunk_records = std::stoll(parts.at(3));
  }
  if (file.kind != "numbers" && file.kind != "ragged") return file;
  file.chunk_records = std::stoll(parts.at(3));
  file.dialect = parts.at(4);
  file.compressor = parts.at(5);
  if (parts.size() > 6)
    (parts[6] == "bad" ? file.bad_chunk : file.odd_record) = std::stoll(parts[7]);
  return file;
}

ElementValue RecordAt(const NamedFile& file, int64_t i) {
  const int64_t n = file.first + i;
  if (file.kind == "numbers") {
    const auto value = static_cast<float>(n);
    return {SlotOf<float>({1, 2}, {value, -value}), SlotOf<int64_t>({1, 1}, {n})};
  }
  if (file.kind == "ragged") {
    const int64_t length = n % 4;
    return {SlotOf({length, 1}, std::vector<int64_t>(static_cast<size_t>(length), n),
                   {{0, static_cast<uint64_t>(length)}})};
  }
  if (file.kind == "lines") {
    std::string line = std::to_string(n);
    if (n % 5 == 4 && i + 1 < file.records) line.clear();
    return {SlotOf({static_cast<int64_t>(line.size())},
                   std::vector<uint8_t>(line.begin(), line.end()), {{0, line.size()}})};
  }
  if (file.kind == "images") {
    const auto value = static_cast<int16_t>(n);
    return {SlotOf<int16_t>({1, 2}, {value, static_cast<int16_t>(-value)})};
  }
  if (file.kind == "labels") return {SlotOf<int64_t>({1, 1}, {n % 256})};
  Require(file.kind == "fields", "no kind of file: ", file.kind);
  const auto byte = static_cast<uint8_t>(n % 256);
  return {SlotOf<int64_t>({1, 1}, {n}), SlotOf<uint8_t>({2}, {byte, byte})};
}

void MakeRecordIO(const NamedFile& file, const std::string& path) {
  RecordIOOptions options;
  options.dialect = RecordIODialectFromName(file.dialect);
  options.compressor = RecordIOCompressorFromName(file.compressor);
  options.chunk_records = static_cast<uint32_t>(file.chunk_records);
  RecordIOWriter writer(path, options);
  for (int64_t i = 0; i < file.records; ++i) {
    ElementValue record = RecordAt(file, i);
    if (i == file.odd_record) record[0] = SlotOf<float>({1, 3}, {0, 0, 0});
    std::vector<LoDTensor> tensors;
    for (const SlotValue& slot : record) {
      tensors.emplace_back();
      tensors.back().Allocate(slot.dtype, Dims(slot.dims));
      slot.bytes.copy(static_cast<char*>(tensors.back().mutable_raw_data()), slot.bytes.size());
      tensors.back().set_lod(slot.lod);
    }
    writer.Write(RecordOf(tensors));
  }
  writer.Close();
  if (file.bad_chunk < 0) return;
  std::string bytes = ReadFile(path);
  size_t end = 0;
  for (int64_t chunk = 0; chunk <= file.bad_chunk; ++chunk) {
    end += kRecordIOHeaderBytes +
           ReadRecordIOHeader(bytes.data() + end, options.dialect).payload_bytes;
  }
  WriteFile(path, FlipBit(bytes, 8 * (end - 1)));
}

std::string PlainBytes(const NamedFile& file) {
  std::string bytes;
  if (file.kind == "images") {
    bytes =
        FromHex("0000 0b02") + BigEndian(static_cast<uint64_t>(file.records), 4) + BigEndian(2, 4);
  } else if (file.kind == "labels") {
    bytes = FromHex("0000 0801") + BigEndian(static_cast<uint64_t>(file.records), 4);
  }
  for (int64_t i = 0; i < file.records; ++i) {
    const auto n = static_cast<uint64_t>(file.first + i);
    if (file.kind == "images") {
      bytes += BigEndian(n, 2) + BigEndian(uint64_t{0} - n, 2);
    } else if (file.kind == "labels") {
      bytes += BigEndian(n, 1);
    } else {
      for (const SlotValue& slot : RecordAt(file, i)) bytes += slot.bytes;
    }
    if (file.kind != "lines" || (file.line_end == "open" && i + 1 == file.records)) continue;
    bytes += file.line_end == "crlf" ? "\r\n" : "\n";
  }
  return bytes;
}

// Adds record i, unless a field leaves it out.
void AddRecord(const NamedFile& file, const std::vector<std::string>& fields, int64_t i,
               ExpectedStream* stream) {
  ExpectedElement element;
  if (file.kind != "named") {
    element = {RecordAt(file, i), i == file.odd_record ? "float32 [1, 3] was found" : ""};
  } else if (!RecordWithFields(FieldFormatOf(file.format), fields, file.first + i,
                               &element.value)) {
    return;
  }
  stream->elements.push_back(std::move(element));
}

// Whether it is known how many records its chunks have before these are read.
bool TellsRecords(const NamedFile& file, const std::vector<std::string>& fields) {
  const auto leaves_out = [](const std::string& field) {
    return field.find("missing=skip") != std::string::npos;
  };
  if (file.kind == "named") {
    return FieldFormatOf(file.format).tells_records &&
           std::none_of(fields.begin(), fields.end(), leaves_out);
  }
  return file.kind != "lines";
}

}  // namespace

ExpectedStream ContentOf(const std::string& path, const std::vector<std::string>& fields) {
  const NamedFile file = Parse(path);
  ExpectedStream stream;
  for (int64_t i = 0; i < file.records; ++i) {
    if (file.bad_chunk >= 0 && i == file.bad_chunk * file.chunk_records) {
      stream.error = StrCat("chunk ", file.bad_chunk, " at byte");
      break;
    }
    AddRecord(file, fields, i, &stream);
  }
  return stream;
}

std::vector<ExpectedChunk> ChunksOf(const std::string& path,
                                    const std::vector<std::string>& fields) {
  NamedFile file = Parse(path);
  // All others are smaller than one.
  const bool has_chunks = file.kind == "numbers" || file.kind == "ragged" ||
                          (file.kind == "named" && FieldFormatOf(file.format).has_chunks);
  if (!has_chunks) file.chunk_records = file.records;
  const bool tells = TellsRecords(file, fields);
  const int64_t bad = file.bad_chunk;
  std::vector<ExpectedChunk> chunks;
  for (int64_t i = 0; i < file.records; ++i) {
    if (i % file.chunk_records == 0) {
      chunks.emplace_back();
      if (tells) chunks.back().records = 0;
      if (i / file.chunk_records == bad) {
        chunks.back().content.error = StrCat("chunk ", bad, " at byte");
      }
    }
    ExpectedChunk& chunk = chunks.back();
    if (chunk.records) ++*chunk.records;
    if (chunk.content.error.empty()) AddRecord(file, fields, i, &chunk.content);
  }
  if (chunks.empty() && file.kind == "named" && FieldFormatOf(file.format).has_header) {
    chunks.emplace_back();
    if (tells) chunks.back().records = 0;
  }
  return chunks;
}

void MakeNamedFile(const std::string& path) {
  if (std::filesystem::exists(path)) return;
  const NamedFile file = Parse(path);
  if (file.kind == "numbers" || file.kind == "ragged") {
    MakeRecordIO(file, path);
    return;
  }
  if (file.kind == "named") {
    WriteFieldFile(FieldFormatOf(file.format), path, file.first, file.records, file.chunk_records);
    if (file.compressed) WriteFile(path, Gzipped(ReadFile(path)));
    return;
  }
  const std::string bytes = PlainBytes(file);
  WriteFile(path, file.compressed ? Gzipped(bytes) : bytes);
}

}  // namespace millhopper
