// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/files/files_program.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/compression/compression.h"
#include "framework/reader/file_format.h"
#include "operators/readers/support/slot_declaration.h"
#include "proto/framework.pb.h"
#include "readers/fields/chosen_fields.h"
#include "readers/fields/fields.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_slots.h"
#include "readers/sources/file_list.h"
#include "readers/sources/inferred_fields.h"
#include "tools/commands/shared/format_attributes.h"
#include "tools/commands/shared/standard_streams.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// What names alone, and the attribute `exclude`, choose of the fields that fit a file, and the
// attributes that are not given.
FittingFields Chosen(const FormatSchema& format, const std::string& path,
                     const FittingFields& fitting, const Strings& names,
                     const AttributeMap& attributes) {
  AttributeMap with_chosen = attributes;
  if (!names.empty()) with_chosen.Set("fields", names);
  try {
    SetChosenFields(format, fitting, &with_chosen);
  } catch (const Error& error) {
    throw error.InFile(path, 0);
  }
  FittingFields chosen = {with_chosen.Get<Strings>("fields"), {}, {}, fitting.notes};
  for (const auto& [name, value] : with_chosen.values()) {
    if (name == "fields" || name == "exclude" || attributes.Has(name)) continue;
    chosen.attributes.Set(name, value);
  }
  return chosen;
}

// Whether the name is that of a program in text.
bool IsProgram(const std::string& path) {
  constexpr std::string_view kExtension = ".pbtxt";
  return path.size() > kExtension.size() &&
         path.compare(path.size() - kExtension.size(), kExtension.size(), kExtension) == 0;
}

// The slots as lines to be pasted: into a command, into a program, and into Python.
void PrintSlots(const NamedSlots& found, bool are_stored, std::ostream* out) {
  *out << "slots that " << (are_stored ? "are stored beside the files" : "fit the first records")
       << ", for recordio write:\n  " << FlagDeclaration(found.slots, found.names)
       << "\nfor a program:\n  " << ProgramDeclaration(found.slots, found.names)
       << "\nfor Python:\n  " << PythonDeclaration(found.slots, found.names) << "\n";
}

}  // namespace

void PrintFields(const std::string& title, const FittingFields& fields, std::ostream* out) {
  const Strings& entries = fields.entries;
  if (!entries.empty()) *out << title << ":\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    *out << (i == 0 ? "  [" : "   ") << QuotedEntry(entries[i])
         << (i + 1 == entries.size() ? "]\n" : ",\n");
  }
  if (!fields.attributes.values().empty()) *out << "with the attributes:\n";
  for (const auto& [name, value] : fields.attributes.values()) {
    *out << "  " << name << ": " << WholeText(value) << "\n";
  }
  for (const std::string& note : fields.notes) *out << "note: " << note << "\n";
  for (const std::string& problem : fields.left_out) *out << "cannot be read: " << problem << "\n";
}

namespace {

// "rows.csv.gz: csv, compressed by gzip".
std::string FormatText(const FormatChoice& choice, const FormatSchema& format) {
  std::string text = StrCat(Escaped(choice.path), ": ", format.tag);
  try {
    const Compression* const compression =
        format.reads_folders ? nullptr : ByteStream(choice.path).compression();
    if (compression != nullptr) text += StrCat(", compressed by ", compression->name);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }  // what is wrong with the file is an error of reading it
  return text;
}

// Says how a file is read whose fields, which fit it as plain JSON, are those of COCO's
// annotations.
std::string HintOfCoco(const std::string& file, const Strings& fields) {
  const Strings names = NamesOf(fields);
  for (const char* name : {"images", "annotations", "categories"}) {
    if (std::find(names.begin(), names.end(), name) == names.end()) return "";
  }
  return StrCat("these are COCO's annotations: coco:", Escaped(file),
                " is their images with boxes, labels and\noutlines, --attribute=images=FOLDER says "
                "where the images lie; dataset.coco in Python\n");
}

}  // namespace

