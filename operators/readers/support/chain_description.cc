// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/chain_description.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/base/version.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/io/saved_name.h"
#include "framework/program/operator_check.h"
#include "framework/program/program.h"
#include "framework/program/run_state.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/tensor_stream.h"
#include "operators/readers/support/element_block.h"
#include "operators/support/loaded_files.h"
#include "proto/framework.pb.h"
#include "readers/cache/element_cache_file.h"
#include "readers/sources/file_list.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

void AddField(std::string_view field, std::string* text) {
  *text += StrCat(field.size(), ":", field, "\n");
}

// An operator without its numbers of objects of this process, which are others in each.
proto::OpDesc WithoutNumbers(const OpSchema& schema, proto::OpDesc op) {
  const Strings& numbers = schema.process_numbers;
  auto* const attributes = op.mutable_attrs();
  attributes->erase(std::remove_if(attributes->begin(), attributes->end(),
                                   [&](const proto::OpDesc::Attr& attribute) {
                                     return std::count(numbers.begin(), numbers.end(),
                                                       attribute.name()) > 0;
                                   }),
                    attributes->end());
  return op;
}

// An operator whose files have the names by which they are saved: what they are signed with is
// another text each day.
proto::OpDesc WithSavedNames(proto::OpDesc op) {
  for (proto::OpDesc::Attr& attribute : *op.mutable_attrs()) {
    if (attribute.has_s()) attribute.set_s(SavedText(attribute.s()));
    for (std::string& text : *attribute.mutable_strings()) text = SavedText(text);
  }
  return op;
}

Strings StringsOf(const proto::OpDesc::Attr& attribute) {
  Strings strings(attribute.strings().begin(), attribute.strings().end());
  if (attribute.has_s()) strings.push_back(attribute.s());
  return strings;
}

// The words of a text such as "label int64[] vocab=words.txt", what stands in quotes, and the text
// itself.
Strings WordsOf(const std::string& text) {
  Strings words = {text};
  for (const char* const ends : {" \t\"=", "\""}) {
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find_first_of(ends, begin), text.size());
      // A query may have what ends other words.
      const std::string_view word = std::string_view(text).substr(begin, end - begin);
      if (FindUrl(word) < word.size()) {
        end = std::min(text.find_first_of(" \t\"", begin), text.size());
      }
      words.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

// The files that a text names, if it names any.
Strings FilesOf(const std::string& text) {
  if (text.empty() || text.find('\0') != std::string::npos) return {};
  try {
    Strings files = ExpandFileNames({text});
    for (std::string& file : files) file = SplitFormatPrefix(file).path;
    return files;
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return {};  // it is no pattern
  }
}

// A path that means the same file wherever the process works.
std::string Absolute(const std::string& path) {
  if (!IsLocal(path)) return path;
  return std::filesystem::absolute(path).lexically_normal().string();
}

// Adds a file if there is one.
void AddFile(const std::string& path, std::set<std::string>* lines) {
  CheckStop();  // there may be millions
  const FileStatus status = FileSystemOf(path).Stat(path);
  if (status.kind == FileStatus::Kind::kOnce) {
    throw ReadOnceOnly(path, "nothing tells whether a cache of it is right, so copy it to a file");
  }
  if (status.kind != FileStatus::Kind::kFile) return;
  lines->insert(StrCat(Escaped(SavedName(Absolute(path))), " ", status.size, " ", status.version));
}

// Adds all files that lie in a folder.
void AddFolder(const std::string& path, int depth, std::set<std::string>* lines) {
  if (depth == kMaxFolderDepth) return;
  for (const FolderEntry& entry : FileSystemOf(path).ListFolder(path)) {
    const std::string inner = PathIn(path, entry.name);
    if (entry.kind == FileStatus::Kind::kDirectory) {
      AddFolder(inner, depth + 1, lines);
    } else {
      AddFile(inner, lines);
    }
  }
}

// The folder that a file lies in, to be listed.
std::string FolderToList(const std::string& path) {
  const std::string_view folder = FolderOf(path);
  if (folder.empty()) return ".";
  return StrCat(folder, std::string_view(path).substr(WithoutQuery(path).size()));
}

}  // namespace

// Follows a chain downwards.
class ChainDescription::Walk {
 public:
  Walk(OpContext& context, bool vouched_for, ChainDescription* description)
      : program_(*context.program()),
        scope_(context.scope()),
        vouched_for_(vouched_for),
        description_(description) {}

  // Adds all readers that the operator stands on.
  void Follow(const proto::OpDesc& op) {
    FindOperator(op);
    AddReadersBelow(op, index_);
  }

