// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/image/image_chains.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {
namespace {

class Encoded final : public ReaderBase {
 public:
  explicit Encoded(std::vector<std::string> images)
      : ReaderBase({{DataType::kUint8, {-1}, 1}}), images_(std::move(images)) {}

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const std::string& image = images_[tickets[i].index];
      std::memcpy(rows->AppendSequence(0, image.size()), image.data(), image.size());
    }
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override {
    for (size_t i = 0; i < n && next_ < images_.size(); ++i, ++next_) {
      Ticket ticket;
      ticket.id.pass = pass_;
      ticket.id.sample = next_;
      ticket.index = static_cast<uint32_t>(next_);
      run->Add(ticket);
    }
  }
  void Rewind(uint64_t pass) override {
    pass_ = pass;
    next_ = 0;
  }

  const std::vector<std::string> images_;
  uint64_t pass_ = 0;
  size_t next_ = 0;
};

}  // namespace

std::string ImageProgram(const std::vector<ImageOp>& ops, const std::string& sinks,
                         const MoreOps& more) {
  std::string variables = R"(vars { name: "encoded" type { type: LOD_TENSOR } })";
  std::string operators, in = "encoded";
  for (size_t i = 0; i < ops.size(); ++i) {
    const std::string out = StrCat("v", i);
    variables += StrCat(R"( vars { name: ")", out, R"(" type { type: LOD_TENSOR } })", "\n");
    operators += StrCat(
        "  ops { type: \"", ops[i].type, "\" inputs { parameter: \"X\" arguments: \"", in,
        "\" } outputs { parameter: \"Out\" arguments: \"", out, "\" } ", ops[i].attributes, " }\n");
    in = out;
  }
  return StrCat(R"(
blocks { idx: 0 parent_idx: -1
  vars { name: "mapped" type { type: READER } persistable: true }
  ops { type: "create_custom_reader"
        inputs { parameter: "UnderlyingReader" arguments: "source" }
        outputs { parameter: "Out" arguments: "mapped" }
        attrs { name: "sub_block" block_idx: 1 }
        attrs { name: "source_var_names" strings: "encoded" }
        attrs { name: "sink_var_names" strings: [)",
                sinks, R"(] } }
}
blocks { idx: 1 parent_idx: 0
)",
                variables, more.before, operators, more.after, "}\n");
}

std::vector<ElementValue> RunImageProgram(const std::vector<std::string>& images,
                                          const std::string& program) {
  Scope scope;
  scope.Var("source")->GetMutable<ReaderHolder>()->Reset(std::make_unique<Encoded>(images));
  Executor().Run(Program::FromString(program, "startup.pbtxt"), ProgramRole::kStartup, &scope);
  return ReadAll(scope.Find("mapped")->GetMutable<ReaderHolder>()->NewHandle().get());
}

}  // namespace millhopper
