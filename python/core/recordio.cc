// SPDX-License-Identifier: Apache-2.0
#include "python/core/recordio.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/tensor.h"
#include "framework/tensor/tensor_stream.h"
#include "operators/readers/support/slot_names.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/schemas.h"
#include "python/core/values/values.h"
#include "readers/fields/chosen_fields.h"
#include "readers/fields/fields.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_commit.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_slots.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"
#include "readers/support/utf8.h"

namespace py = pybind11;

namespace millhopper {
namespace {

RecordIOOptions OptionsFor(RecordIOCompressor compressor, int64_t max_num_records) {
  RecordIOOptions options;
  Require(max_num_records >= 1 && max_num_records <= UINT32_MAX, "max_num_records is ",
          max_num_records, "; a chunk holds at least one record");
  options.compressor = compressor;
  options.chunk_records = static_cast<uint32_t>(max_num_records);
  return options;
}

OutputRules RulesFor(bool overwrite) {
  OutputRules rules;
  rules.overwrite = overwrite;
  return rules;
}

// Makes records of tensors. Any thread of Python may call it, one at a time; the interpreter is
// free meanwhile.
class TensorWriter {
 public:
  TensorWriter(const std::string& path, RecordIOCompressor compressor, int64_t max_num_records,
               bool overwrite, std::vector<std::string> names)
      : path_(path), names_(std::move(names)) {
    Waiting([&] {
      writer_ = std::make_unique<RecordIOWriter>(path, OptionsFor(compressor, max_num_records),
                                                 RulesFor(overwrite));
      CheckListing({writer_.get()});  // reports a bad manifest now
    });
  }
  ~TensorWriter() {
    const InterpreterRelease released;
    writer_.reset();
  }
  TensorWriter(const TensorWriter&) = delete;
  TensorWriter& operator=(const TensorWriter&) = delete;

  // Closes finished files, all shards of a set, which get their names together.
  static void CloseSet(const std::vector<TensorWriter*>& writers) {
    Waiting([&] {
      std::vector<std::unique_ptr<RecordIOWriter>> owned;
      std::vector<RecordIOWriter*> files;
      for (TensorWriter* writer : writers) {
        const LockOrStop lock(&writer->mutex_);
        Require(writer->writer_ != nullptr && writer->finished_, Escaped(writer->path_),
                ": this file has not been finished");
        writer->SetSlots();
        owned.push_back(std::move(writer->writer_));
        files.push_back(owned.back().get());
      }
      if (!files.empty()) CommitRecordIO(files, true);
    });
  }

  // The tensor is passed by value, so that it shares the values even if the caller changes its own.
  void Append(LoDTensor tensor) { AppendSlot(std::move(tensor), false); }

  // A record of all slots of an element. Without names, a dict as the first one tells them.
  void AppendElement(py::object item) {
    if (names_.empty() && !has_records_ && PyDict_Check(item.ptr())) {
      names_ = py::list(item).cast<std::vector<std::string>>();
    }
    const std::vector<bool> texts = AreTexts(item, names_);
    const std::vector<LoDTensor> element = ToElement(std::move(item), {{}, names_});
    Locked([&] {
      RequireOpen();
      RequireNoTensors();
    });
    for (size_t i = 0; i < element.size(); ++i) AppendSlot(element[i], texts[i]);
    CompleteRecord();
  }

  void CompleteRecord() {
    Locked([&] {
      RequireOpen();
      Require(tensors_ > 0, "a record of no tensors; append_tensor comes first");
      Require(names_.empty() || names_.size() == tensors_, Escaped(path_), ": a record of ",
              tensors_, " tensors, but ", names_.size(), " names of slots");
      std::memcpy(record_.data(), &tensors_, sizeof(tensors_));
      writer_->Write(record_);
      has_records_ = true;
      common_.Add(slots_);
      record_.resize(sizeof(tensors_));
      slots_.clear();
      tensors_ = 0;
    });
  }

  void Close() {
    Locked([&] {
      if (writer_ == nullptr) return;
      RequireNoTensors();
      SetSlots();
      const std::unique_ptr<RecordIOWriter> writer = std::move(writer_);
      CommitRecordIO({writer.get()}, false);
    });
  }

