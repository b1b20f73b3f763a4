// SPDX-License-Identifier: Apache-2.0
// What records of serialised tensors hold: each tensor says its type and dims itself, so that the
// first records tell slots that were not declared, and any record shows slots that were declared
// wrongly.
#ifndef MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_SLOTS_H_
#define MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_SLOTS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/reader/reader.h"
#include "framework/tensor/tensor_stream.h"

namespace millhopper {

// Calls visit for each tensor of a record. Returns false if the record is not exactly a list of
// serialised tensors, of which some may have been visited then. What `visit` throws, it lets out.
bool VisitTensorsOfRecord(const char* bytes, size_t size,
                          const std::function<void(const TensorView& tensor)>& visit);

// Appends the record of an element: the number of its tensors, and each serialised. Throws what
// AppendTensor throws.
void AppendRecordOfTensors(const std::vector<LoDTensor>& element, std::string* record);

// The slots of one record, a sequence's with any length; nothing if the record is not exactly a
// list of serialised tensors.
std::optional<std::vector<SlotSpec>> SlotsOfRecord(const char* bytes, size_t size);

// The slots of a file by the records of its first chunk: an axis that differs among them is -1.
// Nothing if the file is empty, or if they are no lists of tensors of the same types and ranks.
// Throws what RecordIOFile does.
std::optional<std::vector<SlotSpec>> SlotsOfFirstRecords(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_SLOTS_H_
