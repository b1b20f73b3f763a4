// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/numpy/npy_arrays.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/fixed_size_source.h"
#include "readers/formats/numpy/fortran_file.h"

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

// Whether the bytes of a record lie straight after those of the one before it, in the same file.
bool LiesAfter(const Ticket& before, const Ticket& ticket) {
  return ticket.bytes == before.bytes + before.size && ticket.owner == before.owner &&
         ticket.id.file == before.id.file;
}

// How many of the tickets, one at least, lie one after another.
size_t LengthOfRun(const Ticket* tickets, size_t n) {
  size_t length = 1;
  while (length < n && LiesAfter(tickets[length - 1], tickets[length])) ++length;
  return length;
}

// How many of the tickets, one at least, come before the next run of several.
size_t CountApart(const Ticket* tickets, size_t n) {
  size_t count = 1;
  while (count < n && (count + 1 == n || !LiesAfter(tickets[count], tickets[count + 1]))) ++count;
  return count;
}

}  // namespace

std::unique_ptr<FileSource> NpyArrays::OpenArrays(
    const std::string& path, std::vector<std::unique_ptr<ByteStream>> streams) {
  const auto fail = [&](ErrorCode code, const std::string& problem) {
    throw Error(code, problem).InFile(path, 0);
  };
  std::vector<NpyHeader> headers(streams.size());
  std::vector<bool> missing(streams.size());
  std::optional<size_t> first;
  uint64_t record_bytes = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    NpyHeader& header = headers[i];
    missing[i] = streams[i] == nullptr;
    if (missing[i]) {
      header.spec = slots()[i];
      header.numbers = fields_[i].values;
      continue;
    }
    header = ReadNpyHeader(streams[i].get());
    if (slots()[i].known) DeclareNpy(slots()[i].dtype, &header);
    record_bytes += header.record_bytes;
    if (!first) first = i;
    if (header.records != headers[*first].records) {
      fail(ErrorCode::kDataLoss,
           StrCat("slot ", i, " has ", header.records, " records, but slot ", *first, " has ",
                  headers[*first].records, "; arrays read together are as long"));
    }
    if (record_bytes > kMaxRecordBytes) {
      fail(ErrorCode::kResourceLimit,
           StrCat("its arrays together have records of more than ", kMaxRecordBytes, " bytes"));
    }
  }
  Learn(path, headers, missing);
  std::vector<FixedSizeSource::Column> columns;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (!missing[i]) columns.push_back(ColumnOf(std::move(streams[i]), headers[i]));
  }
  return std::make_unique<FixedSizeSource>(std::move(columns), headers[*first].records);
}

void NpyArrays::Learn(const std::string& path, const std::vector<NpyHeader>& headers,
                      const std::vector<bool>& missing) {
  std::vector<Stored> stored;
  size_t offset = 0;
  const bool first = opened_slots_.empty();
  std::vector<std::optional<NpyType>> types = types_;
  types.resize(headers.size());
  for (size_t i = 0; i < headers.size(); ++i) {
    const NpyHeader& header = headers[i];
    try {
      if (!missing[i]) CheckFits(slots()[i], i, header.spec.dtype, header.spec.dims, 0);
    } catch (const Error& error) {
      throw error.InFile(path, 0);
    }
    if (!missing[i] && !types[i]) types[i] = header.type;
    const bool same_slot = first || header.spec == opened_slots_[i];
    if (!same_slot || (!missing[i] && !(header.type == *types[i]))) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("slot ", i, ": ", ToString(header.spec), " after files of ",
                         ToString(opened_slots_[i]),
                         same_slot ? ", stored otherwise (byte order or type)" : ""))
          .InFile(path, 0);
    }
    stored.push_back({header.type, offset, missing[i]});
    offset += header.record_bytes;
  }
  stored_.Add(path, std::move(stored));
  types_ = std::move(types);
  if (!first) return;
  for (const NpyHeader& header : headers) {
    opened_slots_.push_back(header.spec);
    numbers_.push_back(header.numbers);
  }
  opened_slots_.insert(opened_slots_.end(),
                       slots().begin() + static_cast<std::ptrdiff_t>(headers.size()),
                       slots().end());  // of masks
}

void NpyArrays::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  rows->FixInnerDims(opened_slots_);
  for (size_t slot = 0; slot < numbers_.size(); ++slot) {
    char* const out = rows->Append(slot, n);
    try {
      LoadSlot(slot, tickets, n, out);
    } catch (const Error& error) {
      throw error.WithMessage(StrCat("slot ", slot, ": ", error.message()));
    }
  }
  size_t mask = numbers_.size();
  for (size_t slot = 0; slot < fields_.size(); ++slot) {
    if (!fields_[slot].mask) continue;
    char* out = rows->Append(mask++, n);
    for (size_t i = 0; i < n; ++i) out[i] = stored_.Of(tickets[i])[slot].missing ? 0 : 1;
  }
}

// Records of one array that lie one after another are copied at once.
void NpyArrays::LoadSlot(size_t slot, const Ticket* tickets, size_t n, char* out) const {
  const size_t bytes = numbers_[slot] * SizeOf(opened_slots_[slot].dtype);
  while (n > 0) {
    const size_t run = numbers_.size() == 1 ? LengthOfRun(tickets, n) : 1;
    const size_t count = run > 1 ? run : numbers_.size() == 1 ? CountApart(tickets, n) : n;
    if (run > 1) {
      CopyNpyNumbers(stored_.Of(*tickets)[slot].type, tickets->bytes, run * numbers_[slot], out);
      out += run * bytes;
    } else {
      for (const Ticket& ticket : Prefetched(tickets, count, slot == 0)) {
        const Stored& stored = stored_.Of(ticket)[slot];
        if (stored.missing) {
          fields_[slot].WriteDefault(numbers_[slot], out);
        } else {
          CopyNpyNumbers(stored.type, ticket.bytes + stored.offset, numbers_[slot], out);
        }
        out += bytes;
      }
    }
    tickets += count;
    n -= count;
  }
}

}  // namespace millhopper