  void Finish() {
    Locked([&] {
      RequireOpen();
      RequireNoTensors();
      writer_->Finish();
      finished_ = true;
    });
  }

  void Discard() {
    Locked([&] { writer_.reset(); });
  }

 private:
  // What waits for disks and servers: a Ctrl-C ends it.
  template <typename Step>
  static void Waiting(const Step& step) {
    WatchInterrupts();
    WithoutInterpreter(step);
  }
  template <typename Step>
  void Locked(const Step& step) {
    Waiting([&] {
      const LockOrStop lock(&mutex_);
      step();
    });
  }
  void RequireOpen() const {
    Require(writer_ != nullptr && !finished_, Escaped(path_), ": this file has been closed");
  }
  void RequireNoTensors() const {
    Require(tensors_ == 0, Escaped(path_), ": ", tensors_,
            " tensors belong to no record; complete_append_tensor makes one of them");
  }

  void AppendSlot(LoDTensor tensor, bool is_text) {
    const InterpreterRelease released;
    const LockOrStop lock(&mutex_);
    RequireOpen();
    tensor = tensor.OnHost();
    Require(tensor.initialized() && !tensor.dims().empty(), "tensor ", tensors_,
            " of the record has no values, or no axis");
    CheckLod(tensor.lod(), tensor.rows());
    AppendTensor(tensor, &record_);
    slots_.push_back({tensor.dtype(), tensor.dims(), static_cast<int>(tensor.lod().size())});
    const auto bytes = static_cast<size_t>(is_text ? tensor.numel() : 0);
    const char* const values = static_cast<const char*>(tensor.raw_data());
    slots_.back().text = is_text && FirstNoUtf8({values, bytes}) == bytes;
    ++tensors_;
  }

  // Has the manifest tell the slots of the records.
  void SetSlots() {
    if (std::optional<std::vector<SlotSpec>> slots = common_.slots()) {
      writer_->set_slots({*std::move(slots), names_});
    }
  }

