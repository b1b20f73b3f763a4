// SPDX-License-Identifier: Apache-2.0
#include "python/core/recordio.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "framework/error.h"
#include "framework/tensor.h"
#include "framework/tensor_stream.h"
#include "python/core/away.h"
#include "readers/recordio_manifest.h"
#include "readers/recordio_writer.h"

namespace py = pybind11;

namespace millrace {
namespace {

RecordIOOptions OptionsFor(RecordIOCompressor compressor, int64_t max_num_records) {
  RecordIOOptions options;
  Require(max_num_records >= 1 && max_num_records <= UINT32_MAX, "max_num_records is ",
          max_num_records, "; a chunk holds at least one record");
  options.compressor = compressor;
  options.chunk_records = static_cast<uint32_t>(max_num_records);
  return options;
}

// Makes records of tensors. Any thread of Python, one at a time; the interpreter is free meanwhile.
class TensorWriter {
 public:
  TensorWriter(const std::string& path, RecordIOCompressor compressor, int64_t max_num_records)
      : path_(path),
        writer_(std::make_unique<RecordIOWriter>(path, OptionsFor(compressor, max_num_records))) {
    RecordIOManifest::LoadIfThere(RecordIOManifest::PathOf(path));  // one that is bad is told now
  }

  // By value: it shares the values, whatever happens to the tensor meanwhile.
  void Append(LoDTensor tensor) {
    const Away away;
    const std::lock_guard<std::mutex> lock(mutex_);
    RequireOpen();
    tensor = tensor.OnHost();
    Require(tensor.initialized() && !tensor.dims().empty(), "tensor ", tensors_,
            " of the record has no values, or no axis");
    CheckLod(tensor.lod(), static_cast<uint64_t>(tensor.dims()[0]));
    AppendTensor(tensor, &record_);
    ++tensors_;
  }

  void CompleteRecord() {
    const Away away;
    const std::lock_guard<std::mutex> lock(mutex_);
    RequireOpen();
    Require(tensors_ > 0, "a record of no tensors; append_tensor comes first");
    std::memcpy(record_.data(), &tensors_, sizeof(tensors_));
    writer_->Write(record_);
    record_.resize(sizeof(tensors_));
    tensors_ = 0;
  }

  void Close() {
    const Away away;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (writer_ == nullptr) return;
    Require(tensors_ == 0, Escaped(path_), ": ", tensors_,
            " tensors belong to no record; complete_append_tensor makes one of them");
    const std::unique_ptr<RecordIOWriter> writer = std::move(writer_);
    const std::string manifest = RecordIOManifest::PathOf(path_);
    RecordIOManifest::LoadIfThere(manifest).Relist(manifest, {path_}, [&writer](size_t) {
      writer->Close();
      return RecordIOCounts{writer->bytes(), writer->chunks(), writer->records()};
    });
  }

  void Discard() {
    const Away away;
    const std::lock_guard<std::mutex> lock(mutex_);
    writer_.reset();
  }

 private:
  void RequireOpen() const {
    Require(writer_ != nullptr, Escaped(path_), ": this file has been closed");
  }

  const std::string path_;
  std::mutex mutex_;  // taken without the interpreter
  std::unique_ptr<RecordIOWriter> writer_;
  uint32_t tensors_ = 0;                                      // of the record that is being made
  std::string record_ = std::string(sizeof(tensors_), '\0');  // their number, then the tensors
};

}  // namespace

void DefineRecordio(py::module_* module) {
  py::class_<TensorWriter> writer(*module, "RecordIOWriter",
                                  R"(Writes a RecordIO file whose records are tensors.

What is written has the name ``<path>.partial`` until ``close`` gives the file its name, so that a
file of this name is always whole. A writer that is dropped without ``close`` leaves nothing.

Args:
    path: of the file; one that exists is replaced by ``close``.
    compressor: of ``RecordIOWriter.Compressor``.
    max_num_records: in a chunk, which also ends where it would exceed 1 MiB.

Raises:
    Error: the file cannot be created, or ``max_num_records`` is less than 1.

Source: PaddlePaddle's fluid.core, 2018.)");
  py::enum_<RecordIOCompressor>(writer, "Compressor", "How the chunks of a file are compressed.")
      .value("NoCompress", RecordIOCompressor::kNone)
      .value("Snappy", RecordIOCompressor::kSnappy);
  writer
      .def(py::init<const std::string&, RecordIOCompressor, int64_t>(), py::arg("path"),
           py::arg("compressor"), py::arg("max_num_records"))
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
      .def("discard", &TensorWriter::Discard,
           "Removes what was written; a file of this name stays as it was. Does nothing after "
           "``close``.");
}

}  // namespace millrace
