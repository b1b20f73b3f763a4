// SPDX-License-Identifier: Apache-2.0
// tokenize: text becomes the numbers of its tokens.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "operators/support/loaded_files.h"
#include "operators/support/sequences.h"
#include "operators/text/tokens/text_encoder.h"

namespace millhopper {
namespace {

using IdTypes = Types<int64_t, int32_t>;

EncodeOptions OptionsOf(const OpContext& context) {
  EncodeOptions options;
  const auto& pattern = context.Attr<std::string>("pattern");
  if (pattern == "gpt2") options.pattern = PiecePattern::kGpt2;
  if (pattern == "cl100k") options.pattern = PiecePattern::kCl100k;
  if (pattern == "o200k") options.pattern = PiecePattern::kO200k;
  if (pattern == "none") options.pattern = PiecePattern::kNone;
  const auto& special = context.Attr<std::string>("special");
  if (special == "allow") options.specials = Specials::kAllow;
  if (special == "refuse") options.specials = Specials::kRefuse;
  if (special == "text") options.specials = Specials::kText;
  options.with_template = context.Attr<bool>("add_special_tokens");
  return options;
}

constexpr int32_t kNoToken = -1;

void Infer(InferContext& context) {
  RequireText(context, "X");
  const TensorSpec& x = context.In("X");
  TensorSpec spec;
  spec.dtype = DataTypeFromNumber(context.Attr<int32_t>("dtype"));
  const bool same_length = context.Attr<std::string>("mode") == "bytes" &&
                           context.Attr<int32_t>("bos") == kNoToken &&
                           context.Attr<int32_t>("eos") == kNoToken;
  spec.dims = same_length ? x.dims : Dims{-1};
  spec.lod_level = LevelsOfSequences(x);
  context.SetOut("Out", spec);
}

OpSchema Schema() {
  return OpSchema(
             "Text becomes the numbers of its tokens: bytes, or those of a tokenizer's file.\n\n"
             "With files of ranks or merges the result is that of tiktoken's encode_ordinary: text "
             "is divided into pieces by a pattern; a piece that is a token becomes it; in any "
             "other "
             "bytes are merged, the pair that makes the token of the lowest rank first. Text need "
             "not be UTF-8: a byte that is no part of a character is a piece, and what lies "
             "between "
             "such bytes is divided as another text.\n\n"
             "With a tokenizer.json the result is that of Hugging Face's Tokenizer.encode. Models: "
             "BPE, WordPiece, WordLevel, Unigram. Normalizers: NFC, NFD, NFKC, NFKD, Lowercase, "
             "StripAccents, Strip, Replace, Prepend, Nmt, BertNormalizer, Precompiled, ByteLevel. "
             "Pre-tokenizers: ByteLevel, Split, Whitespace, WhitespaceSplit, BertPreTokenizer, "
             "Punctuation, Digits, Metaspace, CharDelimiterSplit. Post-processors: "
             "TemplateProcessing with one text, BertProcessing, RobertaProcessing, ByteLevel. Also "
             "sequences of these, added tokens, and truncation. Anything else is an error that "
             "names it, and so is text that is not UTF-8. A template of a chat is not applied: "
             "write messages as text first.\n\n"
             "With a model of SentencePiece, unigram or BPE, the result is that of its encode, "
             "without pieces that the user has defined.\n\n"
             "The file is read when the operator first runs.")
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
      .Attr(
          {"merges", std::string(),
           "a file of tokens in tiktoken's form (each line the bytes of a token in base64, a "
           "space, its rank, which is its number), of merges in GPT-2's (merges.txt, vocab.bpe: a "
           "line that begins with #version, then two tokens a line), or a tokenizer.json of "
           "Hugging Face"})
      .Attr(
          {"vocab", std::string(),
           "the JSON file that gives the tokens of merges in GPT-2's form their numbers "
           "(vocab.json, encoder.json); without it they are numbered as GPT-2's are, bytes first"})
      .Attr(
          AttributeSchema(
              "pattern", std::string(),
              "for files of ranks or merges: gpt2 (which is the default), cl100k and o200k, the "
              "regular expressions of these encodings in tiktoken 0.14, with the letters, numbers "
              "and white space of Unicode 16; none: a text is one piece")
              .OneOf({"", "gpt2", "cl100k", "o200k", "none"}))
      .Attr({"dtype", static_cast<int32_t>(DataType::kInt64),
             "type of Out, by its number in framework.proto: int64 or int32"})
      .Attr(AttributeSchema("special", std::string(),
                            "what becomes of special tokens, such as <|endoftext|>, that stand in "
                            "the text: allow, they are tokens; refuse, they are an error; text, "
                            "they are text like any other. By default allow for a tokenizer.json, "
                            "as Tokenizer.encode does, else text, as encode_ordinary does")
                .OneOf({"", "allow", "refuse", "text"}))
      .Attr({"add_special_tokens", true,
             "whether the template of a tokenizer.json adds its tokens, such as those of beginning "
             "and end"})
      .Attr(AttributeSchema("bos", kNoToken,
                            "a token that stands before those of each text; -1: none")
                .AtLeast(kNoToken))
      .Attr(AttributeSchema("eos", kNoToken,
                            "a token that follows those of each text, such as that of "
                            "<|endoftext|>; -1: none")
                .AtLeast(kNoToken))
      .Attr({"bos_token", std::string(), "the same as `bos`, by its name in the file"})
      .Attr({"eos_token", std::string(), "the same as `eos`, by its name in the file"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const DataType type = DataTypeFromNumber(attributes.Get<int32_t>("dtype"));
        Require(IdTypes::Has(type), "attribute 'dtype' is ", ToString(type),
                "; it may be int64 or int32");
        const bool bpe = attributes.Get<std::string>("mode") == "bpe";
        const bool merges = !attributes.Get<std::string>("merges").empty();
        Require(bpe || !merges, "attribute 'merges' is for the mode bpe");
        Require(!bpe || merges, "mode bpe needs the attribute 'merges', a file of tokens");
        for (const char* name : {"vocab", "special", "pattern", "bos_token", "eos_token"}) {
          Require(merges || attributes.Get<std::string>(name).empty(), "attribute '", name,
                  "' is for 'merges'");
        }
        for (const std::string name : {"bos", "eos"}) {
          Require(attributes.Get<int32_t>(name) == kNoToken ||
                      attributes.Get<std::string>(name + "_token").empty(),
                  "attributes '", name, "' and '", name, "_token' are two names of one token");
        }
      })
      .Infer(Infer);
}

FilesToLoad<TextEncoder> FilesOf(const OpContext& context) {
  const auto& merges = context.Attr<std::string>("merges");
  const auto& vocab = context.Attr<std::string>("vocab");
  std::vector<std::string> paths = {merges};
  if (!vocab.empty()) paths.push_back(vocab);
  return {std::move(paths), [&] { return TextEncoder::Read(merges, vocab); }};
}

// The token that stands before or after each text, or kNoToken.
int32_t TokenAround(const OpContext& context, const char* name, const TextEncoder* encoder) {
  const auto& token = context.Attr<std::string>(StrCat(name, "_token"));
  return token.empty() ? context.Attr<int32_t>(name) : encoder->IdOf(token);
}

// Gives Out tokens, of which text i has those up to offsets[i + 1].
template <typename Token>
void Store(OpContext& context, const LoDTensor& x, const Token* tokens, LodLevel offsets) {
  LoDTensor* const out = context.Out("Out");
  const DataType type = DataTypeFromNumber(context.Attr<int32_t>("dtype"));
  const auto count = static_cast<int64_t>(offsets.back());
  VisitType(IdTypes(), type, [&](auto tag) {
    std::copy_n(tokens, count, out->Allocate<typename decltype(tag)::type>({count}));
  });
  SetLastLevel(x, std::move(offsets), out);
}

// Where no text has more tokens than bytes, beside one at its beginning and one at its end.
// write(text, size, ids) writes those of one and returns where they end.
template <typename Write>
void RunInPlace(OpContext& context, const LoDTensor& x, int32_t bos, int32_t eos,
                const Write& write) {
  const Sequences texts(x);
  const auto* const text = static_cast<const uint8_t*>(x.raw_data());
  LodLevel offsets;
  offsets.reserve(texts.size() + 1);
  offsets.push_back(0);
  const Ref<Buffer> buffer =
      BufferPool::At(Place()).Take(CheckedProduct(x.bytes() + 2 * texts.size(), sizeof(int32_t)));
  auto* const ids = reinterpret_cast<int32_t*>(buffer->data());
  for (size_t i = 0; i < texts.size(); ++i) {
    int32_t* end = ids + offsets.back();
    if (bos != kNoToken) *end++ = bos;
    end = write(text + texts.begin(i), texts.length(i), end);
    if (eos != kNoToken) *end++ = eos;
    offsets.push_back(static_cast<size_t>(end - ids));
  }
  Store(context, x, ids, std::move(offsets));
}

void RunFile(OpContext& context, const LoDTensor& x) {
  const auto& encoder = LoadedFile<TextEncoder>(context, [&] { return FilesOf(context); });
  const EncodeOptions options = OptionsOf(context);
  encoder.Check(options);
  const int32_t bos = TokenAround(context, "bos", &encoder);
  const int32_t eos = TokenAround(context, "eos", &encoder);
  PiecePattern pattern;
  if (const BytePairEncoder* const pairs = encoder.Plain(options, &pattern)) {
    return RunInPlace(context, x, bos, eos, [&](const uint8_t* text, size_t size, int32_t* ids) {
      return ids + pairs->Encode(pattern, text, size, ids);
    });
  }
  const Sequences texts(x);
  const auto* const text = static_cast<const uint8_t*>(x.raw_data());
  LodLevel offsets;
  offsets.reserve(texts.size() + 1);
  offsets.push_back(0);
  TextEncoder::Work work;
  Ids ids;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (bos != kNoToken) ids.push_back(bos);
    encoder.Encode(text + texts.begin(i), texts.length(i), options, &work, &ids);
    if (eos != kNoToken) ids.push_back(eos);
    offsets.push_back(ids.size());
  }
  Store(context, x, ids.data(), std::move(offsets));
}

void Run(OpContext& context) {
  RequireText(context, "X");
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  if (context.Attr<std::string>("mode") == "bpe") return RunFile(context, x);
  const auto bos = context.Attr<int32_t>("bos");
  const auto eos = context.Attr<int32_t>("eos");
  if (bos != kNoToken || eos != kNoToken) {
    return RunInPlace(context, x, bos, eos, [](const uint8_t* text, size_t size, int32_t* ids) {
      return std::copy_n(text, size, ids);
    });
  }
  const Sequences texts(x);
  LodLevel offsets = {0};
  offsets.reserve(texts.size() + 1);
  for (size_t i = 0; i < texts.size(); ++i) offsets.push_back(texts.end(i));
  Store(context, x, static_cast<const uint8_t*>(x.raw_data()), std::move(offsets));
}

REGISTER_OPERATOR(tokenize, Schema, Run);

}  // namespace
}  // namespace millhopper
