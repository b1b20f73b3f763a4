// SPDX-License-Identifier: Apache-2.0
// lookup: words become the numbers that a vocabulary gives them.
#include <cstdint>
#include <memory>
#include <string>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/support/loaded_files.h"
#include "operators/support/sequences.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema(
             "Words become the numbers of their lines in a vocabulary, as vocab= of fields makes "
             "them. The file is read when the operator first runs.")
      .Input(
          "X",
          "uint8 [n]: the bytes of one word, or, divided by its last level of detail, of several")
      .Output("Out",
              "int64, dims [words], with the levels of detail of X but the last: for each word the "
              "number of its line, from 0 on")
      .Attr(AttributeSchema("vocab", std::string(), "the file, one word a line").Required())
      .Attr(AttributeSchema("default", int64_t{},
                            "what other words become; if it is not given, another word is an error")
                .Optional())
      .Infer([](InferContext& context) {
        RequireText(context, "X");
        context.SetOut("Out", RowForEachSequence(context.In("X"), DataType::kInt64));
      });
}

std::shared_ptr<const Vocabulary> Load(const std::string& path) {
  auto vocabulary = std::make_shared<const Vocabulary>(path);
  if (vocabulary->size() == 0) {
    throw Error(ErrorCode::kDataLoss, "the vocabulary is empty").InFile(path, 0);
  }
  return vocabulary;
}

void Run(OpContext& context) {
  RequireText(context, "X");
  const auto& path = context.Attr<std::string>("vocab");
  const auto& vocabulary = LoadedFile<Vocabulary>(context, [&path] {
    return FilesToLoad<Vocabulary>{{path}, [&path] { return Load(path); }};
  });
  LoDTensor* const out = context.Out("Out");
  const StableInput x(context.In("X"), out);
  const Sequences words(*x);
  auto* const numbers = out->Allocate<int64_t>({static_cast<int64_t>(words.size())});
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = TextOf(*x, words, i);
    numbers[i] = vocabulary.Find(word);
    if (numbers[i] >= 0) continue;
    if (!context.IsGiven("default")) {
      Throw(ErrorCode::kDataLoss, "'", Shown(word), "' is no word of the vocabulary '",
            Escaped(path), "'; attribute 'default' gives such words a number");
    }
    numbers[i] = context.Attr<int64_t>("default");
  }
  SetOuterLevels(*x, out);
}

REGISTER_OPERATOR(lookup, Schema, Run);

}  // namespace
}  // namespace millhopper
