// SPDX-License-Identifier: Apache-2.0
// RecordIO files. With content "tensors" a record is an element as the lineage's programs stored
// it: a u32 number of tensors and that many serialised tensors, one a declared slot (bytes after
// them are ignored, as there). With "bytes" a record is one slot, uint8 [n] with LoD [[0, n]].
// Where a manifest lies beside the files (recordio_manifest.h), they must hold what it says, and
// none that a pattern means may be missing. It may tell the slots of tensors, which need not be
// declared then.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetched.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_file.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_slots.h"
#include "readers/index/indexable_format.h"
#include "readers/support/byte_records.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

constexpr size_t kCountBytes = 4;

class RecordIOFormat : public CountedFormat {
 public:
  RecordIOFormat(std::vector<SlotSpec> slots, const FormatArguments& arguments)
      : CountedFormat(std::move(slots)),
        patterns_(arguments.patterns),
        manifests_(arguments.patterns) {}

  // Only a manifest tells the number of records, or an index where it does not list the file.
  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    RecordIOManifests manifests(patterns_);
    return SumOf(files, [&](const FileEntry& file) -> std::optional<uint64_t> {
      const std::optional<RecordIOPromise> promise = manifests.Find(file.path);
      if (!promise) return CountByIndex(file);
      const RecordIOCounts& counts = promise->counts;
      if (promise->old && promise->old->records != counts.records) return std::nullopt;
      return counts.records;
    });
  }

 protected:
  // Throws kDataLoss if no record of the file can have the slots of this reader.
  virtual void CheckStored(const RecordIOPromise&, const std::string&) const {}

 private:
  std::unique_ptr<FileSource> OpenUncounted(const FileEntry& file, bool* counted) override {
    const std::optional<RecordIOPromise> promise = manifests_.Find(file.path);
    if (promise) CheckStored(*promise, file.path);
    *counted = promise.has_value();
    return std::make_unique<RecordIOFile>(file.path, promise, file.buffer_type);
  }
  std::string Rules() const override { return "recordio"; }
  bool leaves_out_records() const override { return false; }

  const std::vector<std::string> patterns_;
  RecordIOManifests manifests_;
};

class BytesFormat final : public RecordIOFormat {
 public:
  using RecordIOFormat::RecordIOFormat;

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    LoadBytes(tickets, n, rows);
  }
};

// Takes a record's tensors one after another.
class RecordCursor {
 public:
  RecordCursor(const Ticket& ticket, size_t slots) : here_(ticket.bytes), left_(ticket.size) {
    if (left_ < kCountBytes) {
      Throw(ErrorCode::kDataLoss, "a record of ", left_, " bytes holds no tensors");
    }
    uint32_t count;
    std::memcpy(&count, here_, kCountBytes);
    if (count != slots) {
      Throw(ErrorCode::kDataLoss, "a record of ", count, " tensors, but ", slots,
            slots == 1 ? " slot is" : " slots are", " declared");
    }
    here_ += kCountBytes;
    left_ -= kCountBytes;
  }

  const char* here() const { return here_; }
  size_t left() const { return left_; }
  void Skip(size_t bytes) {
    here_ += bytes;
    left_ -= bytes;
  }

  TensorView Next(size_t slot) {
    try {
      const TensorView tensor = ParseTensor(here_, left_);
      Skip(tensor.size);
      return tensor;
    } catch (const Error& error) {
      throw Error(error.code(), StrCat("slot ", slot, ": ", error.message()));
    }
  }

 private:
  const char* here_;
  size_t left_;
};

using Declaration = decltype(FormatArguments::declaration);

// The slots, in the notation of the caller that makes the reader.
std::string Declared(Declaration declaration, const NamedSlots& slots) {
  if (declaration == nullptr) return "the slots " + ToText(slots);
  return declaration(slots.slots, slots.names);
}

class TensorsFormat final : public RecordIOFormat {
 public:
  TensorsFormat(const std::vector<SlotSpec>& slots, const FormatArguments& arguments)
      : RecordIOFormat(slots, arguments), declaration_(arguments.declaration) {
    for (const SlotSpec& slot : slots) sequences_.push_back(SequenceOf(slot));
    expected_bytes_ = kCountBytes;
    for (const SlotSpec& slot : slots) {
      one_step_ = one_step_ && slot.one_step();
      if (!one_step_) return;
      Expected expected;
      expected.is_bool = slot.dtype == DataType::kBool;
      AppendTensorHeader(slot.dtype, slot.dims, {}, &expected.header);
      expected.value_bytes =
          CheckedProduct(static_cast<size_t>(Product(slot.dims)), SizeOf(slot.dtype));
      expected_bytes_ += expected.header.size() + expected.value_bytes;
      expected_.push_back(std::move(expected));
    }
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    if (one_step_) {
      LoadInPlace(tickets, n, rows);
      return;
    }
    for (const Ticket& ticket : Prefetched(tickets, n)) {
      try {
        LoadOne(ticket, rows);
      } catch (...) {
        ThrowWithSlots(ticket);
      }
    }
  }

