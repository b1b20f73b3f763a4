// SPDX-License-Identifier: Apache-2.0
#include "operators/image/runs/image_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/program/program.h"
#include "operators/image/runs/image_steps.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

// The operators of a block that read and write each of its variables.
struct Uses {
  std::vector<size_t> readers, writers;
};

std::map<std::string, Uses> UsesIn(const proto::BlockDesc& block) {
  std::map<std::string, Uses> uses;
  for (int i = 0; i < block.ops_size(); ++i) {
    const auto op = static_cast<size_t>(i);
    for (const proto::OpDesc::Var& input : block.ops(i).inputs()) {
      for (const std::string& name : input.arguments()) uses[name].readers.push_back(op);
    }
    for (const proto::OpDesc::Var& output : block.ops(i).outputs()) {
      for (const std::string& name : output.arguments()) uses[name].writers.push_back(op);
    }
  }
  return uses;
}

// The only argument of an operator's inputs or outputs, which must be that of `parameter`; null if
// there are others.
const std::string* OnlyArgument(
    const google::protobuf::RepeatedPtrField<proto::OpDesc::Var>& parameters,
    const std::string& parameter) {
  const std::string* found = nullptr;
  for (const proto::OpDesc::Var& given : parameters) {
    for (const std::string& name : given.arguments()) {
      if (name == kEmptyArgument) continue;
      if (given.parameter() != parameter || found != nullptr) return nullptr;
      found = &name;
    }
  }
  return found;
}

// Which operators may come next.
class Grammar {
 public:
  // Whether the operator may follow those that were taken before; takes it if so.
  bool Take(const std::string& type, const AttributeMap& attributes) {
    const std::optional<Phase> phase = PhaseOf(type, attributes);
    if (!phase || finished_) return false;
    const bool resizes = type == "resize" || type == "random_resized_crop";
    if (resizes && (resized_ || flipped_)) return false;
    if (*phase < phase_) return false;
    resized_ = resized_ || resizes;
    flipped_ = flipped_ || type == "flip";
    finished_ = *phase == Phase::kTranspose;
    phase_ = *phase == Phase::kNormalize ? Phase::kTranspose : *phase;
    return true;
  }

 private:
  enum class Phase { kGeometry, kNormalize, kTranspose };

  static std::optional<Phase> PhaseOf(const std::string& type, const AttributeMap& attributes) {
    if (type == "crop" || type == "center_crop" || type == "resize" || type == "flip" ||
        type == "random_resized_crop") {
      return Phase::kGeometry;
    }
    if (type == "random_crop") return Phase::kGeometry;
    if (type == "normalize") return Phase::kNormalize;
    const bool to_planes = type == "transpose" && attributes.Get<Ints>("axis") == Ints{0, 3, 1, 2};
    return to_planes ? std::optional(Phase::kTranspose) : std::nullopt;
  }

  Phase phase_ = Phase::kGeometry;
  bool resized_ = false, flipped_ = false, finished_ = false;
};

class Finder {
 public:
  Finder(const Program& program, int block, const std::vector<std::string>& sinks)
      : program_(program),
        block_(block),
        desc_(program.desc().blocks(block)),
        sinks_(sinks),
        uses_(UsesIn(desc_)) {}

  std::optional<ImageRun> From(int first) const {
    for (const proto::OpDesc& op : desc_.ops()) {
      for (const proto::OpDesc::Attr& attribute : op.attrs()) {
        if (attribute.type() == proto::BLOCK) return std::nullopt;  // it may use any variable
      }
    }
    ImageRun run = RunFrom(static_cast<size_t>(first));
    if (run.steps.size() < 2) return std::nullopt;
    run.only_sink = std::count(sinks_.begin(), sinks_.end(), run.result()) == 1 &&
                    uses_.at(run.result()).readers.empty();
    return run;
  }

 private:
  ImageRun RunFrom(size_t first) const {
    ImageRun run;
    const std::string* const source = OnlyArgument(desc_.ops(first).inputs(), "X");
    if (source == nullptr || !AddStep(first, &run)) return run;
    // What is fused is of bytes.
    if (DecodeStep(run.steps.front().attributes).mode == DecodeMode::k16Bits) return run;
    run.source = *source;
    Grammar grammar;
    while (const std::optional<size_t> next = OnlyUser(run.result())) {
      const proto::OpDesc& op = desc_.ops(static_cast<int>(*next));
      if (OnlyArgument(op.inputs(), "X") == nullptr || !StaysUntil(run, *next)) break;
      if (!AddStep(*next, &run)) break;
      if (grammar.Take(op.type(), run.steps.back().attributes)) continue;
      run.steps.pop_back();
      break;
    }
    return run;
  }

  bool AddStep(size_t op, ImageRun* run) const {
    const proto::OpDesc& desc = desc_.ops(static_cast<int>(op));
    const std::string* const out = OnlyArgument(desc.outputs(), "Out");
    if (out == nullptr || uses_.at(*out).writers.size() != 1) return false;
    if (program_.FindOwnDeclaration(block_, *out) == nullptr) return false;
    run->steps.push_back({op, desc.type(),
                          CheckAttributes(FindOperator(desc.type())->schema, desc,
                                          [](const OperatorPart&, const std::string& text) {
                                            Throw(ErrorCode::kInternal, text);
                                          }),
                          *out});
    return true;
  }

  // The only operator that uses a variable, which is no sink.
  std::optional<size_t> OnlyUser(const std::string& name) const {
    if (std::count(sinks_.begin(), sinks_.end(), name) > 0) return std::nullopt;
    const std::vector<size_t>& readers = uses_.at(name).readers;
    return readers.size() == 1 ? std::optional(readers[0]) : std::nullopt;
  }

  // Whether the encoded image is still in its variable when the operator runs.
  bool StaysUntil(const ImageRun& run, size_t op) const {
    const std::vector<size_t>& writers = uses_.at(run.source).writers;
    return std::none_of(writers.begin(), writers.end(), [&](size_t writer) {
      return writer >= run.steps.front().op && writer <= op;
    });
  }

  const Program& program_;
  const int block_;
  const proto::BlockDesc& desc_;
  const std::vector<std::string>& sinks_;
  const std::map<std::string, Uses> uses_;
};

}  // namespace

std::optional<ImageRun> FindImageRun(const Program& program, int block, int op,
                                     const std::vector<std::string>& sinks) {
  return Finder(program, block, sinks).From(op);
}

}  // namespace millhopper