 private:
  void FindOperator(const proto::OpDesc& op) {
    for (block_ = 0; block_ < program_.desc().blocks_size(); ++block_) {
      const auto& ops = program_.desc().blocks(block_).ops();
      for (index_ = 0; index_ < ops.size(); ++index_) {
        if (&ops[index_] == &op) return;
      }
    }
    Throw(ErrorCode::kInternal, "the operator is in no block of its program");
  }

  const proto::OpDesc& Op(int index) const { return program_.desc().blocks(block_).ops(index); }

  // The readers that the operator with this number takes. Operators after it do not count.
  void AddReadersBelow(const proto::OpDesc& op, int index) {
    const std::vector<ParameterSchema>& inputs = SchemaOf(op).inputs;
    for (const auto& input : op.inputs()) {
      const bool readers =
          std::any_of(inputs.begin(), inputs.end(), [&](const ParameterSchema& schema) {
            return schema.name == input.parameter() && schema.kind == VariableKind::kReader;
          });
      for (const std::string& name : input.arguments()) {
        Require(
            readers, Called(op), " reads the variable '", Escaped(name),
            "' at each pass, so that its elements may change; a cache on a disk needs values that "
            "are given as attributes");
        AddReader(name, index);
      }
    }
  }

  void AddReader(const std::string& name, int before) {
    for (int i = before - 1; i >= 0; --i) {
      for (const auto& output : Op(i).outputs()) {
        const auto& names = output.arguments();
        if (std::find(names.begin(), names.end(), name) == names.end()) continue;
        if (seen_.insert(i).second) Add(i);
        return;
      }
    }
    Vouch(
        StrCat("reader '", Escaped(name), "', which no operator before it in its program creates"));
    AddField(name, &description_->program_);
  }

  void Add(int index) {
    const proto::OpDesc& op = Op(index);
    const OpSchema& schema = SchemaOf(op);
    std::string* const text = &description_->program_;
    if (schema.fed_by_process) {
      Vouch(StrCat(Called(op), ", whose elements come from this process"));
    } else {
      VouchForPlugin(op);
    }
    AddField(WithSavedNames(WithoutNumbers(schema, op)).SerializeAsString(), text);
    if (schema.depends_on) AddField(schema.depends_on(CheckedAttributes(op)), text);
    for (const auto& output : op.outputs()) {
      for (const std::string& name : output.arguments()) {
        const proto::VarDesc* const variable = program_.FindDeclaration(block_, name);
        AddField(name, text);
        if (variable != nullptr) AddField(variable->SerializeAsString(), text);
      }
    }
    AddAttributes(op, index);
    AddReadersBelow(op, index);
  }

  static const OpSchema& SchemaOf(const proto::OpDesc& op) {
    return millhopper::FindOperator(op.type())->schema;
  }

  static AttributeMap CheckedAttributes(const proto::OpDesc& op) {
    return CheckAttributes(SchemaOf(op), op, [](const OperatorPart&, const std::string& text) {
      Throw(ErrorCode::kInternal, text);
    });
  }

  void AddAttributes(const proto::OpDesc& op, int index) {
    const std::vector<AttributeSchema> schemas = AttributeSchemasOf(SchemaOf(op), op);
    for (const proto::OpDesc::Attr& attribute : op.attrs()) {
      const Strings values = StringsOf(attribute);
      for (const std::string& value : values) {
        for (std::string& word : WordsOf(value)) description_->names_.insert(std::move(word));
      }
      for (const AttributeSchema& schema : schemas) {
        if (schema.name != attribute.name()) continue;
        if (schema.names_folders) description_->folders_.insert(values.begin(), values.end());
        if (!schema.names_records) continue;
        for (const std::string& name : values) AddOtherFiles(op, name, schema.record_format);
      }
      if (attribute.type() == proto::BLOCK) AddBlock(attribute.block_idx(), index);
    }
  }

  // Of the operator with this number, which has made its reader with the values of that time.
  void AddBlock(int block, int index) {
    std::string* const text = &description_->program_;
    for (const auto& [name, value] : ValuesFromOutside(program_, scope_, block)) {
      for (int i = index + 1; i < index_; ++i) {
        if (!Writes(Op(i), name)) continue;
        Vouch(StrCat("variable '", Escaped(name), "', which ", Called(Op(index)), " has read and ",
                     Called(Op(i)), " has written since"));
      }
      AddField(name, text);
      std::string bytes;
      AppendTensor(value, &bytes);
      AddField(bytes, text);
    }
    AddOperators(block);
  }

