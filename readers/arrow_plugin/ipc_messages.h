// SPDX-License-Identifier: Apache-2.0
// The messages of Arrow IPC files and streams, as far as one must know them to tell where record
// batches lie and how many rows they have; Arrow's library decodes them. Metadata are flatbuffers.
// Source: https://arrow.apache.org/docs/format/Columnar.html (serialization and IPC),
// https://github.com/apache/arrow/tree/main/format (Message.fbs, File.fbs) and
// https://flatbuffers.dev/internals.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_IPC_MESSAGES_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_IPC_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/io/file.h"
#include "readers/arrow_plugin/arrow_access.h"

namespace millhopper {

struct IpcMessage {
  enum class Kind { kSchema = 1, kDictionary = 2, kRecordBatch = 3 };

  Kind kind = Kind::kSchema;
  Stretch stretch;    // all of it, from its length to the end of its body
  uint64_t rows = 0;  // of a record batch
};

// The message that begins at a byte; nothing at the end of the stream or of the file. Throws
// kDataLoss for what is no message or goes beyond the end of the file, and kResourceLimit for one
// that is too large; the errors have file and byte. `nulls` gets how many a record batch says that
// each array has, one within another after it; not checked.
std::optional<IpcMessage> ReadIpcMessage(const File& file, uint64_t offset,
                                         std::vector<int64_t>* nulls = nullptr);

// Where the record batches of an IPC file begin, by its footer. Throws what ReadIpcMessage throws.
std::vector<uint64_t> ReadIpcBatches(const File& file);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_IPC_MESSAGES_H_
