// SPDX-License-Identifier: Apache-2.0
#include "readers/output/file_writer.h"

#include <algorithm>
#include <map>

#include "framework/base/error.h"
#include "framework/base/registration.h"
#include "framework/reader/file_format.h"

namespace millhopper {
namespace {

constexpr size_t kFlushedBytes = size_t{1} << 20;

std::map<std::string, WriterSchema>& Registry() {
  static auto* registry = new std::map<std::string, WriterSchema>;  // never destroyed
  return *registry;
}

// Null if there is none.
const WriterSchema* FindWriter(const std::string& tag) {
  const auto found = Registry().find(tag);
  return found == Registry().end() ? nullptr : &found->second;
}

bool EndsIn(const std::string& text, const std::string& end) {
  return !end.empty() && text.size() > end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// "csv, jsonl and npy".
std::string ListOfTags() {
  std::string text;
  const std::vector<std::string> tags = FileWriterTags();
  for (size_t i = 0; i < tags.size(); ++i) {
    text += StrCat(i == 0 ? "" : i + 1 == tags.size() ? " and " : ", ", tags[i]);
  }
  return text;
}

}  // namespace

BufferedWriter::BufferedWriter(std::string path, const OutputRules& rules)
    : output_(std::move(path), rules) {
  const Compression* const compression = CompressionByName(output_.path());
  if (compression != nullptr) encoder_ = compression->make_encoder();
}

void BufferedWriter::Write(const std::vector<LoDTensor>& element) {
  Append(element, &buffer_);
  if (buffer_.size() >= kFlushedBytes) Flush(false);
}

void BufferedWriter::Flush(bool last) {
  flushed_ += buffer_.size();
  if (encoder_ == nullptr) {
    output_.Write(buffer_);
  } else {
    encoded_.clear();
    encoder_->Encode(buffer_.data(), buffer_.size(), last, &encoded_);
    output_.Write(encoded_);
  }
  buffer_.clear();
}

void BufferedWriter::Finish() {
  AppendEnd(&buffer_);
  Flush(true);
  buffer_ = std::string();  // of many files there may be more than memory has room for
  encoder_.reset();
  BeforeFinish();
  output_.Finish();
}

void OutputFormat::Publish(const std::vector<FileWriter*>& files, const OutputRules&) const {
  std::vector<OutputFile*> outputs;
  outputs.reserve(files.size());
  for (FileWriter* file : files) outputs.push_back(&file->output());
  PublishInOrder(outputs);
}

std::vector<std::string> OutputFormat::Fields() const {
  std::vector<std::string> fields;
  for (const OutputSlot& slot : slots_) fields.push_back(FieldOf(slot, slot.name));
  return fields;
}

bool RegisterFileWriter(const std::string& tag, WriterSchema schema, MakeOutput make) {
  schema.tag = tag;
  schema.make = make;
  const bool added = Registry().emplace(tag, std::move(schema)).second;
  if (added) {
    NoteRegistration([tag] { Registry().erase(tag); });
  } else {
    RefuseRegistration("writer of files '" + tag + "'");
  }
  return added;
}

std::vector<std::string> FileWriterTags() {
  std::vector<std::string> tags;
  for (const auto& entry : Registry()) tags.push_back(entry.first);
  return tags;
}

WriterChoice ChooseWriter(const std::string& name) {
  const FormatChoice format = ChooseFormat(name);
  const std::string path = format.path.empty() ? name : format.path;
  const std::string plain = WithoutCompression(path);
  WriterChoice choice{path, nullptr};
  if (format.schema != nullptr) {
    choice.schema = FindWriter(format.schema->tag);
    Require(choice.schema != nullptr, Escaped(name), ": files of the format ", format.schema->tag,
            " cannot be written; ", ListOfTags(), " can");
  } else {
    const auto found = std::find_if(Registry().begin(), Registry().end(), [&](const auto& entry) {
      return EndsIn(plain, entry.second.extension);
    });
    Require(
        found != Registry().end(), Escaped(name),
        ": its name tells no format that can be written; give it an extension such as .csv, or a "
        "prefix: ",
        ListOfTags());
    choice.schema = &found->second;
  }
  const Compression* const compression = CompressionByName(path);
  Require(compression == nullptr || choice.schema->compresses, Escaped(name), ": ",
          choice.schema->tag, " is not written into files that are compressed as a whole");
  Require(compression == nullptr || compression->make_encoder != nullptr, Escaped(name),
          ": files are not compressed by ", compression == nullptr ? "" : compression->name,
          "; names that end in .gz and .zst are possible");
  return choice;
}

}  // namespace millhopper
