// SPDX-License-Identifier: Apache-2.0
// Reader: chains of readers in C++, as millhopper.Reader builds them in Python.
//
//   Reader::OpenFilesOptions table;
//   table.attributes["fields"] = std::vector<std::string>{"fare float32[1]", "tip float32[1]"};
//   ReaderLoop batches = Reader::OpenFiles({"rides-*.csv"}, table).Shuffle(8192).Batch(128).Open();
//   for (int epoch = 0; epoch < 3; ++epoch) {
//     for (const std::vector<LoDTensor>& batch : batches) Train(batch[0], batch[1]);
//   }
//
// There is a method for each operator that creates a reader of files or of other readers, made of
// its schema: create_padded_batch_reader is PaddedBatch. What the schema requires are arguments;
// the rest, and the name of the new reader, are members of its options, which may be left out (an
// empty list, too, is the default). `executor --list_ops TYPE` describes an operator. Names are
// given as in Python, so that a chain draws the same random numbers there.
//
// A Reader is the startup program that ToText shows, and Open runs it. Where nobody says how many
// lanes files have, it states 16 below a shuffle, as in Python, if that changes nothing but an
// order that is random anyway (operators/readers/support/default_lanes.h).
#ifndef MILLHOPPER_OPERATORS_FLUENT_READER_H_
#define MILLHOPPER_OPERATORS_FLUENT_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "framework/reader/position.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

struct ElementStep;

// A created reader and the passes over it. One thread at a time.
class ReaderLoop {
 public:
  class Iterator;
  struct End {};

  // Begins a pass: the first one, and each time after that the next one, wherever the one before
  // was left. After Restore the first one is what was left of the pass. An element is a tensor for
  // each slot, and is replaced by the next one. Throws what reading throws, as ++ of an iterator
  // does.
  Iterator begin();
  static End end() { return {}; }

  // Where the loop stands, as state_dict of Python says it: within a pass, or where it was left,
  // after the element that was read last. Once `for` has found the end of a pass, it is the
  // beginning of the next one, so that a loop over epochs that is restored goes on with a whole
  // pass; after the last element, within the body of `for`, it is what is left of the pass, which
  // is nothing, and the first `for` of a restored loop ends at once. Throws what ReaderHolder::Save
  // throws. Where readers load ahead, holder().ExpectSave() is called before the first pass.
  Position Save();
  // Goes to a position that Save of a loop of the same chain has returned, before anything is read.
  // Throws what ReaderHolder::Restore throws.
  void Restore(const Position& position) { holder_->Restore(position); }

  // To look at slots and statistics, or to read without `for`. What is read or restarted there is
  // not known to the loop.
  ReaderHolder& holder() { return *holder_; }

 private:
  friend class Reader;
  ReaderLoop(std::unique_ptr<Scope> scope, ReaderHolder* holder)
      : scope_(std::move(scope)), holder_(holder) {}

  std::unique_ptr<Scope> scope_;
  ReaderHolder* holder_;  // in scope_
  bool begun_ = false;    // the pass at which the reader stands, by `for`
  bool ended_ = false;    // `for` has found its end
};

// Goes through one pass; all iterators of a loop are at the same element.
class ReaderLoop::Iterator {
 public:
  explicit Iterator(ReaderLoop* loop) : loop_(loop) { ++*this; }

  const std::vector<LoDTensor>& operator*() const { return element_; }
  const std::vector<LoDTensor>* operator->() const { return &element_; }
  Iterator& operator++() {
    if (loop_->holder_->HasNext()) {
      loop_->holder_->ReadNext(&element_);
    } else {
      loop_->ended_ = true;
      loop_ = nullptr;
    }
    return *this;
  }
  bool operator!=(End) const { return loop_ != nullptr; }

 private:
  ReaderLoop* loop_;  // null at the end
  std::vector<LoDTensor> element_;
};

inline ReaderLoop::Iterator ReaderLoop::begin() {
  if (begun_) holder_->ReInit();
  begun_ = true;
  ended_ = false;
  return Iterator(this);
}

// What creates a reader on top of others. Immutable and cheap to copy; several chains may share a
// part, of which each makes its own readers.
class Reader {
 public:
  using Attributes = std::map<std::string, Attribute>;

#include "operators/fluent/reader_methods.inc"  // NOLINT(bugprone-suspicious-include)