FilesProgram ProgramForFiles(const Strings& names, const Strings& given_fields,
                             const NamedSlots& given_slots, const Strings& given_attributes,
                             OnePassFiles* once, std::ostream* hints, const std::string& command) {
  const OnePassScope scope(once);
  Strings given;
  for (const std::string& name : names) given.push_back(DataName(name));
  const Strings files = ExpandFileNames(given);
  const FormatChoice choice = ChooseFormat(files.front());
  if (choice.schema == nullptr) {
    Require(!IsProgram(choice.path), Escaped(choice.path),
            ": is a program; --startup=", Escaped(choice.path), " shows what its reader yields");
    RefuseFolder(choice.path);
  }
  const FormatSchema& format =
      choice.schema != nullptr ? *choice.schema : FormatByContent(choice.path);
  const auto has_attribute = [&](const char* name) {
    return std::any_of(format.attributes.begin(), format.attributes.end(),
                       [&](const AttributeSchema& schema) { return schema.name == name; });
  };
  Require(given_fields.empty() || has_attribute("fields"), "--field: the format ", format.tag,
          " takes no fields");
  AttributeMap attributes = AttributesOfFlags(format, given_attributes);
  Strings fields = given_fields;
  std::string hint;
  if (given_slots.slots.empty() && format.guess_fields != nullptr && AreChosenByName(fields)) {
    FormatArguments arguments;
    arguments.attributes = attributes;
    for (const std::string& file : files) {
      arguments.files.push_back(FileEntry{SplitFormatPrefix(file).path, ""});
    }
    FittingFields fitting = FieldsThatFit(format, arguments);
    // What cannot be read is shown, unless the flags tell what is to be read.
    const bool by_names = !fields.empty() || attributes.Has("exclude");
    if (!fitting.entries.empty() && (by_names || fitting.left_out.empty())) {
      fitting = Chosen(format, arguments.files.front().path, fitting, fields, attributes);
      attributes.Set("exclude", Strings());  // they are left out now
    }
    if (attributes.Has("infer")) attributes.Set("infer", std::string("sample"));
    if (given_fields.empty()) {
      PrintFields("fields that fit the first records", fitting, hints);
      if (format.tag == "json") hint = HintOfCoco(arguments.files.front().path, fitting.entries);
    }
    fields = fitting.entries;
    for (const auto& [name, value] : fitting.attributes.values()) attributes.Set(name, value);
  }
  proto::ProgramDesc program;
  proto::BlockDesc* const block = program.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  proto::VarDesc* const variable = block->add_vars();
  variable->set_name("files");
  variable->set_persistable(true);
  variable->mutable_type()->set_type(proto::VarType::READER);
  proto::OpDesc* const open = block->add_ops();
  open->set_type("open_files");
  proto::OpDesc::Var* const output = open->add_outputs();
  output->set_parameter("Out");
  output->add_arguments(variable->name());
  const auto add_attribute = [open](const std::string& name, const Strings& values) {
    proto::OpDesc::Attr* const attribute = open->add_attrs();
    attribute->set_name(name);
    attribute->set_type(proto::STRINGS);
    for (const std::string& value : values) attribute->add_strings(value);
  };
  Strings with_format;
  for (const std::string& file : files) {
    with_format.push_back(StrCat(format.tag, ":", SplitFormatPrefix(file).path));
  }
  add_attribute("file_names", with_format);
  if (!fields.empty()) add_attribute("fields", fields);
  SetAttributes(attributes, open);
  Strings slot_names = fields.empty() ? format.slot_names : NamesOf(fields);
  std::optional<NamedSlots> slots;
  bool are_stored = false;  // so that the reader finds them, too, and which of them are text
  if (!given_slots.slots.empty()) {
    slots = given_slots;
  } else if (format.tag == "recordio") {
    Strings paths;
    for (const std::string& file : files) paths.push_back(SplitFormatPrefix(file).path);
    slots = StoredSlots(paths);
    are_stored = slots.has_value();
    if (!are_stored) {
      if (const auto first = SlotsOfFirstRecords(paths.front())) slots = NamedSlots{*first, {}};
    }
    if (slots) PrintSlots(*slots, are_stored, hints);
  }
  if (slots) {
    if (!are_stored) DeclareSlots(slots->slots, variable);
    slot_names = slots->names;
  } else if (has_attribute("content") &&
             !attributes.Has("content")) {  // no declaration fits records of tensors
    proto::OpDesc::Attr* const attribute = open->add_attrs();
    attribute->set_name("content");
    attribute->set_type(proto::STRING);
    attribute->set_s("bytes");
  }
  return {Program::FromString(program.SerializeAsString(), command), std::move(slot_names),
          format.tag, FormatText(choice, format), std::move(hint)};
}

}  // namespace millhopper
