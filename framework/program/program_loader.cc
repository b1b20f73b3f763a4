// SPDX-License-Identifier: Apache-2.0
// Loads programs: parses text or binary into a message, notes the places of all parts, and checks
// that nothing is missing.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/program/program.h"
#include "framework/program/program_text.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::CodedInputStream;

// A local program may also be a pipe.
std::string ReadLocalProgram(const std::string& path) {
  const auto fail = [&path](const char* what) {
    throw Error(ErrorCode::kIo, StrCat(what, ": ", std::strerror(errno))).InFile(path, -1);
  };
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) fail("cannot open");
  std::string content;
  char block[1 << 16];
  while (const size_t n = std::fread(block, 1, sizeof(block), file.get())) {
    content.append(block, n);
    if (content.size() > kMaxProgramBytes) break;
  }
  if (std::ferror(file.get()) != 0) fail("cannot read");
  return content;
}

std::string ReadProgramFile(const std::string& path) {
  if (IsLocal(path)) return ReadLocalProgram(path);
  const std::unique_ptr<const File> file = File::Open(path);
  std::string content(std::min<uint64_t>(file->size(), kMaxProgramBytes + 1), '\0');
  file->Read(0, content.data(), content.size());
  return content;
}

// The type of values that is meant by the name that another library has for it; "" if it is none.
std::string DataTypeMeant(const std::string& word, const std::vector<std::string>& types) {
  static const std::map<std::string, std::string> others = {
      {"BFLOAT16", "BF16"}, {"BYTE", "UINT8"},   {"DOUBLE", "FP64"},  {"FLOAT", "FP32"},
      {"FLOAT16", "FP16"},  {"FLOAT32", "FP32"}, {"FLOAT64", "FP64"}, {"HALF", "FP16"},
      {"INT", "INT32"},     {"LONG", "INT64"},
  };
  std::string upper = word;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto found = others.find(upper);
  if (found != others.end()) return found->second;
  return std::find(types.begin(), types.end(), upper) == types.end() ? "" : upper;
}

// An error message of protobuf's parser in our words.
struct Reworded {
  std::string text;
  std::string subject;  // the wrong word, if the parser reports a place after it; else ""
};

Reworded Reword(const std::string& message) {
  std::vector<std::string> quoted;
  for (size_t begin = message.find('"'); begin != std::string::npos;) {
    const size_t end = message.find('"', begin + 1);
    if (end == std::string::npos) break;
    quoted.push_back(message.substr(begin + 1, end - begin - 1));
    begin = message.find('"', end + 1);
  }
  const auto starts = [&message](const char* text) { return message.rfind(text, 0) == 0; };
  std::vector<std::string> candidates;
  if (starts("Message type") && quoted.size() == 2) {
    const Descriptor* type =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(quoted[0]);
    for (int i = 0; type != nullptr && i < type->field_count(); ++i) {
      candidates.push_back(type->field(i)->name());
    }
    return {StrCat(type == nullptr ? quoted[0] : type->name(), " has no field '",
                   Escaped(quoted[1]), "'", DidYouMean(quoted[1], candidates)),
            quoted[1]};
  }
  if (starts("Unknown enumeration value") && quoted.size() == 2) {
    const bool is_data_type = quoted[1] == "data_type";
    for (const EnumDescriptor* values :
         {proto::AttrType_descriptor(), proto::VarType::Type_descriptor()}) {
      for (int i = 0; i < values->value_count(); ++i) {
        const bool fits = !is_data_type || (values == proto::VarType::Type_descriptor() &&
                                            IsDataType(values->value(i)->number()));
        if (fits) candidates.push_back(values->value(i)->name());
      }
    }
    // The one that is spelt so belongs to another field.
    candidates.erase(std::remove(candidates.begin(), candidates.end(), quoted[0]),
                     candidates.end());
    const std::string meant = is_data_type ? DataTypeMeant(quoted[0], candidates) : "";
    return {StrCat("'", Escaped(quoted[0]), "' is no value of '", quoted[1], "'",
                   meant.empty() ? DidYouMean(quoted[0], candidates) : DidYouMean(meant)),
            quoted[0]};
  }
  if (starts("Non-repeated field") && quoted.size() == 1) {
    return {StrCat("field '", quoted[0], "' is given twice"), quoted[0]};
  }
  std::string text = Escaped(message);
  const std::string kGot = "got: ";
  if (text.size() > kGot.size() &&
      text.compare(text.size() - kGot.size(), kGot.size(), kGot) == 0) {
    text += "the end of the file";
  }
  if (!text.empty() && text.back() == '.') text.pop_back();
  if (!text.empty()) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return {text, ""};
}