  // A reader of an operator for which there is no method, such as that of a plugin: a source, one
  // on top of this reader, or one of this reader and others. `name` is the reader's, in errors and
  // statistics; what it draws depends on it.
  static Reader Create(const std::string& type, Attributes attributes,
                       std::vector<SlotSpec> slots = {}, const std::string& name = "");
  Reader Decorate(const std::string& type, Attributes attributes,
                  const std::string& name = "") const;
  Reader Combine(const std::string& type, const std::vector<Reader>& others, Attributes attributes,
                 const std::string& name = "") const;
  // Runs an operator that makes one tensor of one, such as decode_image, on a slot of each element,
  // on all threads; what it makes takes the slot's place. Calls one after another are one block.
  // Opens the files, to know how many slots there are. Without a name the operator draws by the
  // names of the chain's source and of its own, as in Python. Types may be named:
  // {"dtype", std::string("int32")}. Throws kInvalidArgument if there is no such slot or operator,
  // or if the name is taken.
  Reader Apply(const std::string& type, size_t slot, Attributes attributes = {},
               const std::string& name = "") const;

  // A function that returns its reader with more steps of Apply and of choices.
  using Steps = std::function<Reader(const Reader&)>;
  struct ChoiceOptions {
    // Decides the draws, too.
    std::optional<int32_t> seed;
    // Of the new reader; what it draws depends on it.
    std::string name;
  };
  // Steps that a draw applies, for each element anew: those of a function with probability p; those
  // of one of several, of which p says how likely each is, or all are equally; those of all, of
  // which there are at most 4, in an order that is drawn.
  //
  //   reader.RandomApply([](const Reader& r) { return r.Apply("invert", 0); }, 0.2)
  //
  // They throw kInvalidArgument if a function does something else than to add steps, or for what
  // is no probability.
  Reader RandomApply(const Steps& steps, double p = 0.5, const ChoiceOptions& options = {}) const;
  Reader RandomChoice(const std::vector<Steps>& steps, const std::vector<double>& p = {},
                      const ChoiceOptions& options = {}) const;
  Reader RandomOrder(const std::vector<Steps>& steps, const ChoiceOptions& options = {}) const;

  struct FilterOptions {
    // What the condition calls the slots, in order. If left out, they have the names of `fields`,
    // of fields that are inferred, or of the format (image, label), or are slot0, slot1 and so on.
    std::vector<std::string> slots;
    // Of the new reader.
    std::string name;
  };
  // The elements for which a condition on their slots holds, such as "label >= 3 and lang in ('en',
  // 'de')", as `filter` of Python takes it; `executor --list_ops condition` describes it. Opens the
  // files, to know how many slots there are. Throws kInvalidArgument if the names are not as many;
  // Open throws what is wrong in the condition.
  Reader Filter(const std::string& condition, const FilterOptions& options = {}) const;

  // The startup program, as --startup of the commands takes it.
  std::string ToText() const;

  // Creates the readers. `run` has the seed that is drawn from, together with the attributes `seed`
  // (as --seed of the commands), and the device of a double buffer. Throws kInvalidArgument with
  // all that is wrong in the chain, and what opening the files throws.
  ReaderLoop Open(const RunState& run = {}) const;
  ReaderLoop Open(uint64_t seed) const;

 private:
  struct Node;

  // The attributes of an operator that are given.
  class Given {
   public:
    explicit Given(Attributes more = {}) : attributes_(std::move(more)) {}
    template <typename T>
    void Set(const char* name, const T& value) {
      attributes_.insert_or_assign(name, Attribute(value));
    }
    template <typename T>
    void Set(const char* name, const std::optional<T>& value) {
      if (value) Set(name, *value);
    }
    template <typename T>
    void Set(const char* name, const std::vector<T>& values) {
      if (!values.empty()) attributes_.insert_or_assign(name, Attribute(values));
    }
    Attributes Take() { return std::move(attributes_); }

   private:
    Attributes attributes_;
  };

  explicit Reader(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  // This reader if it has steps that are run on elements, or one of no steps on it.
  Reader WithSteps() const;
  // Of such a reader: one of this name that has one step more, whose name must not be taken.
  Reader WithStep(ElementStep step, const std::set<std::string>& taken,
                  const std::string& name) const;
  // Of such a reader: the names that a step cannot have.
  std::set<std::string> NamesBelowStep() const;
  // Of such a reader: the steps that a function adds to it.
  std::vector<std::shared_ptr<const ElementStep>> Added(const char* method,
                                                        const Steps& function) const;
  // Shares are as many as functions, from 0 to 1.
  Reader Choose(const char* method, const std::vector<Steps>& functions,
                const std::vector<double>& shares, const ChoiceOptions& options) const;

  std::shared_ptr<const Node> node_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_FLUENT_READER_H_
