// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/flat_column.h"

#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/memory.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "readers/snappy_block.h"

namespace millhopper {
namespace {

constexpr int kMostBits = 32;  // of a place in a dictionary

// Bytes that are read from the front. What would go beyond their end fails.
struct Bytes {
  const uint8_t* begin;
  const uint8_t* end;

  size_t size() const { return static_cast<size_t>(end - begin); }

  // A number of 7 bits a byte, the lowest first.
  bool TakeVarint(uint32_t* number) {
    *number = 0;
    for (int shift = 0; shift < 32 && begin < end; shift += 7) {
      const uint32_t byte = *begin++;
      *number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool TakeLittleEndian(int bytes, uint32_t* number) {
    *number = 0;
    if (size() < static_cast<size_t>(bytes)) return false;
    std::memcpy(number, begin, static_cast<size_t>(bytes));
    begin += bytes;
    return true;
  }
};

// Goes through `values` numbers of `bits` bits in Parquet's hybrid of runs and packed numbers.
// Calls run(number, count) and packed(bytes, count), whose bytes hold at least as many. False if
// they end early or one of the two functions says so.
template <typename Run, typename Packed>
bool ForEachRun(Bytes bytes, int bits, size_t values, const Run& run, const Packed& packed) {
  while (values > 0) {
    uint32_t header;
    if (!bytes.TakeVarint(&header)) return false;
    if ((header & 1) == 0) {
      uint32_t number;
      if (!bytes.TakeLittleEndian((bits + 7) / 8, &number)) return false;
      const size_t count = std::min<size_t>(header >> 1, values);
      if (count == 0 || !run(number, count)) return false;
      values -= count;
    } else {
      const size_t groups = header >> 1;  // of eight numbers
      const size_t count = std::min(groups * 8, values);
      const size_t needed = (count * static_cast<size_t>(bits) + 7) / 8;
      if (count == 0 || needed > bytes.size()) return false;
      if (!packed(bytes, count)) return false;
      bytes.begin += std::min(groups * static_cast<size_t>(bits), bytes.size());
      values -= count;
    }
  }
  return true;
}

// Whether the definition levels, of one bit each, say that all values are there.
bool AllAreThere(Bytes levels, size_t values) {
  return ForEachRun(
      levels, 1, values, [](uint32_t level, size_t) { return level == 1; },
      [](Bytes bits, size_t count) {
        const size_t whole = count / 8;
        const auto all_set = [](uint8_t byte) { return byte == 0xff; };
        if (!std::all_of(bits.begin, bits.begin + whole, all_set)) return false;
        const uint8_t rest = static_cast<uint8_t>((1U << count % 8) - 1);
        return rest == 0 || (bits.begin[whole] & rest) == rest;
      });
}

// Writes the numbers of a dictionary at `values` packed places of `bits` bits. Returns whether all
// of the places are in it.
template <typename T>
bool LookUp(Bytes packed, int bits, size_t values, const T* dictionary, uint32_t size, T* out) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t most = 0;
  const auto look_up = [&](uint64_t word, size_t shift) {
    const uint64_t place = word >> shift & mask;
    most = std::max(most, place);
    return dictionary[place < size ? place : 0];
  };
  size_t bit = 0;
  size_t i = 0;
  if (packed.size() >= sizeof(uint64_t)) {
    const size_t last = (packed.size() - sizeof(uint64_t)) * 8;  // at which a word may begin
    for (; i < values && bit <= last; ++i, bit += static_cast<size_t>(bits)) {
      uint64_t word;
      std::memcpy(&word, packed.begin + bit / 8, sizeof(word));
      out[i] = look_up(word, bit % 8);
    }
  }
  for (; i < values; ++i, bit += static_cast<size_t>(bits)) {
    uint64_t word = 0;
    const size_t left = packed.size() - std::min(bit / 8, packed.size());
    std::memcpy(&word, packed.begin + bit / 8, std::min(left, sizeof(word)));
    out[i] = look_up(word, bit % 8);
  }
  return most < size;
}

// A column chunk that is being decoded into values of T.
template <typename T>
class Decoder {
 public:
  Decoder(const parquet::ReaderProperties& properties, parquet::Compression::type compression,
          const parquet::ColumnDescriptor& column)
      : pool_(properties.memory_pool()),
        compression_(compression),
        may_be_null_(column.max_definition_level() > 0) {
    if (is_compressed() && compression != parquet::Compression::SNAPPY) {
      PARQUET_ASSIGN_OR_THROW(codec_, arrow::util::Codec::Create(compression));
    }
  }