// Collects the problems that protobuf's parser finds, with their places in the file as written.
class ParseProblems final : public google::protobuf::io::ErrorCollector {
 public:
  ParseProblems(const ProgramText& text, const std::string& name, Problems* problems)
      : text_(text), name_(name), problems_(problems) {}

  void AddError(int line, int column, const std::string& message) override {
    if (problems_->full()) {
      problems_->AddUnread();
      return;
    }
    const Reworded reworded = Reword(message);
    const SourcePlace place = text_.Written(line, column, reworded.subject);
    std::string where = name_ + ":";
    if (place.line > 0) where += StrCat(place.line, ":", place.column, ":");
    problems_->Add({place, StrCat(where, " ", reworded.text)});
  }
  // The parser reports unknown fields as warnings, so that it continues and finds the next one.
  void AddWarning(int line, int column, const std::string& message) override {
    AddError(line, column, message);
  }

 private:
  const ProgramText& text_;
  const std::string& name_;
  Problems* const problems_;
};

// The sizes of a program.
struct ProgramCounts {
  size_t items = 0;                                        // messages and strings
  std::unordered_map<const Descriptor*, size_t> messages;  // by type

  size_t Of(const Descriptor* type) const {
    const auto found = messages.find(type);
    return found == messages.end() ? 0 : found->second;
  }
  // The memory of the messages alone, without the strings and lists that they hold.
  size_t Bytes() const {
    size_t bytes = 0;
    for (const auto& [type, count] : messages) {
      const Message* one =
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(type);
      bytes += count * one->SpaceUsedLong();
    }
    return bytes;
  }
};

// Counts the messages and strings in a binary message, up to the limit of items, without building
// them.
void CountItems(CodedInputStream* in, const Descriptor* type, ProgramCounts* counts) {
  while (const uint32_t tag = in->ReadTag()) {
    uint64_t value = 0;
    uint32_t size = 0;
    switch (tag & 7u) {
      case 0:
        if (!in->ReadVarint64(&value)) return;
        break;
      case 1:
        if (!in->Skip(8)) return;
        break;
      case 2: {
        if (++counts->items > kMaxProgramItems || !in->ReadVarint32(&size)) return;
        const FieldDescriptor* field =
            type == nullptr ? nullptr : type->FindFieldByNumber(static_cast<int>(tag >> 3));
        if (size > kMaxProgramBytes) return;
        if (field != nullptr && field->message_type() != nullptr) {
          ++counts->messages[field->message_type()];
          const CodedInputStream::Limit limit = in->PushLimit(static_cast<int>(size));
          CountItems(in, field->message_type(), counts);
          if (in->BytesUntilLimit() > 0 && !in->Skip(in->BytesUntilLimit())) return;
          in->PopLimit(limit);
        } else if (!in->Skip(static_cast<int>(size))) {
          return;
        }
        break;
      }
      case 3:  // a group: its fields follow, up to its end tag
        if (++counts->items > kMaxProgramItems) return;
        break;
      case 4:
        break;
      case 5:
        if (!in->Skip(4)) return;
        break;
      default:
        return;
    }
  }
}

// The messages that a program may have beside its blocks: version and op_version_map.
constexpr int kOtherMessages = 2;

