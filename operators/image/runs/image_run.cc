// SPDX-License-Identifier: Apache-2.0
#include "operators/image/runs/image_run.h"

#include <algorithm>
#include <iterator>
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

using Parameters = google::protobuf::RepeatedPtrField<proto::OpDesc::Var>;

// Adds what a block and the blocks inside it use. Where `op` is set, it is the operator around the
// block, which counts for those within.
void AddUses(const Program& program, int block, std::optional<size_t> op,
             std::map<std::string, Uses>* uses) {
  const proto::BlockDesc& desc = program.desc().blocks(block);
  for (int i = 0; i < desc.ops_size(); ++i) {
    const size_t user = op.value_or(static_cast<size_t>(i));
    for (const proto::OpDesc::Var& input : desc.ops(i).inputs()) {
      for (const std::string& name : input.arguments()) (*uses)[name].readers.push_back(user);
    }
    for (const proto::OpDesc::Var& output : desc.ops(i).outputs()) {
      for (const std::string& name : output.arguments()) (*uses)[name].writers.push_back(user);
    }
    for (const proto::OpDesc::Attr& attribute : desc.ops(i).attrs()) {
      if (attribute.type() == proto::BLOCK) AddUses(program, attribute.block_idx(), user, uses);
    }
  }
}

std::map<std::string, Uses> UsesIn(const Program& program, int block) {
  std::map<std::string, Uses> uses;
  AddUses(program, block, std::nullopt, &uses);
  return uses;
}

// The arguments of an operator's inputs or outputs.
struct Arguments {
  const std::string* only = nullptr;      // that of `parameter`; null if it has several or none
  std::vector<const std::string*> moved;  // those of parameters that move with an image
  bool has_others = false;                // whether there are any but these
};

Arguments ArgumentsIn(const Parameters& parameters, const std::string& parameter) {
  const std::string moved[] = {"Masks",    "Boxes",     "Points", "OutMasks",
                               "OutBoxes", "OutPoints", "Matrix"};
  Arguments arguments;
  for (const proto::OpDesc::Var& given : parameters) {
    const bool moves =
        std::find(std::begin(moved), std::end(moved), given.parameter()) != std::end(moved);
    for (const std::string& name : given.arguments()) {
      if (name == kEmptyArgument) continue;
      if (given.parameter() == parameter && arguments.only == nullptr) {
        arguments.only = &name;
      } else if (moves) {
        arguments.moved.push_back(&name);
      } else {
        arguments.has_others = true;
      }
    }
  }
  return arguments;
}

// Whether the operator takes no more of X than its size.
bool AsksForSize(const std::string& type) {
  return type == "object_masks" || type == "sanitize_boxes";
}

// Which operators may come next.
class Grammar {
 public:
  // Whether the operator may follow those that were taken before; takes it if so.
  bool Take(const std::string& type, const AttributeMap& attributes) {
    const std::optional<Phase> phase = PhaseOf(type, attributes);
    if (!phase || finished_) return false;
    const bool resizes = Resizes(type);
    if (resizes && (resized_ || flipped_)) return false;
    if (*phase < phase_) return false;
    resized_ = resized_ || resizes;
    flipped_ = flipped_ || type == "flip";
    finished_ = *phase == Phase::kTranspose;
    phase_ = *phase == Phase::kNormalize ? Phase::kTranspose : *phase;
    return true;
  }

  // Whether what was taken makes images of bytes.
  bool is_of_bytes() const { return phase_ == Phase::kGeometry; }

 private:
  enum class Phase { kGeometry, kNormalize, kTranspose };

  static bool Resizes(const std::string& type) {
    return type == "resize" || type == "random_resized_crop" || type == "random_shortest_size" ||
           type == "scale_jitter" || type == "resize_keep_ratio";
  }