 protected:
  void CheckStored(const RecordIOPromise& promise, const std::string& path) const override {
    const std::optional<NamedSlots> stored = SlotsOf(promise, path);
    if (!stored || promise.counts.records == 0) return;
    try {
      AgreeOnSlots(slots(), stored->slots, "the manifest of the file says");
    } catch (const Error& error) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat(error.message(), "; its records have ", Declared(declaration_, *stored)))
          .InFile(path, 0);
    }
  }

 private:
  // What a record of one-step slots looks like, if it was written as expected.
  struct Expected {
    std::string header;
    size_t value_bytes = 0;
    bool is_bool = false;
  };

  // What a short sequence looks like, for slots that are declared as sequences of anything whose
  // size is known.
  struct Sequence {
    SequenceHeader header;
    size_t step_bytes;
    bool is_bool;
  };

  static std::optional<Sequence> SequenceOf(const SlotSpec& slot) {
    if (slot.lod_level != 1 || slot.dims[0] != -1) return std::nullopt;
    Dims step = slot.dims;
    step[0] = 1;
    if (std::any_of(step.begin(), step.end(), [](int64_t dim) { return dim < 0; })) {
      return std::nullopt;
    }
    const size_t bytes = CheckedProduct(static_cast<size_t>(Product(step)), SizeOf(slot.dtype));
    if (bytes > kMaxRecordBytes) return std::nullopt;
    return Sequence{SequenceHeader(slot.dtype, step), bytes, slot.dtype == DataType::kBool};
  }

  // Takes the next tensor of a record if it is such a sequence; otherwise changes nothing and
  // returns false.
  bool LoadSequence(size_t slot, RecordCursor* cursor, Rows* rows) const {
    if (!sequences_[slot].has_value()) return false;
    const auto& [header, step_bytes, is_bool] = *sequences_[slot];
    if (cursor->left() < header.size()) return false;
    const int64_t length = header.Match(cursor->here());
    if (length < 0) return false;
    const size_t bytes = static_cast<size_t>(length) * step_bytes;
    if (cursor->left() - header.size() < bytes) return false;
    if (is_bool && !AreBools(cursor->here() + header.size(), bytes)) return false;
    CheckText(slot, cursor->here() + header.size(), bytes);
    char* const place = rows->AppendSequence(slot, static_cast<size_t>(length));
    if (bytes > 0) std::memcpy(place, cursor->here() + header.size(), bytes);
    cursor->Skip(header.size() + bytes);
    return true;
  }

  // Throws if the manifest says that the slot is text, and these bytes are none.
  void CheckText(size_t slot, const char* bytes, size_t size) const {
    if (!slots()[slot].text) return;
    const size_t wrong = FirstNoUtf8({bytes, size});
    if (wrong == size) return;
    Throw(ErrorCode::kDataLoss, "slot ", slot, " is text in UTF-8, as the manifest says, and byte ",
          wrong, " of ", size, " is none");
  }

  void LoadOne(const Ticket& ticket, Rows* rows) const {
    RecordCursor cursor(ticket, slots().size());
    for (size_t i = 0; i < slots().size(); ++i) {
      if (LoadSequence(i, &cursor, rows)) continue;
      const TensorView tensor = cursor.Next(i);
      // A batch takes any length; a record has the one that is declared.
      CheckFits(slots()[i], i, tensor.dtype, tensor.dims, tensor.levels);
      CheckText(i, tensor.values, tensor.value_bytes);
      char* place = rows->Append(i, tensor.dtype, tensor.dims, tensor.lod, tensor.levels);
      if (tensor.value_bytes > 0) std::memcpy(place, tensor.values, tensor.value_bytes);
    }
  }

  // Throws the error that is being handled and, if the record is a list of tensors, says which
  // slots would fit it.
  [[noreturn]] void ThrowWithSlots(const Ticket& ticket) const {
    const Error error = CurrentError();
    const std::optional<std::vector<SlotSpec>> found = SlotsOfRecord(ticket.bytes, ticket.size);
    if (error.code() != ErrorCode::kDataLoss || !found) throw;
    throw Error(error.code(),
                StrCat(error.message(), "; the record has ", Declared(declaration_, {*found, {}})));
  }

  // Loads records whose rows all have their place beforehand.
  void LoadInPlace(const Ticket* tickets, size_t n, Rows* rows) const {
    char* places[kMaxSlots];
    for (size_t i = 0; i < expected_.size(); ++i) places[i] = rows->Append(i, n);
    for (const Ticket& ticket : Prefetched(tickets, n)) {
      if (!LoadExpected(ticket, places)) {
        try {
          LoadChecked(ticket, places);
        } catch (...) {
          ThrowWithSlots(ticket);
        }
      }
      for (size_t i = 0; i < expected_.size(); ++i) places[i] += expected_[i].value_bytes;
    }
  }

  // Loads a record that looks as expected, or returns false: then it may have written into some
  // places, but not beyond their ends.
  bool LoadExpected(const Ticket& ticket, char* const* places) const {
    if (ticket.size < expected_bytes_) return false;
    const char* here = ticket.bytes;
    uint32_t count;
    std::memcpy(&count, here, kCountBytes);
    if (count != expected_.size()) return false;
    here += kCountBytes;
    for (size_t i = 0; i < expected_.size(); ++i) {
      const Expected& expected = expected_[i];
      if (std::memcmp(here, expected.header.data(), expected.header.size()) != 0) return false;
      here += expected.header.size();
      if (expected.is_bool && !AreBools(here, expected.value_bytes)) return false;
      std::memcpy(places[i], here, expected.value_bytes);
      here += expected.value_bytes;
    }
    return true;
  }

  // The same for a record in the older layout or with a description that says the same otherwise;
  // throws if it is neither.
  void LoadChecked(const Ticket& ticket, char* const* places) const {
    RecordCursor cursor(ticket, slots().size());
    for (size_t i = 0; i < slots().size(); ++i) {
      const TensorView tensor = cursor.Next(i);
      CheckFits(slots()[i], i, tensor.dtype, tensor.dims, tensor.levels);
      if (tensor.value_bytes > 0) std::memcpy(places[i], tensor.values, tensor.value_bytes);
    }
  }

  const Declaration declaration_;
  std::vector<std::optional<Sequence>> sequences_;  // by slot
  bool one_step_ = true;
  std::vector<Expected> expected_;
  size_t expected_bytes_ = 0;
};