// The field of an attribute that holds values of this type.
const FieldDescriptor* FieldOf(proto::AttrType type) {
  static const int kNumbers[] = {3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  return proto::OpDesc::Attr::descriptor()->FindFieldByNumber(kNumbers[type]);
}

}  // namespace

// Builds one Program and collects what is wrong with it.
class ProgramLoader {
 public:
  ProgramLoader(const std::string& name, const Settings& settings)
      : settings_(settings), program_(new Program), problems_(Escaped(name)) {
    program_->name_ = Escaped(name);
  }

  std::shared_ptr<const Program> LoadFile(const std::string& path) {
    const std::string content = ReadProgramFile(path);
    program_->read_.AddLocal(path);
    return Load(content);
  }

  std::shared_ptr<const Program> Load(const std::string& content) {
    if (content.size() > kMaxProgramBytes) {
      Report(StrCat("longer than ", kMaxProgramBytes, " bytes"));
    } else if (IsText(content)) {
      ParseText(content);
    } else {
      ParseBinary(content);
    }
    ThrowIfAny();
    if (desc().blocks_size() == 0) Report("a program needs at least one block");
    ProgramCounts counts;
    counts.messages[proto::BlockDesc::descriptor()] = static_cast<size_t>(desc().blocks_size());
    for (const proto::BlockDesc& block : desc().blocks()) {
      counts.messages[proto::OpDesc::descriptor()] += static_cast<size_t>(block.ops_size());
      counts.messages[proto::VarDesc::descriptor()] += static_cast<size_t>(block.vars_size());
    }
    CheckCounts(counts);
    ThrowIfAny();
    CheckBlocks();
    for (int block = 0; block < desc().blocks_size(); ++block) {
      for (int op = 0; op < desc().blocks(block).ops_size(); ++op) {
        for (int i = 0; i < desc().blocks(block).ops(op).attrs_size(); ++i) {
          CheckAttribute(block, op, i);
        }
      }
    }
    ThrowIfAny();
    for (const proto::BlockDesc& block : desc().blocks()) {
      auto& names = program_->declarations_.emplace_back();
      for (const proto::VarDesc& variable : block.vars()) names.emplace(variable.name(), &variable);
    }
    return std::shared_ptr<const Program>(std::move(program_));
  }

 private:
  // Where a nested message is in the program. A binary program has no lines, but paths.
  struct Position {
    const TextFormat::ParseInfoTree* tree = nullptr;  // null in binary
    SourcePlace place;
    const Position* around = nullptr;
    const FieldDescriptor* field = nullptr;  // of `around`: it holds this message
    int index = -1;                          // in a repeated field; else -1

    // "blocks[0].ops[2]"
    std::string Path() const {
      if (around == nullptr) return "";
      const std::string outer = around->Path();
      return StrCat(outer, outer.empty() ? "" : ".", field->name(),
                    index < 0 ? "" : StrCat("[", index, "]"));
    }
  };

  proto::ProgramDesc& desc() { return program_->desc_; }

  void Report(const std::string& text) { problems_.Add({{}, program_->name_ + ": " + text}); }

  void ReportAt(const SourcePlace& place, const std::string& text) {
    problems_.Add({place, StrCat(program_->name_, ":", place.line, ":", place.column, ": ", text)});
  }

  void ThrowIfAny() const {
    if (problems_.count() > 0) throw ProblemsOfProgram::ErrorOf(problems_.InOrder());
  }

