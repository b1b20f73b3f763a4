// SPDX-License-Identifier: Apache-2.0
// create_<format>_file_reader for every registered format: one file, one reader. The operators
// are made on demand, so a new format only has to be registered.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/slot_declaration.h"
#include "readers/sources/open_files.h"

namespace millhopper {
namespace {

constexpr char kBegin[] = "create_";
constexpr char kEnd[] = "_file_reader";

// Null if the type is not of this family or its format is not registered.
const FormatSchema* FormatOfType(const std::string& type) {
  const size_t begin = sizeof(kBegin) - 1;
  const size_t end = sizeof(kEnd) - 1;
  if (type.size() <= begin + end || type.compare(0, begin, kBegin) != 0 ||
      type.compare(type.size() - end, end, kEnd) != 0) {
    return nullptr;
  }
  return FindFileFormat(type.substr(begin, type.size() - begin - end));
}

OpSchema SchemaFor(const FormatSchema& format) {
  OpSchema schema = ReaderCreationSchema("Reads one file. " + format.doc);
  schema.Attr(AttributeSchema("filename", "", "the file; it may begin with \"" + format.tag + ":\"")
                  .Required()
                  .NamesRecords(format.tag));
  schema.Attr(BufferTypeAttribute());
  if (!format.companion_name.empty())
    schema.Attr({format.companion_name, "", format.companion_doc});
  for (const AttributeSchema& attribute : format.attributes) schema.Attr(attribute);
  schema.Check([](const proto::OpDesc&, const AttributeMap& attributes) {
    Require(!attributes.Get<std::string>("filename").empty(), "attribute 'filename' is empty");
  });
  return WithSlotAttributes(std::move(schema));
}

void CreateFileReader(OpContext& context) {
  const FormatSchema& format = *FormatOfType(context.type());
  FormatArguments arguments;
  for (const AttributeSchema& attribute : format.attributes) {
    arguments.attributes.Set(attribute.name, context.attributes().values().at(attribute.name));
  }
  const std::string companion = format.companion_name.empty()
                                    ? std::string()
                                    : context.Attr<std::string>(format.companion_name);
  arguments.has_companions = !companion.empty();
  arguments.buffer_type = BufferTypeOf(context);
  arguments.declared = SlotsDeclaredFor(context, SlotsKnownTo(&format, arguments));
  arguments.declaration = DeclarationIn(*context.program());
  StoreReader(context, OpenFile(format, context.Attr<std::string>("filename"), companion,
                                std::move(arguments)));
}

const OperatorDef* FindFileReaderOperator(const std::string& type) {
  static auto* const defs = new std::map<std::string, OperatorDef>;
  static std::mutex mutex;
  const FormatSchema* format = FormatOfType(type);
  if (format == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = defs->find(type);
  if (found == defs->end()) {
    found = defs->emplace(type, OperatorDef{type, SchemaFor(*format), CreateFileReader}).first;
  }
  return &found->second;
}

std::vector<std::string> FileReaderOperatorTypes() {
  std::vector<std::string> types;
  for (const std::string& tag : FileFormatTags()) types.push_back(kBegin + tag + kEnd);
  return types;
}

[[maybe_unused]] const bool registered_file_readers =
    RegisterOperatorLookup({FindFileReaderOperator, FileReaderOperatorTypes});

}  // namespace
}  // namespace millhopper
