// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/default_lanes.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "readers/sources/file_list.h"

namespace millhopper {
namespace {

constexpr size_t kFewestInLane = 4;  // elements, in a window and in all
// Of files that do not tell how many records they have.
constexpr uint64_t kFewestBytes = uint64_t{4} << 10;
constexpr uint64_t kMostLookedAt = uint64_t{16} << 20;  // bytes of files

using Consumers = std::map<std::string, std::vector<const proto::OpDesc*>>;

// The operators that stand on each reader.
Consumers ConsumersIn(const proto::ProgramDesc& program) {
  Consumers consumers;
  for (const proto::OpDesc& op : program.blocks(0).ops()) {
    for (const auto& input : op.inputs()) {
      for (const std::string& name : input.arguments()) consumers[name].push_back(&op);
    }
  }
  return consumers;
}

// The operator that stands on what this one creates; null if none does, or several do.
const proto::OpDesc* Above(const proto::OpDesc& op, const Consumers& consumers) {
  if (op.outputs_size() != 1 || op.outputs(0).arguments_size() != 1) return nullptr;
  const auto found = consumers.find(op.outputs(0).arguments(0));
  const bool has_one = found != consumers.end() && found->second.size() == 1;
  return has_one ? found->second.front() : nullptr;
}

// Whether lanes can have all that the operator says.
bool SaysNothingElse(const proto::OpDesc& files) {
  constexpr const char* kNotOfLanes[] = {"lanes",         "thread_num",     "buffer_size",
                                         "deterministic", "shuffle_chunks", "shuffle_records",
                                         "pass_num"};
  return std::none_of(files.attrs().begin(), files.attrs().end(), [&](const auto& attribute) {
    return std::count(std::begin(kNotOfLanes), std::end(kNotOfLanes), attribute.name()) > 0;
  });
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

const Names& NamesOf(const proto::OpDesc& files) {
  static const auto* const kNone = new Names;
  for (const proto::OpDesc::Attr& attribute : files.attrs()) {
    if (attribute.name() == "file_names") return attribute.strings();
  }
  return *kNone;
}

// How many bytes local files have together; nothing if they are on a server, or too large, or at
// least `most` files, to be looked at. Files of a folder have kFewestBytes each. 0 if one of them
// can be read only once.
std::optional<uint64_t> BytesOfFew(const Names& names, size_t most) {
  uint64_t bytes = 0;
  size_t files = 0;
  const auto add = [&](uint64_t more) {
    bytes += more;
    return ++files < most && bytes < kMostLookedAt;
  };
  const std::function<bool(const std::string&)> add_folder = [&](const std::string& folder) {
    for (const FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
      const bool is_folder = entry.kind == FileStatus::Kind::kDirectory;
      if (is_folder ? !add_folder(StrCat(folder, "/", entry.name)) : !add(kFewestBytes)) {
        return false;
      }
    }
    return true;
  };
  for (const std::string& name : names) {
    if (!IsLocal(SplitFormatPrefix(name).path)) return std::nullopt;
    for (const std::string& file : ExpandFileNames({name})) {
      const std::string path = SplitFormatPrefix(file).path;
      const FileStatus status = FileSystemOf(path).Stat(path);
      if (status.kind == FileStatus::Kind::kOnce) return 0;
      const bool is_folder = status.kind == FileStatus::Kind::kDirectory;
      if (is_folder ? !add_folder(path) : !add(status.size)) return std::nullopt;
    }
  }
  return bytes;
}

// How many records the files have, if that is known without reading them.
std::optional<uint64_t> RecordsOf(const proto::OpDesc& files, const proto::BlockDesc& block) {
  const std::string& name = files.outputs(0).arguments(0);
  proto::ProgramDesc alone;
  proto::BlockDesc* const only = alone.add_blocks();
  only->set_idx(0);
  only->set_parent_idx(-1);
  for (const proto::VarDesc& variable : block.vars()) {
    if (variable.name() == name) *only->add_vars() = variable;
  }
  *only->add_ops() = files;
  Scope scope;
  Executor().Run(Program::FromString(alone.SerializeAsString(), "startup program"),
                 ProgramRole::kStartup, &scope);
  return scope.Find(name)->Get<ReaderHolder>().NewHandle()->PassLength();
}

// Whether the files can be read again, and have `fewest` records or more, as far as is known. What
// is wrong with them is an error when they are read.
bool AreOfUse(const proto::OpDesc& files, const proto::BlockDesc& block, size_t fewest) {
  const Names& names = NamesOf(files);
  const auto is_read_once = [](const std::string& name) {
    const std::string path = SplitFormatPrefix(name).path;
    return CanBeReadOnceOnly(path);
  };
  try {
    if (std::any_of(names.begin(), names.end(), is_read_once)) return false;
    const std::optional<uint64_t> bytes = BytesOfFew(names, fewest);
    if (!bytes) return true;
    const std::optional<uint64_t> records = RecordsOf(files, block);
    return records ? *records >= fewest : *bytes >= kFewestBytes;
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return true;
  }
}

bool SuitsLanes(const proto::OpDesc& files, size_t lanes, bool shares_batches,
                const Consumers& consumers, const proto::BlockDesc& block) {
  if (files.type() != "open_files" || !SaysNothingElse(files)) return false;
  bool is_shuffled = false, is_shared = false;
  for (const proto::OpDesc* op = Above(files, consumers); op != nullptr;
       op = Above(*op, consumers)) {
    const OperatorDef* const def = FindOperator(op->type());
    if (def == nullptr) return false;
    const OpSchema& schema = def->schema;
    bool is_right = true;
    const AttributeMap values =
        CheckAttributes(schema, *op, [&](const auto&, const auto&) { is_right = false; });
    if (!is_right) return false;  // which is an error when the program is loaded
    if (op->type() == "create_shuffle_reader") {
      const auto window = static_cast<size_t>(values.Get<int32_t>("buffer_size"));
      if (!values.Get<bool>("reshuffle") || window < lanes * kFewestInLane) return false;
      is_shuffled = true;
    } else if (op->type() == "create_shard_reader") {
      if (!shares_batches) return false;
      is_shared = true;
    } else if (!schema.by_element) {
      if (!is_shuffled || (!is_shared && op->type() != "create_batch_reader")) return false;
      if (schema.lane_wise != nullptr && schema.lane_wise(values, false)) return false;
      return AreOfUse(files, block, lanes * kFewestInLane);
    }
  }
  return is_shuffled && shares_batches && AreOfUse(files, block, lanes * kFewestInLane);
}

}  // namespace

bool StateLanes(const std::vector<std::string>& sources, size_t lanes, bool shares_batches,
                proto::ProgramDesc* program) {
  if (program->blocks_size() == 0 || lanes < 2 || lanes > kMaxLanes) return false;
  const Consumers consumers = ConsumersIn(*program);
  bool has_stated = false;
  proto::BlockDesc* const block = program->mutable_blocks(0);
  for (proto::OpDesc& op : *block->mutable_ops()) {
    if (op.outputs_size() != 1 || op.outputs(0).arguments_size() != 1) continue;
    if (std::count(sources.begin(), sources.end(), op.outputs(0).arguments(0)) == 0) continue;
    if (!SuitsLanes(op, lanes, shares_batches, consumers, *block)) continue;
    ToProto("lanes", Attribute(static_cast<int32_t>(lanes)), op.add_attrs());
    has_stated = true;
  }
  return has_stated;
}

}  // namespace millhopper
