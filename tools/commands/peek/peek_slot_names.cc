// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_slot_names.h"

#include <algorithm>
#include <map>
#include <optional>

#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/reader/file_format.h"
#include "operators/readers/support/slot_names.h"
#include "proto/framework.pb.h"
#include "readers/fields/fields.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// The value of an attribute that is a text or a list of texts.
Strings TextsOf(const proto::OpDesc& op, const std::string& name) {
  for (const proto::OpDesc::Attr& attribute : op.attrs()) {
    if (attribute.name() != name) continue;
    if (attribute.has_s()) return {attribute.s()};
    return {attribute.strings().begin(), attribute.strings().end()};
  }
  return {};
}

// Those that the files' manifests tell, or their format, or the fields that `op` infers.
Strings NamesOfFiles(const Strings& files, const proto::OpDesc& op) {
  const FormatSchema* const format = FormatOf(files);
  if (format == nullptr || format->tag == "recordio") {
    Strings paths;
    for (const std::string& file : files) paths.push_back(SplitFormatPrefix(file).path);
    if (const std::optional<NamedSlots> stored = StoredSlots(paths)) return stored->names;
  }
  const auto report = [](const OperatorPart&, const std::string&) {};  // it has been checked
  return SlotNamesOfFiles(files,
                          CheckAttributes(FindOperator(op.type())->schema, op, report).values());
}

// The names that each operator, by its place in the block, was found to give: several readers may
// stand on one, whose files should be looked at once.
using NamesByPlace = std::map<int, Strings>;

Strings NamesOfReader(const proto::BlockDesc& block, int end, const std::string& reader,
                      NamesByPlace* known);

// The names that an operator of the first block gives to the slots of the reader that it creates.
Strings NamesGivenBy(const proto::BlockDesc& block, int place, NamesByPlace* known) {
  const proto::OpDesc& op = block.ops(place);
  const OpSchema& schema = FindOperator(op.type())->schema;
  if (const Strings fields = TextsOf(op, "fields"); !fields.empty()) return NamesOf(fields);
  for (const AttributeSchema& attribute : schema.attributes) {
    if (!attribute.names_records) continue;
    const std::string& format = attribute.record_format;
    if (!format.empty() && format != "recordio") return FindFileFormat(format)->slot_names;
    return NamesOfFiles(ExpandFileNames(TextsOf(op, attribute.name)), op);
  }
  Strings sinks = TextsOf(op, "sink_var_names");
  if (!sinks.empty() && schema.composition != Composition::kSameSlots) return sinks;
  // A reader that zips others has the slots of all of them, any other that of one of them.
  const bool joins = schema.composition == Composition::kSideBySide;
  Strings names;
  bool is_first = true;
  for (const proto::OpDesc::Var& input : op.inputs()) {
    for (const std::string& below : input.arguments()) {
      const Strings more = NamesOfReader(block, place, below, known);
      if (more.empty() || (!joins && !is_first && more != names)) return {};
      if (joins || is_first) names.insert(names.end(), more.begin(), more.end());
      is_first = false;
    }
  }
  return names;
}

// The names that the operators before `end` of the first block give to the slots of a reader.
Strings NamesOfReader(const proto::BlockDesc& block, int end, const std::string& reader,
                      NamesByPlace* known) {
  const auto has_reader = [&](const proto::OpDesc::Var& variable) {
    const auto& names = variable.arguments();
    return std::count(names.begin(), names.end(), reader) > 0;
  };
  int place = end - 1;
  for (; place >= 0; --place) {
    const auto& outputs = block.ops(place).outputs();
    if (std::any_of(outputs.begin(), outputs.end(), has_reader)) break;
  }
  if (place < 0) return {};
  const auto found = known->find(place);
  if (found != known->end()) return found->second;
  return (*known)[place] = NamesGivenBy(block, place, known);
}

}  // namespace

Strings SlotNamesOf(const Program& program, const std::string& reader,
                    const std::vector<SlotSpec>& slots) {
  const proto::BlockDesc& block = program.desc().blocks(0);
  NamesByPlace known;
  Strings names = NamesOfReader(block, block.ops_size(), reader, &known);
  return names.size() == slots.size() ? names : Strings();
}

}  // namespace millhopper
