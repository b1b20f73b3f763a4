// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/flat_column.h"

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
#include <parquet/statistics.h>

#include <algorithm>
#include <utility>

#include "readers/arrow/flat_pages.h"
#include "readers/support/snappy_block.h"

namespace millhopper {
namespace {

FlatPageKind KindOf(parquet::Encoding::type encoding) {
  switch (encoding) {
    case parquet::Encoding::PLAIN:
      return FlatPageKind::kNumbers;
    case parquet::Encoding::PLAIN_DICTIONARY:
    case parquet::Encoding::RLE_DICTIONARY:
      return FlatPageKind::kPlaces;
    default:
      return FlatPageKind::kOther;
  }
}

// What the header of a page says.
FlatPage AsFlatPage(const parquet::Page& page) {
  FlatPage flat;
  flat.stored = {page.data(), page.data() + page.size()};
  if (page.type() == parquet::PageType::DICTIONARY_PAGE) {
    const auto& dictionary = static_cast<const parquet::DictionaryPage&>(page);
    flat.values = dictionary.num_values();
    if (dictionary.encoding() == parquet::Encoding::PLAIN ||
        dictionary.encoding() == parquet::Encoding::PLAIN_DICTIONARY) {
      flat.kind = FlatPageKind::kDictionary;
    }
  } else if (page.type() == parquet::PageType::DATA_PAGE) {
    const auto& data = static_cast<const parquet::DataPageV1&>(page);
    flat.values = data.num_values();
    flat.expanded = data.uncompressed_size();
    flat.levels_packed = data.definition_level_encoding() == parquet::Encoding::RLE;
    flat.kind = KindOf(data.encoding());
  } else if (page.type() == parquet::PageType::DATA_PAGE_V2) {
    const auto& data = static_cast<const parquet::DataPageV2&>(page);
    const int64_t levels = data.definition_levels_byte_length();
    if (data.repetition_levels_byte_length() != 0 || levels < 0 || levels > page.size()) {
      return flat;
    }
    flat.levels = PackedBytes{page.data(), page.data() + levels};
    flat.stored.begin += levels;
    flat.values = data.num_values();
    flat.expanded = data.uncompressed_size() - levels;
    flat.compressed = data.is_compressed();
    flat.kind = KindOf(data.encoding());
  }
  return flat;
}

FlatPageTools ToolsFor(parquet::Compression::type compression, arrow::MemoryPool* pool) {
  FlatPageTools tools;
  tools.allocate = [pool](size_t bytes) {
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> buffer,
                            arrow::AllocateBuffer(static_cast<int64_t>(bytes), pool));
    return std::shared_ptr<uint8_t>(buffer, buffer->mutable_data());
  };
  if (compression == parquet::Compression::SNAPPY) {
    tools.expand = [](PackedBytes stored, uint8_t* out, size_t expanded) {
      return ExpandSnappyBlock(reinterpret_cast<const char*>(stored.begin), stored.size(),
                               reinterpret_cast<char*>(out), expanded);
    };
  } else if (compression != parquet::Compression::UNCOMPRESSED) {
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::util::Codec> codec,
                            arrow::util::Codec::Create(compression));
    tools.expand = [codec](PackedBytes stored, uint8_t* out, size_t expanded) {
      const auto size = static_cast<int64_t>(expanded);
      const auto written =
          codec->Decompress(static_cast<int64_t>(stored.size()), stored.begin, size, out);
      return written.ok() && *written == size;
    };
  }
  return tools;
}

bool HasNulls(const parquet::ColumnChunkMetaData& chunk) {
  const std::shared_ptr<parquet::Statistics> statistics = chunk.statistics();
  return statistics != nullptr && statistics->HasNullCount() && statistics->null_count() > 0;
}

// Of pages, or of their levels.
bool IsFlatEncoding(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::RLE || encoding == parquet::Encoding::BIT_PACKED ||
         KindOf(encoding) != FlatPageKind::kOther;
}

// Decides by the footer alone, so that a column for Arrow's reader is not read twice.
bool IsFlat(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column,
            int64_t rows) {
  return chunk.crypto_metadata() == nullptr &&  // Arrow's reader says what it is
         chunk.num_values() == rows && rows > 0 && chunk.type() == column.physical_type() &&
         !HasNulls(chunk) &&
         std::all_of(chunk.encodings().begin(), chunk.encodings().end(), IsFlatEncoding);
}

template <typename T>
std::shared_ptr<arrow::Buffer> Decode(parquet::PageReader* pages,
                                      const parquet::ColumnChunkMetaData& chunk,
                                      const parquet::ColumnDescriptor& column,
                                      const parquet::ReaderProperties& properties) {
  const int64_t bytes = chunk.num_values() * static_cast<int64_t>(sizeof(T));
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> values,
                          arrow::AllocateBuffer(bytes, properties.memory_pool()));
  FlatPages<T> decoder(ToolsFor(chunk.compression(), properties.memory_pool()),
                       column.max_definition_level() > 0, static_cast<size_t>(chunk.num_values()),
                       reinterpret_cast<T*>(values->mutable_data()));
  std::shared_ptr<parquet::Page> dictionary;  // stays as long as the decoder
  while (!decoder.is_done()) {
    std::shared_ptr<parquet::Page> page = pages->NextPage();
    if (page == nullptr || !decoder.Take(AsFlatPage(*page))) return nullptr;
    if (page->type() == parquet::PageType::DICTIONARY_PAGE) dictionary = std::move(page);
  }
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
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return if_stored_as(parquet::Type::INT32);
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
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
  const parquet::ColumnDescriptor& descriptor = *footer.schema()->Column(column);
  if (!IsFlat(*chunk, descriptor, rows->num_rows())) return nullptr;
  int64_t begin = chunk->data_page_offset();
  if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
    begin = std::min(begin, chunk->dictionary_page_offset());
  }
  try {
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> stored,
                            file->ReadAt(begin, chunk->total_compressed_size()));
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
