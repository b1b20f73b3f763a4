// SPDX-License-Identifier: Apache-2.0
#include "python/core/recordio.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/one_pass.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/tensor.h"
#include "framework/tensor/tensor_stream.h"
#include "python/core/interpreter_release.h"
#include "readers/file_list.h"
#include "readers/recordio_commit.h"
#include "readers/recordio_slots.h"
#include "readers/recordio_writer.h"

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
               bool overwrite)
      : path_(path),
        writer_(std::make_unique<RecordIOWriter>(path, OptionsFor(compressor, max_num_records),
                                                 RulesFor(overwrite))) {
    CheckListing({writer_.get()});  // reports a bad manifest now
  }

  // Closes finished files, all shards of a set, which get their names together.
  static void CloseSet(const std::vector<TensorWriter*>& writers) {
    const InterpreterRelease released;
    std::vector<std::unique_ptr<RecordIOWriter>> owned;
    std::vector<RecordIOWriter*> files;
    for (TensorWriter* writer : writers) {
      const std::lock_guard<std::mutex> lock(writer->mutex_);
      Require(writer->writer_ != nullptr && writer->finished_, Escaped(writer->path_),
              ": this file has not been finished");
      owned.push_back(std::move(writer->writer_));
      files.push_back(owned.back().get());
    }
    if (!files.empty()) CommitRecordIO(files, true);
  }

  // The tensor is passed by value, so that it shares the values even if the caller changes its own.
  void Append(LoDTensor tensor) {
    const InterpreterRelease released;
    const std::lock_guard<std::mutex> lock(mutex_);
    RequireOpen();
    tensor = tensor.OnHost();
    Require(tensor.initialized() && !tensor.dims().empty(), "tensor ", tensors_,
            " of the record has no values, or no axis");
    CheckLod(tensor.lod(), tensor.rows());
    AppendTensor(tensor, &record_);
    ++tensors_;
  }

  void CompleteRecord() {
    const InterpreterRelease released;
    const std::lock_guard<std::mutex> lock(mutex_);
    RequireOpen();
    Require(tensors_ > 0, "a record of no tensors; append_tensor comes first");
    std::memcpy(record_.data(), &tensors_, sizeof(tensors_));
    writer_->Write(record_);
    record_.resize(sizeof(tensors_));
    tensors_ = 0;
  }

  void Close() {
    const InterpreterRelease released;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (writer_ == nullptr) return;
    RequireNoTensors();
    const std::unique_ptr<RecordIOWriter> writer = std::move(writer_);
    CommitRecordIO({writer.get()}, false);
  }

  void Finish() {
    const InterpreterRelease released;
    const std::lock_guard<std::mutex> lock(mutex_);
    RequireOpen();
    RequireNoTensors();
    writer_->Finish();
    finished_ = true;
  }

  void Discard() {
    const InterpreterRelease released;
    const std::lock_guard<std::mutex> lock(mutex_);
    writer_.reset();
  }

 private:
  void RequireOpen() const {
    Require(writer_ != nullptr && !finished_, Escaped(path_), ": this file has been closed");
  }
  void RequireNoTensors() const {
    Require(tensors_ == 0, Escaped(path_), ": ", tensors_,
            " tensors belong to no record; complete_append_tensor makes one of them");
  }

  const std::string path_;
  std::mutex mutex_;  // taken without the interpreter
  std::unique_ptr<RecordIOWriter> writer_;
  bool finished_ = false;
  uint32_t tensors_ = 0;                                      // in the record that is being made
  std::string record_ = std::string(sizeof(tensors_), '\0');  // their number, then the tensors
};

// The slots of the first of these files by its first records: (dtype, dims, levels) each.
std::vector<std::tuple<std::string, std::vector<int64_t>, int>> SlotsOf(
    const std::vector<std::string>& files) {
  std::optional<std::vector<SlotSpec>> slots;
  {
    const InterpreterRelease released;
    const std::string path = ChooseFormat(ExpandFileNames(files).front()).path;
    if (CanBeReadOnceOnly(path)) {
      throw ReadOnceOnly(path, "its records cannot be looked at beforehand, so declare its slots");
    }
    slots = SlotsOfFirstRecords(path);
    Require(slots.has_value(), Escaped(path),
            ": its first records tell no slots: they are no lists of tensors of the same types");
  }
  std::vector<std::tuple<std::string, std::vector<int64_t>, int>> told;
  for (const SlotSpec& slot : *slots) {
    told.emplace_back(ToString(slot.dtype),
                      std::vector<int64_t>(slot.dims.begin(), slot.dims.end()), slot.lod_level);
  }
  return told;
}

}  // namespace

void DefineRecordio(py::module_* module) {
  module->def(
      "recordio_slots", &SlotsOf, py::arg("files"),
      "The slots of RecordIO files of tensors, as the first records of the first file tell:\n"
      "dtype, dims and number of levels each.\n\n"
      "Raises:\n    Error: there is no such file, it is no RecordIO file, or its records "
      "tell none.");
  py::class_<TensorWriter> writer(*module, "RecordIOWriter",
                                  R"(Writes a RecordIO file whose records are tensors.

What is written has the name ``<path>.partial`` until ``close`` gives the file its name, so that a
file of this name is always whole. A writer that is dropped without ``close`` leaves nothing.

Args:
    path: of the file.
    compressor: of ``RecordIOWriter.Compressor``.
    max_num_records: in a chunk, which also ends where it would exceed 1 MiB.
    overwrite: a file that exists is replaced by ``close``; False: it is an error if one does.

Raises:
    Error: the file cannot be created, is no regular file, exists and ``overwrite`` is False, is
        being read by this process, or ``max_num_records`` is less than 1.

Source: PaddlePaddle's fluid.core, 2018.)");
  py::enum_<RecordIOCompressor>(writer, "Compressor", "How the chunks of a file are compressed.")
      .value("NoCompress", RecordIOCompressor::kNone)
      .value("Snappy", RecordIOCompressor::kSnappy);
  writer
      .def(py::init<const std::string&, RecordIOCompressor, int64_t, bool>(), py::arg("path"),
           py::arg("compressor"), py::arg("max_num_records"), py::arg("overwrite") = true)
      .def("append_tensor", &TensorWriter::Append, py::arg("tensor"),
           "Adds a ``LoDTensor`` to the record that is being made: its next slot.\n\n"
           "Raises:\n    Error: it has no values, its levels of detail do not fit its rows, or "
           "the file is closed.")
      .def("complete_append_tensor", &TensorWriter::CompleteRecord,
           "Ends the record that the appended tensors make.\n\n"
           "Raises:\n    Error: there are none, the record is too large, the disk is full, or the "
           "file is closed.")
      .def("close", &TensorWriter::Close,
           "Gives the file its name, and lists it in the manifest beside it, by which readers\n"
           "notice lost chunks and know how many records there are. Again, it does nothing.\n\n"
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
