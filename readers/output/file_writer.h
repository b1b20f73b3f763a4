// SPDX-License-Identifier: Apache-2.0
// Formats that can be written. An element of a reader becomes a record:
//
//   FileWriter    writes one file, record after record
//   OutputFormat  what all files of one output have in common: the slots. It opens the files and
//   gives
//                 them their names
//
// A format is written by one source in its folder in readers/formats, with one REGISTER_FILE_WRITER
// line under the tag that it is read by. What it cannot hold of the slots it refuses when it is
// made, before anything is written.
#ifndef MILLHOPPER_READERS_OUTPUT_FILE_WRITER_H_
#define MILLHOPPER_READERS_OUTPUT_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/io/compression/compression.h"
#include "framework/io/output_file.h"
#include "framework/tensor/tensor.h"
#include "readers/output/output_slots.h"

namespace millhopper {

// One file, which has its name once it is published. One thread at a time.
class FileWriter {
 public:
  FileWriter() = default;
  virtual ~FileWriter() = default;
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Adds the record of an element, whose tensors are on the host. Throws kInvalidArgument for one
  // that the format cannot hold, and what OutputFile throws.
  virtual void Write(const std::vector<LoDTensor>& element) = 0;
  // Ends the file, which has no name yet. Called once, last.
  virtual void Finish() = 0;
  virtual OutputFile& output() = 0;
  // What was written so far, before compression, with what is in memory. Equal elements have equal
  // bytes, so that files end after the same records in every run.
  virtual uint64_t bytes() const = 0;
};

// For formats whose records are bytes one after another. A name that ends in .gz or .zst is one of
// a compressed file.
class BufferedWriter : public FileWriter {
 public:
  BufferedWriter(std::string path, const OutputRules& rules);

  void Write(const std::vector<LoDTensor>& element) final;
  void Finish() final;
  OutputFile& output() final { return output_; }
  uint64_t bytes() const final { return flushed_ + buffer_.size(); }

 protected:
  // Appends the bytes of a record.
  virtual void Append(const std::vector<LoDTensor>& element, std::string* out) = 0;
  // Appends what ends the file.
  virtual void AppendEnd(std::string*) {}
  // Called when all bytes have been written, before the file is ended.
  virtual void BeforeFinish() {}
  // What stands before the records; by the constructor.
  void Begin(const std::string& bytes) { buffer_ += bytes; }

 private:
  void Flush(bool last);

  OutputFile output_;
  std::unique_ptr<FrameEncoder> encoder_;  // null: it is not compressed
  std::string buffer_, encoded_;
  uint64_t flushed_ = 0;
};

// A format with the slots of one output.
class OutputFormat {
 public:
  explicit OutputFormat(std::vector<OutputSlot> slots) : slots_(std::move(slots)) {}
  virtual ~OutputFormat() = default;
  OutputFormat(const OutputFormat&) = delete;
  OutputFormat& operator=(const OutputFormat&) = delete;

  // Begins a file, whose first record is number `first_record` of the output. Throws what
  // OutputFile throws.
  virtual std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                           uint64_t first_record) const = 0;
  // A file that lies beside those of an output and tells of all of them, such as an index; "" if
  // there is none. `path` is that of one of them.
  virtual std::string Beside(const std::string&) const { return ""; }
  // Ends all files of an output, in order, at least one, and gives them their names, with those
  // beside them. Throws what OutputFile throws.
  virtual void Publish(const std::vector<FileWriter*>& files, const OutputRules& rules) const;
  // The fields with which a reader of the files yields these elements; none if the files tell it
  // themselves, or one a slot. Those of the slots' names and types, unless a format says otherwise.
  virtual std::vector<std::string> Fields() const;
  // Whether a float of a slot without a mask that is no number is written as a null: then the field
  // that reads it has NaN as its default.
  virtual bool WritesNanAsNull(const OutputSlot&) const { return false; }
  // The names of the slots, if neither the files nor fields tell them.
  virtual std::vector<std::string> Names() const { return {}; }
  // Other attributes of the format that they go with.
  virtual AttributeMap Attributes() const { return {}; }

  const std::vector<OutputSlot>& slots() const { return slots_; }

 private:
  const std::vector<OutputSlot> slots_;
};

// How a format that can be written presents itself. Built fluently by the function given to
// REGISTER_FILE_WRITER.
struct WriterSchema {
  explicit WriterSchema(std::string text) : doc(std::move(text)) {}
  // Files may be compressed as a whole.
  WriterSchema& Compresses() {
    compresses = true;
    return *this;
  }
  // File names with this end are of this format, besides those that are so for readers.
  WriterSchema& Extension(std::string end) {
    extension = std::move(end);
    return *this;
  }

  std::string tag;  // set by the registry
  std::string doc;  // what it holds, in one line
  bool compresses = false;
  std::string extension;
  // Throws kInvalidArgument, naming the slot, for slots that the format cannot hold.
  std::unique_ptr<OutputFormat> (*make)(const NamedSlots& slots) = nullptr;
};

using MakeOutput = std::unique_ptr<OutputFormat> (*)(const NamedSlots& slots);

// As RegisterFileFormat.
bool RegisterFileWriter(const std::string& tag, WriterSchema schema, MakeOutput make);
std::vector<std::string> FileWriterTags();  // sorted

#define REGISTER_FILE_WRITER(tag, schema, make)                   \
  [[maybe_unused]] static const bool registered_writer_##tag##_ = \
      ::millhopper::RegisterFileWriter(#tag, schema(), make)

// The name of an output without its prefix, and its format, by its prefix ("jsonl:") or its
// extension.
struct WriterChoice {
  std::string path;
  const WriterSchema* schema = nullptr;
};
// Throws kInvalidArgument for a format that cannot be written, or for a compression that it does
// not have.
WriterChoice ChooseWriter(const std::string& name);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_OUTPUT_FILE_WRITER_H_
