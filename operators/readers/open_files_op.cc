// SPDX-License-Identifier: Apache-2.0
// open_files: many files as one reader.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/slot_declaration.h"
#include "proto/framework.pb.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/sources/open_files.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// The formats that the files may have: the one that their names tell or, if they tell none, all
// formats that are recognised by the first bytes of a file.
std::vector<const FormatSchema*> PossibleFormats(const Strings& file_names) {
  if (const FormatSchema* format = FormatOf(file_names)) return {format};
  std::vector<const FormatSchema*> formats;
  for (const std::string& tag : FileFormatTags()) {
    const FormatSchema* format = FindFileFormat(tag);
    if (format->matches != nullptr) formats.push_back(format);
  }
  return formats;
}

std::vector<AttributeSchema> FormatAttributes(const proto::OpDesc& op) {
  Strings names;
  for (const proto::OpDesc::Attr& attribute : op.attrs()) {
    if (attribute.name() == "file_names") {
      names.assign(attribute.strings().begin(), attribute.strings().end());
    }
  }
  std::map<std::string, AttributeSchema> schemas;  // two formats may have attributes of one name
  for (const FormatSchema* format : PossibleFormats(names)) {
    for (const AttributeSchema& schema : format->attributes) schemas.emplace(schema.name, schema);
    if (!format->companion_list_name.empty()) {
      AttributeSchema list(format->companion_list_name, Strings{},
                           format->companion_doc + ", paired with file_names by position");
      schemas.emplace(list.name, list);
    }
  }
  std::vector<AttributeSchema> list;
  list.reserve(schemas.size());
  for (const auto& entry : schemas) list.push_back(entry.second);
  return list;
}

PassOrder OrderOf(const AttributeMap& attributes) {
  const auto is = [&attributes](const char* name) { return attributes.Get<bool>(name); };
  const bool whole = is("shuffle_chunks") || is("shuffle_records");
  if (!whole && !is("deterministic")) return {PassOrder::kDiffers, "give it deterministic: true"};
  return whole || is("shuffle_files") ? ShuffledOrder(attributes) : PassOrder();
}

OpSchema OpenFilesSchema() {
  return WithSlotAttributes(
      ReaderCreationSchema("Reads many files as one stream, one record of each file in turn.")
          .Attr(AttributeSchema("file_names", Strings{},
                                "files, globs and ranges {00000..00127}, each with an optional "
                                "format and colon before it; or, to be read once, pipe:COMMAND "
                                "(needs --allow_exec), FIFOs, and - for standard input; the "
                                "attributes of the format are accepted, too")
                    .Required()
                    .NamesRecords())
          .Attr(AttributeSchema("thread_num", int32_t{0},
                                "how many worker threads read these files at once; 0: all of them")
                    .AtLeast(0))
          .Attr(AttributeSchema("buffer_size", int32_t{256}, "how many records are loaded ahead")
                    .AtLeast(1))
          .Attr(AttributeSchema("cycle_length", int32_t{16}, "how many files are read in turn")
                    .AtLeast(1))
          .Attr(AttributeSchema("pass_num", int32_t{1}, "how often the files are read in one pass")
                    .AtLeast(1))
          .Attr(
              {"deterministic", true, "false: a file that is ready may go before one that is not"})
          .Attr({"shuffle_files", false, "read the files in another order each pass"})
          .Attr({"shuffle_chunks", false,
                 "read the chunks of all files in a random order, another in each pass, without "
                 "memory for records that wait; for files whose chunks can be found without "
                 "reading them, so for none that are compressed as a whole; create_shuffle_reader "
                 "on top mixes the records of chunks. cycle_length, deterministic and "
                 "shuffle_files have no effect then, and pass_num must be 1"})
          .Attr({"shuffle_records", false,
                 "read the records of all files in a random order, another in each pass, in memory "
                 "that does not grow with their number; for plain files of the formats fixed, idx "
                 "and npy; "
                 "thread_num, buffer_size, cycle_length, deterministic "
                 "and shuffle_files have no effect then, and pass_num must be 1"})
          .Attr({"seed", int64_t{0}, "decides that order together with --seed and the name of Out"})
          .Attr(ReshuffleAttribute())
          .Order(OrderOf)
          .Attr(
              AttributeSchema(
                  "lanes", int32_t{1},
                  "into how many lanes the chunks of all files are dealt. One thread at a time "
                  "reads, shuffles and maps in a lane, and loads its part of a batch, so that more "
                  "threads are faster. The elements depend on the number of lanes, not on that of "
                  "threads. With 2 or more, thread_num, buffer_size and deterministic have no "
                  "effect")
                  .AtLeast(1))
          .Attr(AttributeSchema(
                    "stripe", int32_t{0},
                    "how many elements of each lane in turn are the stream of lanes; 0: as many as "
                    "make a batch of one stripe of each, or 1")
                    .AtLeast(0))
          .Attr(BufferTypeAttribute())
          .MoreAttrs(FormatAttributes)
          .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
            Require(!attributes.Get<Strings>("file_names").empty(),
                    "attribute 'file_names' is empty");
            CheckLanes(attributes.Get<int32_t>("lanes"));
          }));
}

void OpenFilesOperator(OpContext& context) {
  const auto& names = context.Attr<Strings>("file_names");
  const FormatSchema* known = FormatOf(names);
  FormatArguments arguments;
  Strings companions;
  for (const FormatSchema* format : PossibleFormats(names)) {
    for (const AttributeSchema& attribute : format->attributes) {
      // The first bytes of the files decide the format later. Until then only attributes that the
      // program gives count: the default of a format might not be the one of the files' format.
      if (known == nullptr && !context.IsGiven(attribute.name)) continue;
      arguments.attributes.Set(attribute.name, context.attributes().values().at(attribute.name));
    }
    if (!format->companion_list_name.empty() && context.IsGiven(format->companion_list_name)) {
      companions = context.Attr<Strings>(format->companion_list_name);
    }
  }
  arguments.has_companions = !companions.empty();
  arguments.buffer_type = BufferTypeOf(context);
  arguments.declared = SlotsDeclaredFor(context, SlotsKnownTo(known, arguments));
  arguments.declaration = DeclarationIn(*context.program());
  MultiFileOptions options;
  options.thread_num = static_cast<size_t>(context.Attr<int32_t>("thread_num"));
  options.buffer_size = static_cast<size_t>(context.Attr<int32_t>("buffer_size"));
  options.cycle_length = static_cast<size_t>(context.Attr<int32_t>("cycle_length"));
  options.pass_num = static_cast<uint64_t>(context.Attr<int32_t>("pass_num"));
  options.deterministic = context.Attr<bool>("deterministic");
  options.shuffle_files = context.Attr<bool>("shuffle_files");
  options.shuffle_chunks = context.Attr<bool>("shuffle_chunks");
  options.shuffle_records = context.Attr<bool>("shuffle_records");
  options.key = OrderKeyOf(context);
  const auto lanes = static_cast<size_t>(context.Attr<int32_t>("lanes"));
  if (lanes == 1) {
    StoreReader(context, OpenFiles(names, companions, std::move(arguments), options));
    return;
  }
  LaneSet set = OpenFileLanes(names, companions, std::move(arguments), options, lanes);
  set.stripe = static_cast<size_t>(context.Attr<int32_t>("stripe"));
  StoreReader(context, std::make_unique<LanesReader>(std::move(set)));
}

REGISTER_OPERATOR(open_files, OpenFilesSchema, OpenFilesOperator);

}  // namespace
}  // namespace millhopper