FormatSchema RecordIOSchema() {
  FormatSchema schema("RecordIO in every dialect: Fluid and Go order, crc32c; none, snappy, gzip");
  return std::move(
      schema.Extension(".recordio")
          .Beside(kManifestSuffix)
          .Magic(&HasRecordIOMagic)
          .Attr(AttributeSchema("content", std::string("tensors"),
                                "what a record holds: serialised tensors, one a declared slot; or "
                                "bytes, one slot of uint8 [n] with LoD [[0, n]]")
                    .OneOf({"tensors", "bytes"})));
}

// The slots that are declared, or else those that the manifests of all files tell, or else those of
// the first records.
std::vector<SlotSpec> SlotsFor(const FormatArguments& arguments) {
  std::vector<std::string> paths;
  for (const FileEntry& file : arguments.files) paths.push_back(file.path);
  if (arguments.declared.empty()) {
    if (const std::optional<NamedSlots> stored = StoredSlots(paths)) return stored->slots;
  }
  try {
    return AgreeOnSlots(arguments.declared, {});
  } catch (const Error& error) {
    if (paths.empty() || CanBeReadOnceOnly(paths.front())) throw;
    const std::string& path = paths.front();
    if (const auto found = SlotsOfFirstRecords(path)) return *found;
    const std::string name = Escaped(path);
    throw error.WithMessage(
        StrCat(error.message(), "; no manifest tells them, and ",
               FileSystemOf(path).Stat(path).size == 0
                   ? name + " is empty"
                   : "the first records of " + name + " are no lists of tensors of the same types",
               "; content \"bytes\" reads them as bytes"));
  }
}

std::unique_ptr<FileFormat> MakeRecordIO(const FormatArguments& arguments) {
  if (arguments.attributes.Get<std::string>("content") == "tensors") {
    return std::make_unique<TensorsFormat>(SlotsFor(arguments), arguments);
  }
  return std::make_unique<BytesFormat>(AgreeOnSlots(arguments.declared, {BytesSlot()}), arguments);
}

REGISTER_FILE_FORMAT(recordio, RecordIOSchema, MakeRecordIO);

}  // namespace
}  // namespace millhopper
