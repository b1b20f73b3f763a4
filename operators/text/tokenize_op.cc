// SPDX-License-Identifier: Apache-2.0
// tokenize: text becomes the numbers of its tokens.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "operators/support/loaded_files.h"
#include "operators/support/sequences.h"
#include "operators/text/tokens/byte_pairs.h"
#include "operators/text/tokens/token_files.h"

namespace millhopper {
namespace {

using IdTypes = Types<int64_t, int32_t>;

PiecePattern PatternOf(const std::string& name) {
  if (name == "gpt2") return PiecePattern::kGpt2;
  return name == "cl100k" ? PiecePattern::kCl100k : PiecePattern::kNone;
}

constexpr int32_t kNoToken = -1;

void Infer(InferContext& context) {
  RequireText(context, "X");
  const TensorSpec& x = context.In("X");
  TensorSpec spec;
  spec.dtype = DataTypeFromNumber(context.Attr<int32_t>("dtype"));
  const bool same_length =
      context.Attr<std::string>("mode") == "bytes" && context.Attr<int32_t>("eos") == kNoToken;
  spec.dims = same_length ? x.dims : Dims{-1};
  spec.lod_level = LevelsOfSequences(x);
  context.SetOut("Out", spec);
}

OpSchema Schema() {
  return OpSchema(
             "Text becomes the numbers of its tokens: bytes, or a byte pair encoding (BPE) with "
             "the "
             "result of tiktoken's encode_ordinary. Text is divided into pieces by a pattern; a "
             "piece that is a token becomes it; in any other bytes are merged, the pair that makes "
             "the token of the lowest rank first. Special tokens, such as <|endoftext|>, are "
             "text like any other. Text need not be UTF-8: a byte that is no part of a character "
             "is a piece, and what lies between such bytes is divided as another text. The "
             "file is read when the operator first runs.")
      .Input(
          "X",
          "uint8 [n]: the bytes of one text, or, divided by its last level of detail, of several")
      .Output("Out",
              "the tokens of all texts, dims [tokens]; its levels of detail are those of X, of "
              "which the last divides the tokens; it has one if X has none")
      .Attr(AttributeSchema("mode", std::string("bytes"),
                            "bytes: a token is a byte, its number 0 to 255; bpe: a byte pair "
                            "encoding, of which `merges` names the file")
                .OneOf({"bytes", "bpe"}))
      .Attr({"merges", std::string(),
             "a file of tokens in tiktoken's form (each line the bytes of a token in base64, a "
             "space, its rank, which is its number), or of merges in GPT-2's (merges.txt, "
             "vocab.bpe: a line that begins with #version, then two tokens a line)"})
      .Attr(
          {"vocab", std::string(),
           "the JSON file that gives the tokens of merges in GPT-2's form their numbers "
           "(vocab.json, encoder.json); without it they are numbered as GPT-2's are, bytes first"})
      .Attr(
          AttributeSchema(
              "pattern", std::string("gpt2"),
              "gpt2 and cl100k: the regular expressions of these encodings in tiktoken 0.14, with "
              "the letters, numbers and white space of Unicode 16; none: a text is one piece")
              .OneOf({"gpt2", "cl100k", "none"}))
      .Attr({"dtype", static_cast<int32_t>(DataType::kInt64),
             "type of Out, by its number in framework.proto: int64 or int32"})
      .Attr(AttributeSchema("eos", kNoToken,
                            "a token that follows those of each text, such as that of "
                            "<|endoftext|>; -1: none")
                .AtLeast(kNoToken))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const DataType type = DataTypeFromNumber(attributes.Get<int32_t>("dtype"));
        Require(IdTypes::Has(type), "attribute 'dtype' is ", ToString(type),
                "; it may be int64 or int32");
        const bool bpe = attributes.Get<std::string>("mode") == "bpe";
        const bool merges = !attributes.Get<std::string>("merges").empty();
        Require(bpe || !merges, "attribute 'merges' is for the mode bpe");
        Require(!bpe || merges, "mode bpe needs the attribute 'merges', a file of tokens");
        Require(merges || attributes.Get<std::string>("vocab").empty(),
                "attribute 'vocab' is for 'merges'");
      })
      .Infer(Infer);
}

FilesToLoad<BytePairEncoder> FilesOf(const OpContext& context) {
  const auto& merges = context.Attr<std::string>("merges");
  const auto& vocab = context.Attr<std::string>("vocab");
  std::vector<std::string> paths = {merges};
  if (!vocab.empty()) paths.push_back(vocab);
  return {std::move(paths),
          [&] { return std::make_shared<const BytePairEncoder>(ReadTokens(merges, vocab)); }};
}

void Run(OpContext& context) {
  RequireText(context, "X");
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  const auto* const text = static_cast<const uint8_t*>(x.raw_data());
  const Sequences texts(x);
  LoDTensor* const out = context.Out("Out");
  const DataType type = DataTypeFromNumber(context.Attr<int32_t>("dtype"));
  // Gives Out the tokens from `tokens` on, of which text i has those up to offsets[i + 1].
  const auto store = [&](const auto* tokens, LodLevel offsets) {
    const auto count = static_cast<int64_t>(offsets.back());
    VisitType(IdTypes(), type, [&](auto tag) {
      std::copy_n(tokens, count, out->Allocate<typename decltype(tag)::type>({count}));
    });
    SetLastLevel(x, std::move(offsets), out);
  };
  LodLevel offsets;
  offsets.reserve(texts.size() + 1);
  offsets.push_back(0);
  const auto eos = context.Attr<int32_t>("eos");
  const bool is_bytes = context.Attr<std::string>("mode") == "bytes";
  if (is_bytes && eos == kNoToken) {
    for (size_t i = 0; i < texts.size(); ++i) offsets.push_back(texts.end(i));
    return store(text, std::move(offsets));
  }
  const BytePairEncoder* const encoder =
      is_bytes ? nullptr : &LoadedFile<BytePairEncoder>(context, [&] { return FilesOf(context); });
  const PiecePattern pattern = PatternOf(context.Attr<std::string>("pattern"));
  // No text has more tokens than bytes, and then one at its end.
  const Ref<Buffer> buffer =
      BufferPool::At(Place()).Take(CheckedProduct(x.bytes() + texts.size(), sizeof(int32_t)));
  auto* const ids = reinterpret_cast<int32_t*>(buffer->data());
  for (size_t i = 0; i < texts.size(); ++i) {
    const uint8_t* const begin = text + texts.begin(i);
    int32_t* end = ids + offsets.back();
    if (encoder == nullptr) {
      end = std::copy_n(begin, texts.length(i), end);
    } else {
      end += encoder->Encode(pattern, begin, texts.length(i), end);
    }
    if (eos != kNoToken) *end++ = eos;
    offsets.push_back(static_cast<size_t>(end - ids));
  }
  store(ids, std::move(offsets));
}

REGISTER_OPERATOR(tokenize, Schema, Run);

}  // namespace
}  // namespace millhopper
