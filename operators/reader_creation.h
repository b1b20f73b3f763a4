// SPDX-License-Identifier: Apache-2.0
// What the operators that create readers have in common.
#ifndef MILLHOPPER_OPERATORS_READER_CREATION_H_
#define MILLHOPPER_OPERATORS_READER_CREATION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/random.h"
#include "framework/program/operator.h"
#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A schema with the output Out for the created reader.
OpSchema ReaderCreationSchema(const std::string& doc);
// The same with the input UnderlyingReader: for decorated readers.
OpSchema DecoratedReaderSchema(const std::string& doc);
// The rule of those whose slots are the ones below.
void InferSameSlots(InferContext& context);

// The schema with the lineage's attributes for declaring slots: shape_concat, ranks and lod_levels,
// and our own dtypes. They are checked with the program. To be called behind OpSchema::Check's own
// use, if any: it keeps that check.
OpSchema WithSlotAttributes(OpSchema schema);

// The rule that comes with these attributes: Out has the slots that they declare. Where `dtypes` is
// not given their types are `otherwise`; the rule takes them for unknown, as they are the format's.
void InferSlotsOfAttributes(InferContext& context, std::optional<DataType> otherwise);

// The slots that the operator's attributes declare; empty if shape_concat is not given. Dtypes that
// are not given are those of `own` by position, or float32 where it has none. Throws
// kInvalidArgument when the lists do not fit each other.
std::vector<SlotSpec> SlotsOfAttributes(const AttributeMap& attributes,
                                        const std::vector<SlotSpec>& own);
// The slots that are declared by the output variable or by the attributes; empty if neither does.
// Throws kInvalidArgument when both do and do not agree. `own` is as above, for dtypes that neither
// gives.
std::vector<SlotSpec> SlotsDeclaredFor(const OpContext& context, const std::vector<SlotSpec>& own);
// The slots that a format knows without any declaration; empty if it knows none or is null.
std::vector<SlotSpec> SlotsKnownTo(const FormatSchema* format, const FormatArguments& arguments);

// The attribute buffer_type of the readers of files, and what the program says of it.
AttributeSchema BufferTypeAttribute();
BufferType BufferTypeOf(const OpContext& context);

// A handle of the reader UnderlyingReader.
std::unique_ptr<ReaderBase> UnderlyingReader(OpContext& context);
// Keyed by the run's seed, the attribute `seed` and the name of the output variable.
RandomKey RandomKeyOf(OpContext& context);

// Puts a new reader into the output variable, and tells it who it is. Throws kInvalidArgument when
// the variable declares other slots than the reader has.
void StoreReader(OpContext& context, std::unique_ptr<ReaderBase> reader);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READER_CREATION_H_
