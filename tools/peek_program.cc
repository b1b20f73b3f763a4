// SPDX-License-Identifier: Apache-2.0
#include "tools/peek_program.h"

#include <algorithm>
#include <optional>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "proto/framework.pb.h"
#include "readers/file_list.h"
#include "readers/recordio_slots.h"
#include "tools/standard_streams.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// The entries as a list that can be pasted into a program ("strings: [...]") and into Python.
void PrintFields(const Strings& fields, std::ostream* out) {
  *out << "fields that fit the first records:\n";
  for (size_t i = 0; i < fields.size(); ++i) {
    const char quote = fields[i].find('"') == std::string::npos ? '"' : '\'';
    *out << (i == 0 ? "  [" : "   ") << quote << Escaped(fields[i]) << quote
         << (i + 1 == fields.size() ? "]\n" : ",\n");
  }
}

// The slots as lines to be pasted: into a program, and into Python.
void PrintSlots(const std::vector<SlotSpec>& slots, const proto::VarDesc& variable,
                std::ostream* out) {
  const std::string program = variable.type().ShortDebugString();
  *out << "slots that fit the first records, for recordio write:\n  --slots='" << SlotsText(slots)
       << "'\nfor a program:\n  type { " << program << "}\nfor Python:\n  slots={";
  for (size_t i = 0; i < slots.size(); ++i) {
    *out << (i == 0 ? "" : ", ") << "\"slot" << i << "\": (\"" << ToString(slots[i].dtype) << "\", "
         << ToString(slots[i].dims);
    if (slots[i].lod_level > 0) *out << ", " << slots[i].lod_level;
    *out << ")";
  }
  *out << "}\n";
}

// Declares the slots of a reader's variable.
void Declare(const std::vector<SlotSpec>& slots, proto::VarDesc* variable) {
  for (const SlotSpec& slot : slots) {
    auto* const tensor = variable->mutable_type()->mutable_reader()->add_lod_tensor();
    tensor->mutable_tensor()->set_data_type(
        static_cast<proto::VarType::Type>(static_cast<int>(slot.dtype)));
    for (const int64_t dim : slot.dims) tensor->mutable_tensor()->add_dims(dim);
    if (slot.lod_level > 0) tensor->set_lod_level(slot.lod_level);
  }
}

}  // namespace

std::shared_ptr<const Program> ProgramForFiles(const Strings& names, const Strings& given_fields,
                                               OnePassFiles* once, std::ostream* hints) {
  const OnePassScope scope(once);
  Strings given;
  for (const std::string& name : names) given.push_back(DataName(name));
  const Strings files = ExpandFileNames(given);
  const FormatChoice choice = ChooseFormat(files.front());
  const FormatSchema& format =
      choice.schema != nullptr ? *choice.schema : FormatByContent(choice.path);
  const auto has_attribute = [&](const char* name) {
    return std::any_of(format.attributes.begin(), format.attributes.end(),
                       [&](const AttributeSchema& schema) { return schema.name == name; });
  };
  Require(given_fields.empty() || has_attribute("fields"), "--field: the format ", format.tag,
          " takes no fields");
  Strings fields = given_fields;
  if (fields.empty() && format.guess_fields != nullptr) {
    fields = format.guess_fields(SplitFormatPrefix(files.front()).path, format.WithDefaults({}));
    if (!fields.empty()) PrintFields(fields, hints);
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
  std::optional<std::vector<SlotSpec>> slots;
  if (format.tag == "recordio") {
    slots = SlotsOfFirstRecords(SplitFormatPrefix(files.front()).path);
  }
  if (slots) {
    Declare(*slots, variable);
    PrintSlots(*slots, *variable, hints);
  } else if (has_attribute("content")) {  // no declaration fits records of tensors
    proto::OpDesc::Attr* const attribute = open->add_attrs();
    attribute->set_name("content");
    attribute->set_type(proto::STRING);
    attribute->set_s("bytes");
  }
  return Program::FromString(program.SerializeAsString(), "peek");
}

}  // namespace millhopper
