// SPDX-License-Identifier: Apache-2.0
// create_plugin_reader: files whose records the parser of a plugin turns into tensors.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/place.h"
#include "framework/program/infer_context.h"
#include "framework/reader/parser_plugins.h"
#include "operators/readers/support/reader_creation.h"
#include "proto/framework.pb.h"
#include "readers/sources/open_files.h"
#include "readers/sources/plugin_reader.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

const std::string kBytes = "bytes";

// The format of the files: lines, unless their names tell another one.
const FormatSchema& RecordsOf(const Strings& file_names) {
  const FormatSchema* const named = FormatOf(file_names);
  const FormatSchema* const format = named == nullptr ? FindFileFormat("text") : named;
  Require(format != nullptr, "the names of the files tell no format, and there is no format text");
  return *format;
}

// The attributes of the format. Where it can give records as bytes, it does so without being told.
std::vector<AttributeSchema> FormatAttributes(const proto::OpDesc& op) {
  Strings names;
  for (const proto::OpDesc::Attr& attribute : op.attrs()) {
    if (attribute.name() == "file_names") {
      names.assign(attribute.strings().begin(), attribute.strings().end());
    }
  }
  std::vector<AttributeSchema> attributes = RecordsOf(names).attributes;
  for (AttributeSchema& attribute : attributes) {
    const Strings& words = attribute.words;
    if (std::count(words.begin(), words.end(), kBytes) > 0) attribute.default_value = kBytes;
  }
  return attributes;
}

const ParserPlugin& Parser(const AttributeMap& attributes) {
  const std::string& path = attributes.Get<std::string>("parser");
  const ParserPlugin* const plugin = FindParserPlugin(path);
  if (plugin != nullptr) return *plugin;
  std::string allowed;
  for (const std::string& other : ParserPluginPaths()) {
    allowed += (allowed.empty() ? " (allowed: " : ", ") + Escaped(other);
  }
  Throw(ErrorCode::kInvalidArgument, "attribute 'parser' is '", Escaped(path),
        "', which nobody has allowed", allowed, allowed.empty() ? "" : ")",
        "; --plugin with its absolute path allows it, as does millhopper.load_plugin in Python");
}

void Infer(InferContext& context) {
  std::vector<TensorSpec> slots;
  for (const SlotSpec& slot : Parser(context.attributes()).slots) slots.push_back(SpecOf(slot));
  context.SetOutVar("Out", {{}, std::move(slots)});
}

OpSchema PluginReaderSchema() {
  return ReaderCreationSchema(
             "Reads files, one record of each in turn, and has the parser of a plugin make the "
             "tensors of each record. The parser declares the slots.")
      .Attr(AttributeSchema("parser", "",
                            "absolute path of the parser's library, as --plugin has allowed it")
                .Required())
      .Attr(AttributeSchema("file_names", Strings{},
                            "files, globs and ranges {00000..00127}, each with an optional format "
                            "and colon before it; without a format their records are lines. "
                            "Records must be bytes; the attributes of the format are accepted, too")
                .Required()
                .NamesRecords())
      .Attr(AttributeSchema("thread_num", int32_t{0},
                            "how many threads read, and how many parse, at once; 0: as many as "
                            "there are devices, or all of them where the host is the only one")
                .AtLeast(0))
      .Attr(AttributeSchema("buffer_size", int32_t{256},
                            "how many records are read ahead; the threads wait while there are so "
                            "many")
                .AtLeast(1))
      .Attr(BufferTypeAttribute())
      .MoreAttrs(FormatAttributes)
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        Require(!attributes.Get<Strings>("file_names").empty(), "attribute 'file_names' is empty");
        Parser(attributes);
      })
      .Infer(Infer);
}

void CreatePluginReader(OpContext& context) {
  const auto& names = context.Attr<Strings>("file_names");
  const FormatSchema& records = RecordsOf(names);
  FormatArguments arguments;
  for (const AttributeSchema& attribute : records.attributes) {
    arguments.attributes.Set(attribute.name, context.attributes().values().at(attribute.name));
  }
  arguments.buffer_type = BufferTypeOf(context);
  MultiFileOptions options;
  options.thread_num = static_cast<size_t>(context.Attr<int32_t>("thread_num"));
  if (options.thread_num == 0) options.thread_num = DeviceNames().size();
  options.buffer_size = static_cast<size_t>(context.Attr<int32_t>("buffer_size"));
  StoreReader(context, OpenPluginReader(names, records, std::move(arguments),
                                        Parser(context.attributes()), options));
}

REGISTER_OPERATOR(create_plugin_reader, PluginReaderSchema, CreatePluginReader);

}  // namespace
}  // namespace millhopper
