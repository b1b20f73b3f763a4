// SPDX-License-Identifier: Apache-2.0
// Loads programs: text or binary into a message, where everything stands, and whether it is a
// whole.
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
#include <memory>
#include <utility>

#include "framework/attribute.h"
#include "framework/error.h"
#include "framework/limits.h"
#include "framework/program.h"
#include "framework/program_text.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::CodedInputStream;

std::string ReadProgramFile(const std::string& path) {
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

// A message of protobuf's parser in our words.
struct Reworded {
  std::string text;
  std::string subject;  // the word that it is about if the parser has gone on to the next; or ""
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
    for (const EnumDescriptor* values :
         {proto::AttrType_descriptor(), proto::VarType::Type_descriptor()}) {
      for (int i = 0; i < values->value_count(); ++i) {
        candidates.push_back(values->value(i)->name());
      }
    }
    return {StrCat("'", Escaped(quoted[0]), "' is no value of '", quoted[1], "'",
                   DidYouMean(quoted[0], candidates)),
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

// Problems that the parser finds, at their places in the file as written.
class ParseProblems final : public google::protobuf::io::ErrorCollector {
 public:
  ParseProblems(const ProgramText& text, const std::string& name, std::vector<Problem>* problems)
      : text_(text), name_(name), problems_(problems) {}

  void AddError(int line, int column, const std::string& message) override {
    const Reworded reworded = Reword(message);
    const SourcePlace place = text_.Written(line, column, reworded.subject);
    std::string where = name_ + ":";
    if (place.line > 0) where += StrCat(place.line, ":", place.column, ":");
    problems_->push_back({place, StrCat(where, " ", reworded.text)});
  }
  // Unknown fields are warnings to the parser, so that it goes on and finds the next one.
  void AddWarning(int line, int column, const std::string& message) override {
    AddError(line, column, message);
  }

 private:
  const ProgramText& text_;
  const std::string& name_;
  std::vector<Problem>* const problems_;
};

// Counts the messages and strings of a binary message without making any, up to the limit.
void CountItems(CodedInputStream* in, const Descriptor* type, size_t* items) {
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
        if (++*items > kMaxProgramItems || !in->ReadVarint32(&size)) return;
        const FieldDescriptor* field =
            type == nullptr ? nullptr : type->FindFieldByNumber(static_cast<int>(tag >> 3));
        if (size > kMaxProgramBytes) return;
        if (field != nullptr && field->message_type() != nullptr) {
          const CodedInputStream::Limit limit = in->PushLimit(static_cast<int>(size));
          CountItems(in, field->message_type(), items);
          if (in->BytesUntilLimit() > 0 && !in->Skip(in->BytesUntilLimit())) return;
          in->PopLimit(limit);
        } else if (!in->Skip(static_cast<int>(size))) {
          return;
        }
        break;
      }
      case 3:  // a group: its fields follow, up to a tag of its own
        if (++*items > kMaxProgramItems) return;
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

// The field that holds values of a type.
const FieldDescriptor* FieldOf(proto::AttrType type) {
  static const int kNumbers[] = {3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  return proto::OpDesc::Attr::descriptor()->FindFieldByNumber(kNumbers[type]);
}

}  // namespace

// Builds one Program and collects what is wrong with it.
class ProgramLoader {
 public:
  ProgramLoader(const std::string& name, const Settings& settings)
      : settings_(settings), program_(new Program) {
    program_->name_ = Escaped(name);
  }

  std::shared_ptr<const Program> LoadFile(const std::string& path) {
    const std::string content = ReadProgramFile(path);
    program_->read_.Add(path);
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
    CheckCounts();
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
    return std::shared_ptr<const Program>(std::move(program_));
  }

 private:
  // One nested message of the text.
  struct Position {
    const TextFormat::ParseInfoTree* tree;  // null in binary
    SourcePlace place;
    std::string path;  // "blocks[0].ops[2]"
  };

  proto::ProgramDesc& desc() { return program_->desc_; }

  void Report(const std::string& text) { problems_.push_back({{}, program_->name_ + ": " + text}); }

  void ThrowIfAny() {
    if (problems_.empty()) return;
    std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
      return std::make_pair(a.place.line, a.place.column) <
             std::make_pair(b.place.line, b.place.column);
    });
    throw Error(ErrorCode::kInvalidArgument, Join(problems_));
  }

  void ParseText(const std::string& content) {
    const ProgramText text(content, program_->name_, settings_);
    problems_ = text.problems();
    if (text.items() > kMaxProgramItems) {
      Report(StrCat("more than ", kMaxProgramItems, " messages and strings"));
    }
    ThrowIfAny();
    ParseProblems collector(text, program_->name_, &problems_);
    TextFormat::ParseInfoTree tree;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    parser.WriteLocationsTo(&tree);
    parser.AllowPartialMessage(true);  // what is missing is found below, with its place
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMaxProgramNesting);
    if (!parser.ParseFromString(text.expanded(), &desc()) && problems_.empty()) {
      Report("not a program");
    }
    ThrowIfAny();
    CheckRequired(desc(), {&tree, {}, ""}, &text);
    ThrowIfAny();
    RecordPlaces(tree, text);
  }

  void ParseBinary(const std::string& content) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(content.data());
    const int size = static_cast<int>(content.size());
    size_t items = 0;
    CodedInputStream counted(bytes, size);
    CountItems(&counted, proto::ProgramDesc::descriptor(), &items);
    if (items > kMaxProgramItems) {
      Report(StrCat("more than ", kMaxProgramItems, " messages and strings"));
      return;
    }
    const google::protobuf::LogSilencer quiet;  // what is wrong is reported here
    CodedInputStream in(bytes, size);
    in.SetRecursionLimit(kMaxProgramNesting);
    if (!desc().ParsePartialFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
      Report("neither text nor a binary program, or one that is truncated or damaged");
      return;
    }
    CheckRequired(desc(), {nullptr, {}, ""}, nullptr);
  }

  // Reports required fields that are not there, in the message and those within it.
  void CheckRequired(const Message& message, const Position& at, const ProgramText* text) {
    const Descriptor* type = message.GetDescriptor();
    const google::protobuf::Reflection* reflection = message.GetReflection();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->is_required() && !reflection->HasField(message, field)) {
        const std::string missing = StrCat(type->name(), " needs '", field->name(), "'");
        if (text == nullptr) {
          Report(StrCat(at.path, ": ", missing));
        } else {
          problems_.push_back({at.place, StrCat(program_->name_, ":", at.place.line, ":",
                                                at.place.column, ": ", missing)});
        }
      }
      if (field->message_type() == nullptr) continue;
      const bool list = field->is_repeated();
      const int count = list ? reflection->FieldSize(message, field)
                             : (reflection->HasField(message, field) ? 1 : 0);
      for (int k = 0; k < count; ++k) {
        Position nested{nullptr, {}, ""};
        if (text != nullptr) {
          nested.tree = at.tree->GetTreeForNested(field, list ? k : -1);
          nested.place = PlaceIn(*at.tree, *text, field, list ? k : -1);
        } else {
          nested.path = StrCat(at.path, at.path.empty() ? "" : ".", field->name(),
                               list ? StrCat("[", k, "]") : "");
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
    // Of a list in brackets only the beginning is known.
    if (location.line < 0) location = tree.GetLocation(field, 0);
    return text.Written(location.line, location.column);
  }

  // Where the `count` messages or values of a repeated field stand.
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
    const auto slot_places = [&](const TextFormat::ParseInfoTree& op_tree,
                                 const FieldDescriptor* field, const auto& slots) {
      std::vector<Program::SlotPlaces> places;
      places.reserve(static_cast<size_t>(slots.size()));
      for (int i = 0; i < slots.size(); ++i) {
        places.push_back(
            {PlaceIn(op_tree, text, field, i), PlacesIn(*op_tree.GetTreeForNested(field, i), text,
                                                        arguments, slots.Get(i).arguments_size())});
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
        places.inputs = slot_places(op_tree, inputs, op.inputs());
        places.outputs = slot_places(op_tree, outputs, op.outputs());
        in_block.operators.push_back(std::move(places));
      }
      program_->places_.push_back(std::move(in_block));
    }
  }

  void CheckCounts() {
    int operators = 0;
    int variables = 0;
    for (const proto::BlockDesc& block : desc().blocks()) {
      operators += block.ops_size();
      variables += block.vars_size();
    }
    const auto check = [this](int count, int limit, const char* what) {
      if (count > limit) Report(StrCat(count, " ", what, "; at most ", limit, " are possible"));
    };
    if (desc().blocks_size() == 0) Report("a program needs at least one block");
    check(desc().blocks_size(), kMaxBlocks, "blocks");
    check(operators, kMaxOperators, "operators");
    check(variables, kMaxVariables, "variables");
  }

  void ReportBlock(int block, const std::string& text) {
    if (program_->places_.empty()) {
      Report(StrCat("block ", block, ": ", text));
      return;
    }
    const SourcePlace place = program_->places_[static_cast<size_t>(block)].self;
    problems_.push_back({place, StrCat(program_->name_, ":", place.line, ":", place.column,
                                       ": block ", block, ": ", text)});
  }

  // Blocks are numbered by position and form a tree.
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

  // An attribute has exactly one value, of the type that it says; the type is inferred if left out.
  void CheckAttribute(int block, int op, int index) {
    proto::OpDesc::Attr& attribute =
        *desc().mutable_blocks(block)->mutable_ops(op)->mutable_attrs(index);
    const auto report = [&](const std::string& text) {
      problems_.push_back(
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
  std::vector<Problem> problems_;
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

}  // namespace millrace
