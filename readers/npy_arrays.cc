// SPDX-License-Identifier: Apache-2.0
#include "readers/npy_arrays.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/prefetched.h"
#include "readers/fixed_size_source.h"
#include "readers/fortran_file.h"

namespace millhopper {
namespace {

FixedSizeSource::Column ColumnOf(std::unique_ptr<ByteStream> stream, const NpyHeader& header) {
  // With one record, or with values along one axis, both orders are the same.
  const bool gathered = header.fortran_order && header.records > 0 && header.record_bytes > 0 &&
                        header.spec.dims.size() > 1;
  if (!gathered) return {std::move(stream), header.record_bytes, true};
  auto file = std::make_unique<FortranFile>(std::move(stream), header);
  const uint64_t begin = file->begin();
  return {std::make_unique<ByteStream>(std::move(file), begin, nullptr), header.record_bytes,
          false};
}

}  // namespace

std::unique_ptr<FileSource> NpyArrays::OpenArrays(
    std::vector<std::unique_ptr<ByteStream>> streams) {
  const std::string path = streams[0]->path();
  const auto fail = [&](ErrorCode code, const std::string& problem) {
    throw Error(code, problem).InFile(path, 0);
  };
  std::vector<NpyHeader> headers;
  uint64_t record_bytes = 0;
  for (const std::unique_ptr<ByteStream>& stream : streams) {
    const SlotSpec& declared = slots()[headers.size()];
    headers.push_back(ReadNpyHeader(stream.get()));
    if (declared.known) DeclareNpy(declared.dtype, &headers.back());
    record_bytes += headers.back().record_bytes;
    if (headers.back().records != headers[0].records) {
      fail(ErrorCode::kDataLoss, StrCat("slot ", headers.size() - 1, " has ",
                                        headers.back().records, " records, but slot 0 has ",
                                        headers[0].records, "; arrays read together are as long"));
    }
    if (record_bytes > kMaxRecordBytes) {
      fail(ErrorCode::kResourceLimit,
           StrCat("its arrays together have records of more than ", kMaxRecordBytes, " bytes"));
    }
  }
  Learn(path, headers);
  std::vector<FixedSizeSource::Column> columns;
  for (size_t i = 0; i < streams.size(); ++i) {
    columns.push_back(ColumnOf(std::move(streams[i]), headers[i]));
  }
  return std::make_unique<FixedSizeSource>(std::move(columns), headers[0].records);
}

void NpyArrays::Learn(const std::string& path, const std::vector<NpyHeader>& headers) {
  const bool first = opened_slots_.empty();
  std::vector<SlotSpec> known;
  std::vector<Stored> stored;
  for (size_t i = 0; i < headers.size(); ++i) {
    const NpyHeader& header = headers[i];
    try {
      CheckFits(slots()[i], i, header.spec.dtype, header.spec.dims, 0);
    } catch (const Error& error) {
      throw error.InFile(path, 0);
    }
    if (!first && !(header.spec == opened_slots_[i] && header.type == stored_[i].type)) {
      const bool same_slot = header.spec == opened_slots_[i];
      throw Error(ErrorCode::kDataLoss,
                  StrCat("slot ", i, ": ", ToString(header.spec), " behind files of ",
                         ToString(opened_slots_[i]),
                         same_slot ? ", stored otherwise (byte order or type)" : ""))
          .InFile(path, 0);
    }
    known.push_back(header.spec);
    stored.push_back({header.type, header.numbers, header.record_bytes});
  }
  if (!first) return;
  stored_ = std::move(stored);
  opened_slots_ = std::move(known);
}

void NpyArrays::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  rows->FixInnerDims(opened_slots_);
  size_t offset = 0;
  for (size_t slot = 0; slot < stored_.size(); ++slot) {
    const Stored& stored = stored_[slot];
    const size_t bytes = stored.numbers * SizeOf(stored.type.dtype);
    char* out = rows->Append(slot, n);
    try {
      for (const Ticket& ticket : Prefetched(tickets, n, slot == 0)) {
        CopyNpyNumbers(stored.type, ticket.bytes + offset, stored.numbers, out);
        out += bytes;
      }
    } catch (const Error& error) {
      throw error.WithMessage(StrCat("slot ", slot, ": ", error.message()));
    }
    offset += stored.record_bytes;
  }
}

}  // namespace millhopper