  const std::string path_;
  std::vector<std::string> names_;  // of the slots, or none; guarded by the interpreter
  bool has_records_ = false;        // the same
  Mutex mutex_;                     // taken without the interpreter
  std::unique_ptr<RecordIOWriter> writer_;
  bool finished_ = false;
  uint32_t tensors_ = 0;                                      // in the record that is being made
  std::string record_ = std::string(sizeof(tensors_), '\0');  // their number, then the tensors
  std::vector<SlotSpec> slots_;                               // of these tensors
  CommonSlots common_;                                        // of all records
};

// What the first records of a file tell. Nothing if it can be read once only, or is no RecordIO
// file, by its name or its first bytes.
std::optional<NamedSlots> Inferred(const std::vector<std::string>& names) {
  const FormatSchema* format = FormatOf(names);
  const std::string path = ChooseFormat(ExpandFileNames(names).front()).path;
  if (CanBeReadOnceOnly(path)) return std::nullopt;
  if (format == nullptr) format = &FormatByContent(path);
  if (format->tag != "recordio") return std::nullopt;
  const std::optional<std::vector<SlotSpec>> found = SlotsOfFirstRecords(path);
  if (!found) return std::nullopt;
  return NamedSlots{*found, {}};
}

// Slots as (dtype, dims, levels) each, and their names, if they have any.
using ToldSlots = std::pair<std::vector<std::tuple<std::string, std::vector<int64_t>, int>>,
                            std::optional<std::vector<std::string>>>;

ToldSlots ToldAs(const NamedSlots& named) {
  ToldSlots told;
  for (const SlotSpec& slot : named.slots) {
    told.first.emplace_back(ToString(slot.dtype),
                            std::vector<int64_t>(slot.dims.begin(), slot.dims.end()),
                            slot.lod_level);
  }
  if (!named.names.empty()) told.second = named.names;
  return told;
}

// What the manifests of the files tell, if these have the format recordio.
std::optional<NamedSlots> Stored(const std::vector<std::string>& names) {
  const FormatSchema* const format = FormatOf(names);
  if (format == nullptr || format->tag != "recordio") return std::nullopt;
  std::vector<std::string> files = ExpandFileNames(names);
  for (std::string& file : files) file = SplitFormatPrefix(file).path;
  return StoredSlots(files);
}

std::optional<NamedSlots> NamedByFormat(const std::vector<std::string>& names) {
  return NamedSlots{{}, SlotNamesOfFiles(names, {})};
}

// A file that is missing or damaged is an error of the first pass.
std::optional<ToldSlots> SlotsToldBy(
    std::optional<NamedSlots> (*look)(const std::vector<std::string>& names),
    const std::vector<std::string>& names) {
  std::optional<ToldSlots> told;
  WatchInterrupts();
  WithoutInterpreter([&] {
    try {
      if (const std::optional<NamedSlots> found = look(names)) told = ToldAs(*found);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
    }
  });
  return told;
}

std::optional<ToldSlots> SlotsStoredFor(const std::vector<std::string>& names) {
  return SlotsToldBy(&Stored, names);
}

std::optional<ToldSlots> SlotsInferredFor(const std::vector<std::string>& names) {
  return SlotsToldBy(&Inferred, names);
}

std::optional<std::vector<std::string>> NamesOfFormatOf(const std::vector<std::string>& names) {
  const std::optional<ToldSlots> told = SlotsToldBy(&NamedByFormat, names);
  return told ? told->second : std::nullopt;
}

ToldSlots SlotsIn(const std::vector<std::string>& names) {
  if (const std::optional<NamedSlots> stored = Stored(names)) return ToldAs(*stored);
  const std::string path = ChooseFormat(ExpandFileNames(names).front()).path;
  if (CanBeReadOnceOnly(path)) {
    throw ReadOnceOnly(path, "its records cannot be looked at beforehand, so declare its slots");
  }
  const std::optional<std::vector<SlotSpec>> found = SlotsOfFirstRecords(path);
  Require(found.has_value(), Escaped(path),
          ": its first records tell no slots: they are no lists of tensors of the same types");
  return ToldAs({*found, {}});
}

ToldSlots SlotsOfFiles(const std::vector<std::string>& names) {
  ToldSlots told;
  WatchInterrupts();
  WithoutInterpreter([&] { told = SlotsIn(names); });
  return told;
}

// The attributes of the format that these are, of which Python has given some; those of another
// type are left out, since making the reader says what is wrong with them.
AttributeMap FormatAttributes(const FormatSchema& format, const py::dict& given) {
  AttributeMap attributes;
  for (const AttributeSchema& schema : format.attributes) {
    if (!given.contains(schema.name)) continue;
    const py::object value = given[schema.name.c_str()];
    try {
      attributes.Set(schema.name, std::visit(
                                      [&](const auto& like) -> Attribute {
                                        return value.cast<std::decay_t<decltype(like)>>();
                                      },
                                      schema.default_value));
    } catch (const py::cast_error&) {
    }
  }
  return attributes;
}

// What cannot be inferred is an error of the first pass, which infers again. Adds to `given` the
// other attributes that the fields go with, and takes infer "all" out of it where that was done.
std::vector<std::string> FieldsInferredFor(const std::vector<std::string>& files,
                                           const py::dict& given) {
  constexpr char kInfer[] = "infer";
  FittingFields fields;
  WatchInterrupts();
  try {
    FormatArguments arguments;
    const FormatSchema* const format = FormatOf(files);
    if (format != nullptr) arguments.attributes = FormatAttributes(*format, given);
    const bool looks_at_all =
        arguments.attributes.Has(kInfer) && arguments.attributes.Get<std::string>(kInfer) == "all";
    WithoutInterpreter([&] { fields = InferredFields(files, std::move(arguments)); });
    if (looks_at_all && !fields.entries.empty()) given.attr("pop")(kInfer);  // it is done
    for (const auto& [name, value] : fields.attributes.values()) {
      given[name.c_str()] = AttributeToPython(value);
    }
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
  return fields.entries;
}

}  // namespace

void DefineRecordio(py::module_* module) {
  module->def(
      "recordio_slots", &SlotsOfFiles, py::arg("files"),
      "The slots of RecordIO files of tensors, as their manifests tell or else the first records\n"
      "of the first file: dtype, dims and number of levels each, and the names or None.\n\n"
      "Raises:\n    Error: there is no such file, it is no RecordIO file, or its records "
      "tell none.");
  module->def("stored_slots", &SlotsStoredFor, py::arg("files"),
              "The same if the manifests of these files tell it, otherwise None. There are no "
              "errors.");
  module->def("format_slot_names", &NamesOfFormatOf, py::arg("files"),
              "What the format of these files calls the slots, or None. There are no errors.");
  module->def("field_names", &NamesOf, py::arg("entries"),
              "The names of the slots of fields, and after them those of their masks.");
  module->def("name_in_entry", &NameInEntry, py::arg("name"),
              "The name as an entry of fields has it: in quotes if it needs them.");
  module->def("are_chosen_by_name", &AreChosenByName, py::arg("entries"),
              "Whether the files must tell the types of these fields, or of all.");
  module->def("inferred_slots", &SlotsInferredFor, py::arg("files"),
              "The same if the first records of the first file tell it. There are no errors.");
  module->def("inferred_fields", &FieldsInferredFor, py::arg("files"), py::arg("attributes"),
              "The fields that a reader of these files has if none are given, or names alone, as "
              "entries; none if their format does not infer any, or cannot. What else was found, "
              "such as a delimiter, is added to the attributes. The first file is read.");
  py::class_<TensorWriter> writer(*module, "RecordIOWriter",
                                  R"(Writes a RecordIO file whose records are tensors.

What is written has the name ``<path>.partial`` until ``close`` gives the file its name, so that a
file of this name is always whole. A writer that is dropped without ``close`` leaves nothing.

Args:
    path: of the file.
    compressor: of ``RecordIOWriter.Compressor``.
    max_num_records: in a chunk, which also ends where it would exceed 1 MiB.
    overwrite: a file that exists is replaced by ``close``; False: it is an error if one does.
    names: of the slots of a record, for the manifest; none by default.

Raises:
    Error: the file cannot be created, is no regular file, exists and ``overwrite`` is False, is
        being read by this process, or ``max_num_records`` is less than 1.

Source: PaddlePaddle's fluid.core, 2018.)");
  py::enum_<RecordIOCompressor>(writer, "Compressor", "How the chunks of a file are compressed.")
      .value("NoCompress", RecordIOCompressor::kNone)
      .value("Snappy", RecordIOCompressor::kSnappy);
  writer
      .def(py::init<const std::string&, RecordIOCompressor, int64_t, bool,
                    std::vector<std::string>>(),
           py::arg("path"), py::arg("compressor"), py::arg("max_num_records"),
           py::arg("overwrite") = true, py::arg("names") = std::vector<std::string>())
      .def("append_tensor", &TensorWriter::Append, py::arg("tensor"),
           "Adds a ``LoDTensor`` to the record that is being made: its next slot.\n\n"
           "Raises:\n    Error: it has no values, its levels of detail do not fit its rows, or "
           "the file is closed.")
      .def("append_element", &TensorWriter::AppendElement, py::arg("element"),
           "Adds a record: an element as readers yield it.")
      .def("complete_append_tensor", &TensorWriter::CompleteRecord,
           "Ends the record that the appended tensors make.\n\n"
           "Raises:\n    Error: there are none, or not as many as names, the record is too large, "
           "the disk is full, or the file is closed.")
      .def("close", &TensorWriter::Close,
           "Gives the file its name, and lists it in the manifest beside it, by which readers\n"
           "notice lost chunks, know how many records there are and, where all records have slots\n"
           "of the same types, which ones. Again, it does nothing.\n\n"
           "Raises:\n    Error: tensors were appended that belong to no record, or the disk is "
           "full.")
      .def("finish", &TensorWriter::Finish,
           "Ends what is written, which has no name yet, for ``close_set``.\n\n"
           "Raises:\n    Error: tensors were appended that belong to no record, the disk is full, "
           "or the file is closed.")
      .def_static("close_set", &TensorWriter::CloseSet, py::arg("writers"),
                  "Gives files that are finished, which are all shards of a set, their names "
                  "together.\n\n"
                  "Raises:\n    Error: one is not finished, or the disk is full.")
      .def("discard", &TensorWriter::Discard,
           "Removes what was written; a file of this name stays as it was. Does nothing after "
           "``close``.");
}

}  // namespace millhopper
