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
#include <parquet/statistics.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "readers/flat_pages.h"
#include "readers/snappy_block.h"

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

std::shared_ptr<uint8_t> Allocate(size_t bytes, arrow::MemoryPool* pool) {
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> buffer,
                          arrow::AllocateBuffer(static_cast<int64_t>(bytes), pool));
  return {buffer, buffer->mutable_data()};
}

SnappyBlock AsBlock(PackedBytes stored, uint8_t* out, size_t expanded) {
  return {reinterpret_cast<const char*>(stored.begin), stored.size(), reinterpret_cast<char*>(out),
          expanded};
}

FlatPageTools ToolsFor(parquet::Compression::type compression, arrow::MemoryPool* pool) {
  FlatPageTools tools;
  tools.allocate = [pool](size_t bytes) { return Allocate(bytes, pool); };
  if (compression == parquet::Compression::SNAPPY) {
    tools.expand = [](PackedBytes stored, uint8_t* out, size_t expanded) {
      return ExpandSnappyBlock(AsBlock(stored, out, expanded));
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

// A column of a row group whose pages have been found, and the first of them read.
class OpenColumn {
 public:
  // Throws ParquetException for what makes no sense.
  OpenColumn(arrow::io::RandomAccessFile* file, const parquet::FileMetaData& footer,
             const parquet::RowGroupMetaData& rows, const FlatColumn& column,
             const parquet::ReaderProperties& properties)
      : type_(column.type),
        descriptor_(*footer.schema()->Column(column.number)),
        chunk_(rows.ColumnChunk(column.number)),
        pool_(properties.memory_pool()) {
    if (!IsFlat(rows)) return;
    int64_t begin = chunk_->data_page_offset();
    if (chunk_->has_dictionary_page() && chunk_->dictionary_page_offset() > 0) {
      begin = std::min(begin, chunk_->dictionary_page_offset());
    }
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> stored,
                            file->ReadAt(begin, chunk_->total_compressed_size()));
    // The pages come as they are stored, with their checksums checked.
    pages_ = parquet::PageReader::Open(std::make_shared<arrow::io::BufferReader>(std::move(stored)),
                                       chunk_->num_values(), parquet::Compression::UNCOMPRESSED,
                                       properties, descriptor_);
    first_page_ = pages_->NextPage();
    if (first_page_ != nullptr) first_ = AsFlatPage(*first_page_);
  }

  // If both begin with a dictionary that is a snappy block, expands these together.
  static void ExpandDictionaries(OpenColumn* a, OpenColumn* b) {
    if (!a->BeginsWithSnappy() || !b->BeginsWithSnappy()) return;
    const SnappyBlock in_a = a->TakeDictionaryRoom(), in_b = b->TakeDictionaryRoom();
    if (!ExpandSnappyBlocks(in_a, in_b)) return;  // each is tried again by itself
    a->first_.stored = {a->dictionary_.get(), a->dictionary_.get() + in_a.expanded};
    b->first_.stored = {b->dictionary_.get(), b->dictionary_.get() + in_b.expanded};
    a->first_.compressed = b->first_.compressed = false;
  }

  // Null if the pages are not those of a flat column. Throws ParquetException for what makes no
  // sense.
  std::shared_ptr<arrow::Array> Decode() {
    std::shared_ptr<arrow::Buffer> values =
        type_->bit_width() == 64 ? DecodeAs<uint64_t>() : DecodeAs<uint32_t>();
    if (values == nullptr) return nullptr;
    return arrow::MakeArray(
        arrow::ArrayData::Make(type_, chunk_->num_values(), {nullptr, std::move(values)}, 0));
  }

 private:
  // As far as the footer tells.
  bool IsFlat(const parquet::RowGroupMetaData& rows) const {
    return chunk_->crypto_metadata() == nullptr &&  // Arrow's reader says what it is
           chunk_->num_values() == rows.num_rows() && chunk_->num_values() > 0 &&
           chunk_->type() == descriptor_.physical_type() && !HasNulls() &&
           std::all_of(chunk_->encodings().begin(), chunk_->encodings().end(), IsFlatEncoding);
  }

  bool HasNulls() const {
    const std::shared_ptr<parquet::Statistics> statistics = chunk_->statistics();
    return statistics != nullptr && statistics->HasNullCount() && statistics->null_count() > 0;
  }

  // Of pages, or of their levels.
  static bool IsFlatEncoding(parquet::Encoding::type encoding) {
    return encoding == parquet::Encoding::RLE || encoding == parquet::Encoding::BIT_PACKED ||
           KindOf(encoding) != FlatPageKind::kOther;
  }

  size_t value_bytes() const { return static_cast<size_t>(type_->bit_width()) / 8; }

  bool BeginsWithSnappy() const {
    return chunk_->compression() == parquet::Compression::SNAPPY &&
           first_.kind == FlatPageKind::kDictionary && first_.values > 0 &&
           first_.values <= chunk_->num_values();
  }

  SnappyBlock TakeDictionaryRoom() {
    const size_t expanded = static_cast<size_t>(first_.values) * value_bytes();
    dictionary_ = Allocate(expanded, pool_);
    return AsBlock(first_.stored, dictionary_.get(), expanded);
  }

  template <typename T>
  std::shared_ptr<arrow::Buffer> DecodeAs() {
    if (first_page_ == nullptr) return nullptr;
    const auto values = static_cast<size_t>(chunk_->num_values());
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> decoded,
                            arrow::AllocateBuffer(static_cast<int64_t>(values * sizeof(T)), pool_));
    FlatPages<T> decoder(ToolsFor(chunk_->compression(), pool_),
                         descriptor_.max_definition_level() > 0, values,
                         reinterpret_cast<T*>(decoded->mutable_data()));
    if (!decoder.Take(first_)) return nullptr;
    while (!decoder.is_done()) {
      const std::shared_ptr<parquet::Page> page = pages_->NextPage();
      if (page == nullptr || !decoder.Take(AsFlatPage(*page))) return nullptr;
    }
    return decoded;
  }

  const std::shared_ptr<arrow::DataType> type_;
  const parquet::ColumnDescriptor& descriptor_;
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk_;
  arrow::MemoryPool* const pool_;
  std::unique_ptr<parquet::PageReader> pages_;
  std::shared_ptr<parquet::Page> first_page_;  // null if the column is not flat
  FlatPage first_;
  std::shared_ptr<uint8_t> dictionary_;
};

// Calls a function; what makes no sense is left to Arrow's reader.
template <typename Function>
void UnlessDamaged(const Function& function) {
  try {
    function();
  } catch (const parquet::ParquetStatusException&) {
    throw;  // reading failed, or there is no memory
  } catch (const parquet::ParquetException&) {
  }
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

std::vector<std::shared_ptr<arrow::Array>> ReadFlatColumns(
    arrow::io::RandomAccessFile* file, const parquet::FileMetaData& footer, int group,
    const std::vector<FlatColumn>& columns, const parquet::ReaderProperties& properties) {
  const std::unique_ptr<parquet::RowGroupMetaData> rows = footer.RowGroup(group);
  std::vector<std::shared_ptr<arrow::Array>> arrays(columns.size());
  for (size_t begin = 0; begin < columns.size(); begin += 2) {
    std::optional<OpenColumn> open[2];
    const size_t count = std::min<size_t>(2, columns.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      UnlessDamaged([&] { open[i].emplace(file, footer, *rows, columns[begin + i], properties); });
    }
    if (open[0] && open[1]) OpenColumn::ExpandDictionaries(&*open[0], &*open[1]);
    for (size_t i = 0; i < count; ++i) {
      if (open[i]) UnlessDamaged([&] { arrays[begin + i] = open[i]->Decode(); });
      open[i].reset();
    }
  }
  return arrays;
}

}  // namespace millhopper
