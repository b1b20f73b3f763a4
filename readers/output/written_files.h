// SPDX-License-Identifier: Apache-2.0
// Writes the elements of a reader to a set of files of one format.
#ifndef MILLHOPPER_READERS_OUTPUT_WRITTEN_FILES_H_
#define MILLHOPPER_READERS_OUTPUT_WRITTEN_FILES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/io/output_file.h"
#include "framework/reader/reader.h"
#include "readers/fields/named_slots.h"
#include "readers/output/file_writer.h"

namespace millhopper {

// When a file of several ends: with the record with which it has as many records, or bytes before
// compression, as one of these. 0 is no limit.
struct ShardSize {
  uint64_t records = 0;
  uint64_t bytes = 0;

  bool is_limit() const { return records > 0 || bytes > 0; }
};

// A name of files: "out-{shard:05}.csv" stands for out-00000.csv, out-00001.csv and so on, and one
// without {shard} for one file.
class ShardNames {
 public:
  // Throws kInvalidArgument for braces that mean something else, and two of them.
  explicit ShardNames(std::string name);

  bool are_many() const { return begin_ != std::string::npos; }
  std::string operator[](uint64_t shard) const;

 private:
  std::string name_;
  size_t begin_ = std::string::npos, end_ = 0;
  size_t width_ = 0;
};

// What was written.
struct Written {
  struct File {
    std::string path;
    uint64_t records = 0;
    uint64_t bytes = 0;  // as stored
  };

  uint64_t records() const;

  std::vector<File> files;
  // The names by which readers open them: "mds:out/index.json" instead of the shards of MDS.
  std::vector<std::string> inputs;
  // With which Reader.open_files and programs read the same elements back.
  std::vector<std::string> fields;
  AttributeMap attributes;
  NamedSlots slots;  // if neither the files nor fields tell their names; else none
};

// A set of files that are being written. They get their names together, in Publish; until then
// those that they replace stay as they are, and nothing is left of them if there is an error. One
// thread.
class WrittenFiles {
 public:
  // Opens the first file. `name` may have a prefix ("csv:out.txt"). Throws kInvalidArgument, naming
  // the slot, for slots that the format cannot hold, before it opens anything; and what ShardNames,
  // ChooseWriter and OutputFile throw.
  WrittenFiles(const std::string& name, const NamedSlots& slots, const ShardSize& size,
               const OutputRules& rules);

  // Adds an element. Throws kInvalidArgument, with its number, for one that the format cannot hold.
  void Write(const std::vector<LoDTensor>& element);
  // Ends the last file. Throws kInvalidArgument if files of more shards are left from an earlier
  // output, which would be read with these. Called before Publish of any of several outputs that
  // are to be there together.
  void Prepare();
  // Gives the files their names, after Prepare, which it calls otherwise. Called once, last.
  Written Publish();

  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_ + (files_.empty() ? 0 : files_.back()->bytes()); }
  // Whether standard output is the file, so that nothing else may be printed there.
  bool is_standard_output() { return files_.front()->output().is_standard_output(); }
  // A file that will lie beside them; "" if there is none. No other output may have the same.
  std::string beside() const { return format_->Beside(names_[0]); }

 private:
  void Open();
  // Notes what stands in the place of a null, which is not written, or is NaN: the default of a
  // field. Throws
  // kInvalidArgument if it is something else than in the place of another null, and would be lost.
  void NoteDefaults(const std::vector<LoDTensor>& element);

  const WriterChoice choice_;
  const ShardNames names_;
  const ShardSize size_;
  OutputRules rules_;
  std::unique_ptr<const OutputFormat> format_;
  std::vector<std::unique_ptr<FileWriter>> files_;
  std::vector<uint64_t> counts_;  // of records, by file
  // By slot of the format: whether a NaN, of which there was none so far, is written as a null; the
  // values in the place of nulls, if there were any, and what they are
  // as text, "" for 0 and nothing.
  std::vector<bool> may_write_nan_as_null_;
  std::vector<std::optional<std::string>> null_values_;
  std::vector<std::string> defaults_;
  bool is_prepared_ = false;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;  // of the files before the last one
  std::vector<LoDTensor> on_host_;
};

// The slots of the elements that a reader will yield, for WrittenFiles: those that it tells, or the
// file that it opens. Where these do not tell types and lengths, they are those of the first
// element, which is read for that and left in *first.
NamedSlots SlotsToWrite(ReaderBase* reader, std::vector<std::string> names,
                        std::vector<LoDTensor>* first);

// Writes all elements that a reader yields until its pass ends. `progress` is called after each
// element.
void WriteElements(
    ReaderBase* reader, const std::vector<LoDTensor>& first, WrittenFiles* files,
    const std::function<void()>& progress = [] {});

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_OUTPUT_WRITTEN_FILES_H_