  void ParseText(const std::string& content) {
    const ProgramText text(content, program_->name_, settings_, &problems_);
    if (text.items() > kMaxProgramItems) {
      Report(StrCat("more than ", kMaxProgramItems, " messages and strings"));
    } else if (text.outer_messages() > kMaxBlocks + kOtherMessages) {
      Report(StrCat("more than ", kMaxBlocks, " blocks"));
    }
    ThrowIfAny();
    ParseProblems collector(text, program_->name_, &problems_);
    TextFormat::ParseInfoTree tree;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    parser.WriteLocationsTo(&tree);
    parser.AllowPartialMessage(true);  // CheckRequired reports what is missing
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMaxProgramNesting);
    if (!parser.ParseFromString(text.expanded(), &desc()) && problems_.count() == 0) {
      Report("not a program");
    }
    ThrowIfAny();
    Position root;
    root.tree = &tree;
    CheckRequired(desc(), root, &text);
    ThrowIfAny();
    RecordPlaces(tree, text);
  }

  void ParseBinary(const std::string& content) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(content.data());
    const int size = static_cast<int>(content.size());
    ProgramCounts counts;
    CodedInputStream counted(bytes, size);
    CountItems(&counted, proto::ProgramDesc::descriptor(), &counts);
    CheckCounts(counts);
    if (problems_.count() > 0) return;
    const google::protobuf::LogSilencer quiet;  // the problem is reported below
    CodedInputStream in(bytes, size);
    in.SetRecursionLimit(kMaxProgramNesting);
    if (!desc().ParsePartialFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
      Report("neither text nor a binary program, or one that is truncated or damaged");
      return;
    }
    CheckRequired(desc(), Position(), nullptr);
  }

  void ReportMissing(const Descriptor* type, const FieldDescriptor* field, const Position& at,
                     bool has_lines) {
    if (problems_.full()) {
      problems_.AddUnread();
      return;
    }
    const std::string missing = StrCat(type->name(), " needs '", field->name(), "'");
    if (has_lines) {
      ReportAt(at.place, missing);
    } else {
      Report(StrCat(at.Path(), ": ", missing));
    }
  }

  // Reports required fields that are missing in the message and in messages inside it.
  void CheckRequired(const Message& message, const Position& at, const ProgramText* text) {
    if (message.IsInitialized()) return;
    const Descriptor* type = message.GetDescriptor();
    const google::protobuf::Reflection* reflection = message.GetReflection();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->is_required() && !reflection->HasField(message, field)) {
        ReportMissing(type, field, at, text != nullptr);
      }
      if (field->message_type() == nullptr) continue;
      const bool list = field->is_repeated();
      const int count = list ? reflection->FieldSize(message, field)
                             : (reflection->HasField(message, field) ? 1 : 0);
      for (int k = 0; k < count; ++k) {
        Position nested;
        nested.around = &at;
        nested.field = field;
        nested.index = list ? k : -1;
        if (text != nullptr) {
          nested.tree = at.tree->GetTreeForNested(field, nested.index);
          nested.place = PlaceIn(*at.tree, *text, field, nested.index);
        }
        CheckRequired(list ? reflection->GetRepeatedMessage(message, field, k)
                           : reflection->GetMessage(message, field),
                      nested, text);
      }
    }
  }

  static SourcePlace PlaceIn(const TextFormat::ParseInfoTree& tree, const ProgramText& text,
                             const FieldDescriptor* field, int index) {
    TextFormat::ParseLocation location = tree.GetLocation(field, index);
    // For a list in brackets the parser notes only the place where it begins.
    if (location.line < 0) location = tree.GetLocation(field, 0);
    return text.Written(location.line, location.column);
  }

  // The places of the `count` messages or values of a repeated field.
  static std::vector<SourcePlace> PlacesIn(const TextFormat::ParseInfoTree& tree,
                                           const ProgramText& text, const FieldDescriptor* field,
                                           int count) {
    std::vector<SourcePlace> places;
    places.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) places.push_back(PlaceIn(tree, text, field, i));
    return places;
  }

  void RecordPlaces(const TextFormat::ParseInfoTree& tree, const ProgramText& text) {
    const auto field_of = [](const Descriptor* type, int number) {
      return type->FindFieldByNumber(number);
    };
    const FieldDescriptor* blocks =
        field_of(proto::ProgramDesc::descriptor(), proto::ProgramDesc::kBlocksFieldNumber);
    const FieldDescriptor* vars =
        field_of(proto::BlockDesc::descriptor(), proto::BlockDesc::kVarsFieldNumber);
    const FieldDescriptor* ops =
        field_of(proto::BlockDesc::descriptor(), proto::BlockDesc::kOpsFieldNumber);
    const FieldDescriptor* attrs =
        field_of(proto::OpDesc::descriptor(), proto::OpDesc::kAttrsFieldNumber);
    const FieldDescriptor* inputs =
        field_of(proto::OpDesc::descriptor(), proto::OpDesc::kInputsFieldNumber);
    const FieldDescriptor* outputs =
        field_of(proto::OpDesc::descriptor(), proto::OpDesc::kOutputsFieldNumber);
    const FieldDescriptor* arguments =
        field_of(proto::OpDesc::Var::descriptor(), proto::OpDesc::Var::kArgumentsFieldNumber);
    const auto parameter_places = [&](const TextFormat::ParseInfoTree& op_tree,
                                      const FieldDescriptor* field, const auto& parameters) {
      std::vector<Program::ParameterPlaces> places;
      places.reserve(static_cast<size_t>(parameters.size()));
      for (int i = 0; i < parameters.size(); ++i) {
        places.push_back({PlaceIn(op_tree, text, field, i),
                          PlacesIn(*op_tree.GetTreeForNested(field, i), text, arguments,
                                   parameters.Get(i).arguments_size())});
      }
      return places;
    };
    for (int b = 0; b < desc().blocks_size(); ++b) {
      const proto::BlockDesc& block = desc().blocks(b);
      const TextFormat::ParseInfoTree& block_tree = *tree.GetTreeForNested(blocks, b);
      Program::BlockPlaces in_block;
      in_block.self = PlaceIn(tree, text, blocks, b);
      in_block.variables = PlacesIn(block_tree, text, vars, block.vars_size());
      for (int i = 0; i < block.ops_size(); ++i) {
        const proto::OpDesc& op = block.ops(i);
        const TextFormat::ParseInfoTree& op_tree = *block_tree.GetTreeForNested(ops, i);
        Program::OperatorPlaces places;
        places.self = PlaceIn(block_tree, text, ops, i);
        places.attributes = PlacesIn(op_tree, text, attrs, op.attrs_size());
        places.inputs = parameter_places(op_tree, inputs, op.inputs());
        places.outputs = parameter_places(op_tree, outputs, op.outputs());
        in_block.operators.push_back(std::move(places));
      }
      program_->places_.push_back(std::move(in_block));
    }
  }

  void CheckCounts(const ProgramCounts& counts) {
    if (counts.items > kMaxProgramItems) {
      Report(StrCat("more than ", kMaxProgramItems, " messages and strings"));
      return;
    }
    const auto check = [&](const Descriptor* type, int limit, const char* what) {
      const size_t count = counts.Of(type);
      if (count <= static_cast<size_t>(limit)) return;
      Report(StrCat(count, " ", what, "; at most ", limit, " are possible"));
    };
    check(proto::BlockDesc::descriptor(), kMaxBlocks, "blocks");
    check(proto::OpDesc::descriptor(), kMaxOperators, "operators");
    check(proto::VarDesc::descriptor(), kMaxVariables, "variables");
    if (counts.Bytes() > kMaxProgramBytesInMemory) {
      Report(StrCat("its messages would take more than ", kMaxProgramBytesInMemory,
                    " bytes of memory"));
    }
  }

  void ReportBlock(int block, const std::string& text) {
    if (program_->places_.empty()) {
      Report(StrCat("block ", block, ": ", text));
      return;
    }
    ReportAt(program_->places_[static_cast<size_t>(block)].self,
             StrCat("block ", block, ": ", text));
  }

  // Checks that blocks are numbered by position and form a tree.
  void CheckBlocks() {
    const int count = desc().blocks_size();
    for (int b = 0; b < count; ++b) {
      const proto::BlockDesc& block = desc().blocks(b);
      const int parent = block.parent_idx();
      if (block.idx() != b) {
        ReportBlock(b, StrCat("idx is ", block.idx(), "; blocks are numbered in order from 0, so ",
                              "it must be ", b));
      }
      if (b == 0) {
        if (parent != -1) {
          ReportBlock(b,
                      StrCat("parent_idx is ", parent, "; block 0 is the root, so it must be -1"));
        }
        continue;
      }
      if (parent < 0 || parent >= count) {
        ReportBlock(b, StrCat("parent_idx is ", parent, "; there are blocks 0 to ", count - 1));
        continue;
      }
      int depth = 0;
      int up = b;
      while (up > 0 && up < count && depth <= count) {
        up = desc().blocks(up).parent_idx();
        ++depth;
      }
      if (depth > count) {
        ReportBlock(b, "its parents form a cycle");
      } else if (depth >= kMaxBlockDepth) {
        ReportBlock(b, StrCat("lies ", depth + 1, " blocks deep; at most ", kMaxBlockDepth,
                              " are possible"));
      }
    }
  }

  // Checks that an attribute has exactly one value, of the type that it names. Infers a type that
  // is left out.
  void CheckAttribute(int block, int op, int index) {
    proto::OpDesc::Attr& attribute =
        *desc().mutable_blocks(block)->mutable_ops(op)->mutable_attrs(index);
    const auto report = [&](const std::string& text) {
      if (problems_.full()) {
        problems_.AddUnread();
        return;
      }
      problems_.Add(
          program_->OperatorProblem(block, op, {OperatorPart::kAttribute, index},
                                    StrCat("attribute '", Escaped(attribute.name()), "' ", text)));
    };
    std::vector<const FieldDescriptor*> given;
    attribute.GetReflection()->ListFields(attribute, &given);
    given.erase(std::remove_if(given.begin(), given.end(),
                               [](const FieldDescriptor* field) {
                                 return field->number() <= proto::OpDesc::Attr::kTypeFieldNumber;
                               }),
                given.end());
    if (given.size() > 1) {
      report(StrCat("has several values: '", given[0]->name(), "' and '", given[1]->name(), "'"));
      return;
    }
    const FieldDescriptor* value = given.empty() ? nullptr : given[0];
    if (!attribute.has_type()) {
      if (value == nullptr) {
        report("has no value (an empty list needs its type, such as type: INTS)");
        return;
      }
      for (int type = 0; type <= proto::AttrType_MAX; ++type) {
        if (FieldOf(static_cast<proto::AttrType>(type)) == value) {
          attribute.set_type(static_cast<proto::AttrType>(type));
        }
      }
    }
    const FieldDescriptor* wanted = FieldOf(attribute.type());
    const std::string type = proto::AttrType_Name(attribute.type());
    if (value == nullptr && !wanted->is_repeated()) {
      report(StrCat("has no value; ", type, " needs '", wanted->name(), "'"));
    } else if (value != nullptr && value != wanted) {
      report(StrCat("is ", type, ", which needs '", wanted->name(), "', but '", value->name(),
                    "' is given"));
    } else if (value != nullptr && value->is_repeated() &&
               attribute.GetReflection()->FieldSize(attribute, value) > kMaxListLength) {
      report(StrCat("has more than ", kMaxListLength, " values"));
    }
  }

  const Settings& settings_;
  std::unique_ptr<Program> program_;
  Problems problems_;
  const SpellingLimit limit_;
};

std::shared_ptr<const Program> Program::FromString(const std::string& content,
                                                   const std::string& name,
                                                   const Settings& settings) {
  return ProgramLoader(name, settings).Load(content);
}

std::shared_ptr<const Program> Program::FromFile(const std::string& path,
                                                 const Settings& settings) {
  return ProgramLoader(path, settings).LoadFile(path);
}

}  // namespace millhopper