  // Writes the values of all pages, `left` of them, to `out`.
  bool Decode(parquet::PageReader* pages, size_t left, T* out) {
    while (left > 0) {
      const std::shared_ptr<parquet::Page> page = pages->NextPage();
      if (page == nullptr) return false;
      if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
        if (!ReadDictionary(static_cast<const parquet::DictionaryPage&>(*page))) return false;
        continue;
      }
      if (page->type() != parquet::PageType::DATA_PAGE) return false;
      const auto& data = static_cast<const parquet::DataPageV1&>(*page);
      const auto values = static_cast<size_t>(std::max(data.num_values(), 0));
      if (values > left || !DecodePage(data, values, out)) return false;
      out += values;
      left -= values;
    }
    return true;
  }

 private:
  bool is_compressed() const { return compression_ != parquet::Compression::UNCOMPRESSED; }

  // The bytes of a page: in `room` if they were compressed.
  bool Expand(const parquet::Page& page, int64_t expanded, std::shared_ptr<arrow::Buffer>* room,
              Bytes* bytes) {
    if (!is_compressed()) {
      *bytes = {page.data(), page.data() + page.size()};
      return page.size() == expanded;
    }
    if (expanded <= 0) return false;
    if (*room == nullptr || (*room)->size() < expanded) {
      PARQUET_ASSIGN_OR_THROW(*room, arrow::AllocateBuffer(expanded, pool_));
    }
    uint8_t* const out = (*room)->mutable_data();
    *bytes = {out, out + expanded};
    if (compression_ == parquet::Compression::SNAPPY) {
      return ExpandSnappyBlock(reinterpret_cast<const char*>(page.data()),
                               static_cast<size_t>(page.size()), reinterpret_cast<char*>(out),
                               static_cast<size_t>(expanded));
    }
    const auto written = codec_->Decompress(page.size(), page.data(), expanded, out);
    return written.ok() && *written == expanded;
  }

  bool ReadDictionary(const parquet::DictionaryPage& page) {
    const auto values = static_cast<size_t>(std::max(page.num_values(), 0));
    const bool plain = page.encoding() == parquet::Encoding::PLAIN ||
                       page.encoding() == parquet::Encoding::PLAIN_DICTIONARY;
    const int64_t bytes = static_cast<int64_t>(values * sizeof(T));
    if (!plain || values == 0 || has_dictionary_) return false;
    has_dictionary_ = Expand(page, bytes, &dictionary_room_, &dictionary_);
    // Without compression the bytes are those of the file, which need not be aligned.
    if (has_dictionary_ && !is_compressed()) {
      PARQUET_ASSIGN_OR_THROW(dictionary_room_, arrow::AllocateBuffer(bytes, pool_));
      std::memcpy(dictionary_room_->mutable_data(), dictionary_.begin, dictionary_.size());
      dictionary_.begin = dictionary_room_->data();
      dictionary_.end = dictionary_.begin + bytes;
    }
    return has_dictionary_;
  }

  bool DecodePage(const parquet::DataPageV1& page, size_t values, T* out) {
    Bytes bytes;
    if (!Expand(page, page.uncompressed_size(), &page_room_, &bytes)) return false;
    if (may_be_null_) {
      uint32_t size;
      if (page.definition_level_encoding() != parquet::Encoding::RLE ||
          !bytes.TakeLittleEndian(4, &size) || size > bytes.size() ||
          !AllAreThere({bytes.begin, bytes.begin + size}, values)) {
        return false;
      }
      bytes.begin += size;
    }
    switch (page.encoding()) {
      case parquet::Encoding::PLAIN:
        if (bytes.size() < values * sizeof(T)) return false;
        if (values > 0) std::memcpy(out, bytes.begin, values * sizeof(T));
        return true;
      case parquet::Encoding::PLAIN_DICTIONARY:
      case parquet::Encoding::RLE_DICTIONARY:
        return has_dictionary_ && DecodePlaces(bytes, values, out);
      default:
        return false;
    }
  }

