// SPDX-License-Identifier: Apache-2.0
#include "tests/framework/program/program_runner.h"

#include "framework/base/error.h"

namespace millhopper {
namespace {

std::string DimsText(const std::vector<int64_t>& dims) {
  std::string text;
  for (const int64_t dim : dims) text += StrCat(" dims: ", dim);
  return text;
}

std::string SlotText(const char* direction, const SlotTexts& slots) {
  std::string text;
  for (const auto& [name, arguments] : slots) {
    text += StrCat("    ", direction, " { parameter: \"", name, "\"");
    for (const std::string& argument : arguments) text += StrCat(" arguments: \"", argument, "\"");
    text += " }\n";
  }
  return text;
}

RunState WithOutput(RunState run, std::ostream* output) {
  run.output = output;
  return run;
}

}  // namespace

std::string BlockText(int index, int parent, const std::vector<std::string>& parts) {
  std::string text = StrCat("blocks {\n  idx: ", index, "\n  parent_idx: ", parent, "\n");
  for (const std::string& part : parts) text += part;
  return text + "}\n";
}

std::string OpText(const std::string& type, const SlotTexts& inputs, const SlotTexts& outputs,
                   const AttributeTexts& attributes) {
  std::string text = "  ops {\n    type: \"" + type + "\"\n";
  text += SlotText("inputs", inputs) + SlotText("outputs", outputs);
  for (const auto& [name, value] : attributes) {
    text.append("    attrs { name: \"").append(name).append("\" ").append(value).append(" }\n");
  }
  return text + "  }\n";
}

std::string TensorText(const std::string& name, const std::string& dtype,
                       const std::vector<int64_t>& dims, int lod_level, bool persistable) {
  return StrCat("  vars { name: \"", name, "\" type { type: LOD_TENSOR lod_tensor { tensor { ",
                "data_type: ", dtype, DimsText(dims), " } lod_level: ", lod_level, " } }",
                persistable ? " persistable: true }\n" : " }\n");
}

std::string TensorsText(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += StrCat("  vars { name: \"", name, "\" type { type: LOD_TENSOR } }\n");
  }
  return text;
}

std::string ReaderText(const std::string& name, const SlotsText& slots) {
  std::string text = "  vars { name: \"" + name + "\" persistable: true type { type: READER";
  if (!slots.empty()) text += " reader {";
  for (const auto& [dtype, dims] : slots) {
    text += " lod_tensor { tensor { data_type: " + dtype + DimsText(dims) + " } }";
  }
  return text + (slots.empty() ? " } }\n" : " } } }\n");
}

std::string CreatedReaderText(const std::string& name, const std::string& type,
                              const std::vector<std::string>& below,
                              const AttributeTexts& attributes, const SlotsText& slots) {
  SlotTexts inputs;
  if (!below.empty()) {
    inputs = {{below.size() == 1 ? "UnderlyingReader" : "UnderlyingReaders", below}};
  }
  return ReaderText(name, slots) + OpText(type, inputs, {{"Out", {name}}}, attributes);
}

std::string FillText(const std::string& name, const std::string& dtype, double value) {
  proto::VarType::Type type;
  Require(proto::VarType::Type_Parse(dtype, &type), "no type ", dtype);
  return OpText(
      "fill_constant", {}, {{"Out", {name}}},
      {{"shape", "ints: 1"}, {"dtype", StrCat("i: ", int{type})}, {"value", StrCat("f: ", value)}});
}

std::string DecoratorProgram(const std::string& type, const AttributeTexts& attributes,
                             const SlotsText& slots) {
  return BlockText(
      0, -1,
      {ReaderText("source"), ReaderText("out", slots),
       OpText(type, {{"UnderlyingReader", {"source"}}}, {{"Out", {"out"}}}, attributes)});
}

std::string ReadingProgram(const std::string& reader, const std::vector<std::string>& each,
                           const std::vector<std::string>& first) {
  const std::string has_next = OpText("has_next", {{"Reader", {reader}}}, {{"Out", {"more"}}});
  std::vector<std::string> main = {TensorsText({"more"}), has_next};
  main.insert(main.end(), first.begin(), first.end());
  main.push_back(OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", "block_idx: 1"}}));
  std::vector<std::string> body = {TensorsText({"element"}),
                                   OpText("read", {{"Reader", {reader}}}, {{"Out", {"element"}}})};
  body.insert(body.end(), each.begin(), each.end());
  body.push_back(has_next);
  return BlockText(0, -1, main) + BlockText(1, 0, body);
}

ProgramRunner::ProgramRunner(Settings settings, RunState run)
    : settings_(std::move(settings)), executor_(WithOutput(std::move(run), &printed_)) {}

std::vector<std::string> ProgramRunner::Problems(const std::string& text, ProgramRole role) const {
  CheckContext context;
  context.role = role;
  context.scope = &scope_;
  const char* name = role == ProgramRole::kStartup ? "startup.pbtxt" : "main.pbtxt";
  std::vector<std::string> texts;
  for (const Problem& problem : Program::FromString(text, name, settings_)->Check(context)) {
    texts.push_back(problem.text);
  }
  return texts;
}

void ProgramRunner::ExpectProblem(const std::string& text, const std::string& words) const {
  const std::vector<std::string> problems = Problems(text, ProgramRole::kStartup);
  ASSERT_EQ(problems.size(), 1u) << words;
  EXPECT_NE(problems[0].find(words), std::string::npos) << problems[0];
}

void ProgramRunner::Run(const std::string& text, const std::string& name, ProgramRole role) {
  last_ = executor_.Prepare(Program::FromString(text, name, settings_), role, &scope_);
  last_->Run();
}

}  // namespace millhopper