  static std::optional<Phase> PhaseOf(const std::string& type, const AttributeMap& attributes) {
    if (Resizes(type) || type == "crop" || type == "center_crop" || type == "random_crop" ||
        type == "flip") {
      return Phase::kGeometry;
    }
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
        uses_(UsesIn(program, block)) {}

  std::optional<ImageRun> From(int first) const {
    ImageRun run = RunFrom(static_cast<size_t>(first));
    if (run.steps.size() < 2) return std::nullopt;
    run.only_sink = std::count(sinks_.begin(), sinks_.end(), run.result()) == 1 &&
                    uses_.at(run.result()).readers.empty();
    return run;
  }

 private:
  ImageRun RunFrom(size_t first) const {
    ImageRun run;
    const Arguments source = ArgumentsIn(OpAt(first).inputs(), "X");
    if (source.only == nullptr || source.has_others || !AddStep(first, &run)) return run;
    // What is fused is of bytes.
    if (DecodeStep(run.steps.front().attributes).mode == DecodeMode::k16Bits) return run;
    run.source = *source.only;
    Grammar grammar;
    while (const std::optional<size_t> next = OnlyUser(run.result())) {
      const Arguments taken = ArgumentsIn(OpAt(*next).inputs(), "X");
      if (taken.only == nullptr || *taken.only != run.result() || taken.has_others) break;
      if (!StaysUntil(run, *next) || !MakesTheSameAgain(*next)) break;
      const bool asks_for_size = uses_.at(run.result()).readers.size() > 1;
      if (asks_for_size && !grammar.is_of_bytes()) break;
      if (!AddStep(*next, &run)) break;
      if (!grammar.Take(OpAt(*next).type(), run.steps.back().attributes)) {
        run.steps.pop_back();
        break;
      }
      const bool moves_more = !ArgumentsIn(OpAt(*next).outputs(), "Out").moved.empty();
      if (asks_for_size) run.outlined = run.steps.size() - 1;
      if (moves_more) run.outlined = run.steps.size();
    }
    return run;
  }

  bool AddStep(size_t op, ImageRun* run) const {
    const proto::OpDesc& desc = OpAt(op);
    const Arguments out = ArgumentsIn(desc.outputs(), "Out");
    if (out.only == nullptr || out.has_others || uses_.at(*out.only).writers.size() != 1) {
      return false;
    }
    if (program_.FindOwnDeclaration(block_, *out.only) == nullptr) return false;
    run->steps.push_back({op, desc.type(),
                          CheckAttributes(FindOperator(desc.type())->schema, desc,
                                          [](const OperatorPart&, const std::string& text) {
                                            Throw(ErrorCode::kInternal, text);
                                          }),
                          *out.only});
    return true;
  }

  // Whether what the operator moves with the image is the same if it is run again, later.
  bool MakesTheSameAgain(size_t op) const {
    for (const std::string* const name : ArgumentsIn(OpAt(op).inputs(), "X").moved) {
      for (const size_t writer : uses_.at(*name).writers) {
        if (writer >= op) return false;
      }
    }
    for (const std::string* const name : ArgumentsIn(OpAt(op).outputs(), "Out").moved) {
      const Uses& uses = uses_.at(*name);
      if (uses.writers.size() != 1) return false;
      for (const size_t reader : uses.readers) {
        if (reader <= op) return false;
      }
    }
    return true;
  }

  // The only operator that uses the values of a variable, which is no sink.
  std::optional<size_t> OnlyUser(const std::string& name) const {
    if (std::count(sinks_.begin(), sinks_.end(), name) > 0) return std::nullopt;
    std::optional<size_t> user;
    const std::vector<size_t>& readers = uses_.at(name).readers;
    for (const size_t reader : readers) {
      const proto::OpDesc& op = OpAt(reader);
      const std::string* const asked = ArgumentsIn(op.inputs(), "X").only;
      const bool is_once = std::count(readers.begin(), readers.end(), reader) == 1;
      if (is_once && AsksForSize(op.type()) && asked != nullptr && *asked == name) continue;
      if (user) return std::nullopt;
      user = reader;
    }
    return user;
  }

  const proto::OpDesc& OpAt(size_t op) const { return desc_.ops(static_cast<int>(op)); }

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
