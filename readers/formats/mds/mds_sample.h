// SPDX-License-Identifier: Apache-2.0
// The samples of MDS shards, read from their bytes straight into rows (Source: mosaicml-streaming
// 0.13, streaming/base/format/mds/encodings.py).
#ifndef MILLHOPPER_READERS_FORMATS_MDS_MDS_SAMPLE_H_
#define MILLHOPPER_READERS_FORMATS_MDS_MDS_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"
#include "readers/formats/mds/mds_index.h"

namespace millhopper {

// How a column's bytes are to be understood.
struct MdsEncoding {
  enum class Kind {
    kBytes,   // as they are: bytes, images
    kText,    // text that may say a number: str, json
    kNumber,  // text that says a number: str_int, str_float, str_decimal
    kScalar,  // one value
    kArray,   // values after their type and shape, where these are not known
    kImages,  // any number of images, after their number and sizes
    kPickle,  // never read
  };
  // A type of numpy. Its size and kind follow from the number by which arrays name it.
  using Type = uint8_t;

  // Throws kDataLoss for an unknown encoding.
  static MdsEncoding Of(const MdsColumn& column);

  Kind kind = Kind::kBytes;
  std::optional<Type> type;                    // of a scalar, or of every array
  std::optional<std::vector<uint64_t>> shape;  // of every array
  size_t before_count = 0;                     // bytes before the number of images
};

// Field names are those of columns. Immutable; any thread.
class MdsParser {
 public:
  // Throws kDataLoss if a field does not fit the column of its name, or there is none and the field
  // does not say what that means.
  MdsParser(const std::vector<Field>& fields, std::vector<MdsColumn> columns);

  const std::vector<MdsColumn>& columns() const { return columns_; }
  // Parsers of the same fields.
  bool operator==(const MdsParser& other) const { return columns_ == other.columns_; }
  // Appends the samples. Throws kDataLoss "field 'label': ...".
  void Load(const Ticket* tickets, size_t n, Rows* rows) const;

 private:
  // What a slot is made from.
  struct Source {
    std::optional<size_t> column;  // none: it is missing in all samples
    MdsEncoding encoding;
  };

  void LoadSlot(std::string_view value, size_t slot, FieldRows* rows) const;

  const std::vector<Field>& fields_;
  const std::vector<MdsColumn> columns_;
  std::vector<Source> sources_;  // by slot
};

// Cuts a sample into the bytes of its columns. Throws kDataLoss if it does not fit them.
void CutMdsSample(std::string_view sample, const std::vector<MdsColumn>& columns,
                  std::vector<std::string_view>* values);

// Fields that fit the columns; pickles have none, and neither have arrays that fit no one field.
// Samples tell the shapes and types that the columns do not tell. Throws what CutMdsSample throws
// for the first one; another that is wrong, and those after it, are not looked at.
FittingFields GuessMdsFields(const std::vector<MdsColumn>& columns,
                             const std::vector<std::string_view>& samples);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_MDS_MDS_SAMPLE_H_
