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
#include <utility>

#include "readers/packed_numbers.h"
#include "readers/snappy_block.h"

namespace millhopper {
namespace {

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
              PackedBytes* bytes) {
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
    PackedBytes bytes;
    if (!Expand(page, page.uncompressed_size(), &page_room_, &bytes)) return false;
    if (may_be_null_) {
      uint32_t size;
      if (page.definition_level_encoding() != parquet::Encoding::RLE ||
          !bytes.TakeLittleEndian(4, &size) || size > bytes.size() ||
          !AllAreSet({bytes.begin, bytes.begin + size}, values)) {
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

  bool DecodePlaces(PackedBytes bytes, size_t values, T* out) const {
    uint32_t bits;
    if (values == 0) return true;
    if (!bytes.TakeLittleEndian(1, &bits)) return false;
    const auto* const dictionary = reinterpret_cast<const T*>(dictionary_.begin);
    return LookUp(bytes, bits, values, dictionary, dictionary_.size() / sizeof(T), out);
  }

  arrow::MemoryPool* const pool_;
  const parquet::Compression::type compression_;
  const bool may_be_null_;
  std::unique_ptr<arrow::util::Codec> codec_;  // not for snappy
  std::shared_ptr<arrow::Buffer> dictionary_room_, page_room_;
  bool has_dictionary_ = false;
  PackedBytes dictionary_{};
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
  if (chunk->crypto_metadata() != nullptr) return nullptr;  // Arrow's reader says what it is
  if (chunk->num_values() != rows->num_rows() || chunk->num_values() <= 0) return nullptr;
  if (chunk->type() != footer.schema()->Column(column)->physical_type()) return nullptr;
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