  // Whether the operator, or one in a block of its, may write the variable.
  bool Writes(const proto::OpDesc& op, const std::string& name) const {
    const auto names_it = [&name](const proto::OpDesc::Var& output) {
      const auto& names = output.arguments();
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    const auto writes_it = [&](const proto::OpDesc::Attr& attribute) {
      if (attribute.type() != proto::BLOCK) return false;
      const auto& ops = program_.desc().blocks(attribute.block_idx()).ops();
      return std::any_of(ops.begin(), ops.end(),
                         [&](const proto::OpDesc& inner) { return Writes(inner, name); });
    };
    return std::any_of(op.outputs().begin(), op.outputs().end(), names_it) ||
           std::any_of(op.attrs().begin(), op.attrs().end(), writes_it);
  }

  void AddOperators(int block) {
    proto::BlockDesc saved = program_.desc().blocks(block);
    for (proto::OpDesc& op : *saved.mutable_ops()) op = WithSavedNames(std::move(op));
    AddField(saved.SerializeAsString(), &description_->program_);
    for (const proto::OpDesc& op : program_.desc().blocks(block).ops()) {
      VouchForPlugin(op);
      for (const proto::OpDesc::Attr& attribute : op.attrs()) {
        for (const std::string& value : StringsOf(attribute)) {
          description_->names_.insert(value);
        }
        if (attribute.type() == proto::BLOCK) AddOperators(attribute.block_idx());
      }
    }
  }

  // Adds the files that files of records name. `name` is that of the latter, in an attribute that
  // says how they are read.
  void AddOtherFiles(const proto::OpDesc& op, const std::string& name, const std::string& format) {
    const FormatSchema* const schema =
        format.empty() ? ChooseFormat(name).schema : FindFileFormat(format);
    if (schema != nullptr) {
      AddOtherFiles(op, name, *schema);
      return;
    }
    // Their first bytes will tell one of these formats.
    for (const std::string& tag : FileFormatTags()) {
      const FormatSchema& possible = *FindFileFormat(tag);
      const bool may_be = possible.matches != nullptr && possible.library == nullptr &&
                          name.find(possible.name_part) != std::string::npos;
      if (may_be) AddOtherFiles(op, name, possible);
    }
  }

  void AddOtherFiles(const proto::OpDesc& op, const std::string& name, const FormatSchema& schema) {
    if (schema.names_files_beside) description_->folders_.insert(FolderToList(name));
    if (schema.reads_folders) description_->folders_.insert(name);
    if (schema.names_files_anywhere) {
      Vouch(StrCat(Called(op), ", whose files name other files"));
    }
    if (schema.library != nullptr) {
      Vouch(StrCat(Called(op), ", whose format is a plugin's"));
    }
  }

  std::string Called(const proto::OpDesc& op) const {
    std::string name;
    if (op.outputs_size() > 0 && op.outputs(0).arguments_size() > 0) {
      name = StrCat(" '", Escaped(op.outputs(0).arguments(0)), "'");
    }
    return StrCat(op.type(), name);
  }

  void VouchForPlugin(const proto::OpDesc& op) const {
    const OpFunction run = millhopper::FindOperator(op.type())->run;
    if (LibraryOf(reinterpret_cast<const void*>(run)) == nullptr) return;
    Vouch(StrCat(Called(op), ", whose code is a plugin's"));
  }

  void Vouch(const std::string& what) const {
    Require(vouched_for_, "a cache on a disk cannot see what changes in ", what,
            ": give data_version, a text that you change whenever the data does");
  }

  const Program& program_;
  const Scope& scope_;
  const bool vouched_for_;
  ChainDescription* const description_;
  int block_ = 0, index_ = 0;  // of the operator that asks
  std::set<int> seen_;
};

ChainDescription::ChainDescription(OpContext& context, const std::string& data_version) {
  AddField(kVersion, &program_);
  AddField(std::to_string(kOrderVersion), &program_);
  AddField(std::to_string(context.run().seed), &program_);
  AddField(data_version, &program_);
  Walk(context, !data_version.empty(), this).Follow(context.desc());
  try {
    if (LoadedFilesAreUnchanged(context.program())) at_creation_ = CacheKeyOf(TextNow());
  } catch (const Error& error) {
    if (error.interrupts()) throw;  // else Text will throw
  }
}

std::string ChainDescription::Text() const {
  std::string text = TextNow();
  if (at_creation_ != CacheKeyOf(text)) {
    Throw(ErrorCode::kDataLoss,
          "files that they come from have changed since this process has first looked at them");
  }
  return text;
}

std::string ChainDescription::TextNow() const {
  std::set<std::string> lines;
  for (const std::string& name : names_) {
    for (const std::string& file : FilesOf(name)) AddFile(file, &lines);
  }
  for (const std::string& name : folders_) {
    for (const std::string& folder : FilesOf(name)) AddFolder(folder, 0, &lines);
  }
  std::string text = program_;
  for (const std::string& line : lines) AddField(line, &text);
  return text;
}

}  // namespace millhopper
