// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/framework/program_target.h"

#include <google/protobuf/stubs/logging.h>

#include <memory>

#include "framework/program/program.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

// The same program without unknown fields. They have no names and so cannot be printed.
std::shared_ptr<const Program> OfKnownFields(const Program& program) {
  proto::ProgramDesc desc = program.desc();
  desc.DiscardUnknownFields();
  return Program::FromString(desc.SerializePartialAsString(), "fuzz");
}

// Problems hold no control characters but the line feeds between them.
void CheckLines(const std::string& problems) {
  for (const char c : problems) {
    CHECK(c == '\n' || static_cast<unsigned char>(c) >= ' ') << problems;
  }
}

}  // namespace

void LoadProgram(const std::string& content) {
  const google::protobuf::LogSilencer quiet;  // protobuf logs names that are not UTF-8
  std::shared_ptr<const Program> program;
  CheckLines(Outcome([&] { program = Program::FromString(content, "fuzz"); }));
  if (program == nullptr) return;
  const std::string binary = program->ToBinary();
  CHECK(Program::FromString(binary, "fuzz")->ToBinary() == binary);
  const std::string text = OfKnownFields(*program)->ToText();
  CHECK_EQ(Program::FromString(text, "fuzz")->ToText(), text);
  for (const ProgramRole role : {ProgramRole::kStartup, ProgramRole::kMain}) {
    CheckContext context;
    context.role = role;
    CheckLines(Outcome([&] { program->CheckOrThrow(context); }));
  }
}

}  // namespace millhopper