  bool DecodePlaces(Bytes bytes, size_t values, T* out) const {
    uint32_t bits;
    if (values == 0) return true;
    if (!bytes.TakeLittleEndian(1, &bits) || bits > kMostBits) return false;
    const auto* const dictionary = reinterpret_cast<const T*>(dictionary_.begin);
    const auto size = static_cast<uint32_t>(dictionary_.size() / sizeof(T));
    return ForEachRun(
        bytes, static_cast<int>(bits), values,
        [&](uint32_t place, size_t count) {
          if (place >= size) return false;
          std::fill_n(out, count, dictionary[place]);
          out += count;
          return true;
        },
        [&](Bytes packed, size_t count) {
          T* const begin = out;
          out += count;
          return LookUp(packed, static_cast<int>(bits), count, dictionary, size, begin);
        });
  }

  arrow::MemoryPool* const pool_;
  const parquet::Compression::type compression_;
  const bool may_be_null_;
  std::unique_ptr<arrow::util::Codec> codec_;  // not for snappy
  std::shared_ptr<arrow::Buffer> dictionary_room_, page_room_;
  bool has_dictionary_ = false;
  Bytes dictionary_{};
};

template <typename T>
std::shared_ptr<arrow::Buffer> Decode(parquet::PageReader* pages,
                                      const parquet::ColumnChunkMetaData& chunk,
                                      const parquet::ColumnDescriptor& column,
                                      const parquet::ReaderProperties& properties) {
  const int64_t bytes = chunk.num_values() * static_cast<int64_t>(sizeof(T));
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> values,
                          arrow::AllocateBuffer(bytes, properties.memory_pool()));
  Decoder<T> decoder(properties, chunk.compression(), column);
  auto* const out = reinterpret_cast<T*>(values->mutable_data());
  if (!decoder.Decode(pages, static_cast<size_t>(chunk.num_values()), out)) return nullptr;
  return values;
}

}  // namespace

std::shared_ptr<arrow::DataType> FlatTypeOf(const parquet::arrow::SchemaField& field,
                                            const parquet::FileMetaData& footer) {
  if (!field.is_leaf()) return nullptr;
  const parquet::ColumnDescriptor& column = *footer.schema()->Column(field.column_index);
  if (column.max_repetition_level() > 0 || column.max_definition_level() > 1) return nullptr;
  const std::shared_ptr<arrow::DataType>& type = field.field->type();
  const auto if_stored_as = [&](parquet::Type::type stored) {
    return column.physical_type() == stored ? type : nullptr;
  };
  switch (type->id()) {
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
      return if_stored_as(parquet::Type::INT32);
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
      return if_stored_as(parquet::Type::INT64);
    case arrow::Type::FLOAT:
      return if_stored_as(parquet::Type::FLOAT);
    case arrow::Type::DOUBLE:
      return if_stored_as(parquet::Type::DOUBLE);
    default:
      return nullptr;
  }
}

std::shared_ptr<arrow::Array> ReadFlatColumn(arrow::io::RandomAccessFile* file,
                                             const parquet::FileMetaData& footer, int group,
                                             int column,
                                             const std::shared_ptr<arrow::DataType>& type,
                                             const parquet::ReaderProperties& properties) {
  const std::unique_ptr<parquet::RowGroupMetaData> rows = footer.RowGroup(group);
  const auto chunk = rows->ColumnChunk(column);
  if (chunk->num_values() != rows->num_rows() || chunk->num_values() <= 0) return nullptr;
  int64_t begin = chunk->data_page_offset();
  if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
    begin = std::min(begin, chunk->dictionary_page_offset());
  }
  try {
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> stored,
                            file->ReadAt(begin, chunk->total_compressed_size()));
    const parquet::ColumnDescriptor& descriptor = *footer.schema()->Column(column);
    // The pages come as they are stored, with their checksums checked.
    const auto pages = parquet::PageReader::Open(
        std::make_shared<arrow::io::BufferReader>(std::move(stored)), chunk->num_values(),
        parquet::Compression::UNCOMPRESSED, properties, descriptor);
    std::shared_ptr<arrow::Buffer> values =
        type->bit_width() == 64 ? Decode<uint64_t>(pages.get(), *chunk, descriptor, properties)
                                : Decode<uint32_t>(pages.get(), *chunk, descriptor, properties);
    if (values == nullptr) return nullptr;
    return arrow::MakeArray(
        arrow::ArrayData::Make(type, chunk->num_values(), {nullptr, std::move(values)}, 0));
  } catch (const parquet::ParquetStatusException&) {
    throw;  // reading failed, or there is no memory
  } catch (const parquet::ParquetException&) {
    return nullptr;
  }
}

}  // namespace millhopper
