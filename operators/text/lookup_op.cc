// SPDX-License-Identifier: Apache-2.0
// lookup: words become the numbers that a vocabulary gives them.
#include <cstdint>
#include <memory>
#include <optional>
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
             "them. The file is read when the operator first runs. Keras' StringLookup with "
             "mask_token=\"\" and num_oov_indices=1 is first 2, default 1, null 0.")
      .Input(
          "X",
          "uint8 [n]: the bytes of one word, or, divided by its last level of detail, of several")
      .Output("Out",
              "int64, dims [words], with the levels of detail of X but the last: for each word the "
              "number of its line, from `first` on")
      .Attr(AttributeSchema("vocab", std::string(), "the file, one word a line").Required())
      .Attr({"first", int64_t{0}, "the number of the first line"})
      .Attr(AttributeSchema("default", int64_t{},
                            "what other words become; if neither it nor num_oov_buckets is given, "
                            "another word is an error")
                .Optional())
      .Attr(AttributeSchema("num_oov_buckets", int64_t{},
                            "how many numbers other words become, each word one of them by its "
                            "hash, as hash_bucket makes it: those from default on, or, if that is "
                            "not given, those after the vocabulary's")
                .Optional()
                .AtLeast(1))
      .Attr(AttributeSchema("null", int64_t{},
                            "what the empty word becomes, as which a null is read, whether or not "
                            "it is in the vocabulary; if it is not given, it is a word like others")
                .Optional())
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        // A vocabulary has fewer words, and no number may be past the last one.
        constexpr int64_t kRoom = int64_t{1} << 62;
        for (const char* const name : {"first", "default", "num_oov_buckets"}) {
          if (!attributes.Has(name)) continue;
          const auto value = attributes.Get<int64_t>(name);
          Require(value >= -kRoom && value <= kRoom / 2, "attribute '", name, "' is ", value,
                  "; it must be ", -kRoom, " to ", kRoom / 2);
        }
      })
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

// What the attributes say.
struct Numbering {
  Numbering(const OpContext& context, size_t size)
      : first(context.Attr<int64_t>("first")), other(first + static_cast<int64_t>(size)) {
    if (context.IsGiven("default")) {
      other = context.Attr<int64_t>("default");
      buckets = 1;
    }
    if (context.IsGiven("num_oov_buckets")) {
      buckets = static_cast<uint64_t>(context.Attr<int64_t>("num_oov_buckets"));
    }
    if (context.IsGiven("null")) null = context.Attr<int64_t>("null");
  }

  int64_t first;         // of the vocabulary
  int64_t other;         // the first number of other words
  uint64_t buckets = 0;  // how many they have; 0: they are an error
  std::optional<int64_t> null;
};

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
  const Numbering numbering(context, vocabulary.size());
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = TextOf(*x, words, i);
    const int64_t line = vocabulary.Find(word);
    if (word.empty() && numbering.null) {
      numbers[i] = *numbering.null;
    } else if (line >= 0) {
      numbers[i] = numbering.first + line;
    } else if (numbering.buckets > 0) {
      numbers[i] = numbering.other + static_cast<int64_t>(HashBucket(word, numbering.buckets));
    } else {
      Throw(ErrorCode::kDataLoss, "'", Shown(word), "' is none of the ", vocabulary.size(),
            " words of the vocabulary '", Escaped(path),
            "'; attribute 'default' or 'num_oov_buckets' gives such words a number");
    }
  }
  SetOuterLevels(*x, out);
}

REGISTER_OPERATOR(lookup, Schema, Run);

}  // namespace
}  // namespace millhopper
