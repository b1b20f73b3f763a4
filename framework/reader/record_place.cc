// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/record_place.h"

#include "framework/reader/file_reader.h"

namespace millhopper {

Error RecordPlace::Named(const Error& error) const {
  return reader_ == nullptr || !error.file().empty() ? error : reader_->InRecord(error, ticket_);
}

}  // namespace millhopper
