// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/recordio/recordio_files.h"

#include <algorithm>
#include <cstdint>
#include <iostream>

#include "framework/base/error.h"
#include "framework/io/file.h"
#include "readers/formats/recordio/recordio_chunk.h"
#include "tools/commands/shared/command.h"

namespace millhopper {

int VisitFiles(const std::vector<std::string>& names,
               const std::function<void(const FormatChoice& file)>& visit) {
  int code = 0;
  for (const std::string& name : names) {
    try {
      visit(ChooseFormat(name));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      std::cout << std::flush;
      PrintError(error.what());
      if (code == 0) code = static_cast<int>(error.code());
    }
  }
  return code;
}

bool BeginsAsRecordIO(const std::string& path) {
  const auto file = File::Open(path);
  char head[kRecordIOHeaderBytes];
  const size_t size = std::min<uint64_t>(sizeof(head), file->size());
  file->Read(0, head, size);
  return HasRecordIOMagic(head, size);
}

double BytesOf(const std::vector<std::string>& names) {
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    try {
      bytes += File::Open(ChooseFormat(name).path)->size();
    } catch (const Error&) {  // the visit of the file reports it
    }
  }
  return static_cast<double>(bytes);
}

}  // namespace millhopper
