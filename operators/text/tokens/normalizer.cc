// SPDX-License-Identifier: Apache-2.0
// Source: tokenizers 0.23 (https://github.com/huggingface/tokenizers), normalizers, whose result
// this is.
#include "operators/text/tokens/normalizer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "framework/base/stop.h"
#include "operators/text/tokens/byte_alphabet.h"
#include "operators/text/tokens/chars_map.h"
#include "operators/text/tokens/sentence_piece.h"
#include "operators/text/unicode/unicode_classes.h"
#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

bool IsChinese(uint32_t point) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
      {0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
      {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [point](const auto& range) {
    return point >= range.first && point <= range.second;
  });
}

bool IsNmtControl(uint32_t point) {
  return (point >= 1 && point <= 8) || point == 0xb || (point >= 0xe && point <= 0x1f) ||
         point == 0x7f || point == 0x8f || point == 0x9f;
}

bool IsNmtSpace(uint32_t point) {
  return point == 9 || point == 0xa || point == 0xc || point == 0xd || point == 0x1680 ||
         (point >= 0x200b && point <= 0x200f) || point == 0x2028 || point == 0x2029 ||
         point == 0x2581 || point == 0xfeff || point == 0xfffd;
}

// Calls visit(code point, its first byte) for each character.
template <typename Visit>
void ForEachPoint(const uint8_t* text, size_t size, const Visit& visit) {
  for (const uint8_t* here = text; here != text + size; here += Utf8Length(*here)) {
    visit(CodePointAt(here), here);
  }
}

void AppendBytes(const uint8_t* begin, const uint8_t* end, TextBytes* out) {
  out->insert(out->end(), begin, end);
}

void AppendStripped(const Normalizer& step, const uint8_t* begin, const uint8_t* end,
                    TextBytes* out) {
  while (step.left && begin != end && IsSpace(CodePointAt(begin))) {
    begin += Utf8Length(*begin);
  }
  while (step.right && begin != end && IsSpace(CodePointAt(BackOne(end)))) {
    end = BackOne(end);
  }
  AppendBytes(begin, end, out);
}

void AppendReplaced(const Normalizer& step, const uint8_t* text, size_t size, TextBytes* out) {
  const uint8_t* const end = text + size;
  const uint8_t* here = text;
  const uint8_t* first = nullptr;
  const uint8_t* last = nullptr;
  const auto* const content = reinterpret_cast<const uint8_t*>(step.content.data());
  while (here != end && step.needle->Find(text, here, end, &first, &last)) {
    CheckStop();
    AppendBytes(here, first, out);
    AppendBytes(content, content + step.content.size(), out);
    here = last;
  }
  AppendBytes(here, end, out);
}

void AppendCleaned(const uint8_t* text, size_t size, TextBytes* out) {
  ForEachPoint(text, size, [out](uint32_t point, const uint8_t*) {
    const bool space = point == '\t' || point == '\n' || point == '\r';
    if (!space && (point == 0 || point == 0xfffd || IsBertControl(point))) return;
    AppendPoint(space || IsSpace(point) ? ' ' : point, out);
  });
}

void AppendWithout(bool (*is_left_out)(uint32_t), const uint8_t* text, size_t size,
                   TextBytes* out) {
  ForEachPoint(text, size, [=](uint32_t point, const uint8_t*) {
    if (!is_left_out(point)) AppendPoint(point, out);
  });
}

NormalForm FormOf(Normalizer::Kind kind) {
  switch (kind) {
    case Normalizer::Kind::kNfc:
      return NormalForm::kNfc;
    case Normalizer::Kind::kNfkc:
      return NormalForm::kNfkc;
    case Normalizer::Kind::kNfkd:
      return NormalForm::kNfkd;
    default:
      return NormalForm::kNfd;
  }
}

}  // namespace

bool Normalizer::Keeps(const uint8_t* text, size_t size) const {
  switch (kind) {
    case Kind::kNfc:
    case Kind::kNfd:
    case Kind::kNfkc:
    case Kind::kNfkd:
      return IsCertainlyNormal(FormOf(kind), text, size);
    case Kind::kNoMarks:
    case Kind::kStripAccents:
    case Kind::kChinese:
      return std::all_of(text, text + size, [](uint8_t byte) { return byte < 0x80; });
    case Kind::kReplace: {
      const uint8_t* first = nullptr;
      return !needle->Find(text, text, text + size, &first, &first);
    }
    case Kind::kPrepend:
      return size == 0 || content.empty();
    default:
      return size == 0;
  }
}

void Normalizer::Append(const uint8_t* text, size_t size, TextBytes* out) const {
  switch (kind) {
    case Kind::kNfc:
    case Kind::kNfd:
    case Kind::kNfkc:
    case Kind::kNfkd:
      return AppendNormal(FormOf(kind), text, size, out);
    case Kind::kLowercase:
      return ForEachPoint(text, size,
                          [out](uint32_t point, const uint8_t*) { AppendLower(point, out); });
    case Kind::kStripAccents:
      return AppendWithout(IsMark, text, size, out);
    case Kind::kStrip:
      return AppendStripped(*this, text, text + size, out);
    case Kind::kReplace:
      return AppendReplaced(*this, text, size, out);
    case Kind::kPrepend:
      AppendBytes(reinterpret_cast<const uint8_t*>(content.data()),
                  reinterpret_cast<const uint8_t*>(content.data()) + content.size(), out);
      return AppendBytes(text, text + size, out);
    case Kind::kNmt:
      return ForEachPoint(text, size, [out](uint32_t point, const uint8_t*) {
        if (!IsNmtControl(point)) AppendPoint(IsNmtSpace(point) ? ' ' : point, out);
      });
    case Kind::kClean:
      return AppendCleaned(text, size, out);
    case Kind::kChinese:
      return ForEachPoint(text, size, [out](uint32_t point, const uint8_t*) {
        const bool chinese = IsChinese(point);
        if (chinese) out->push_back(' ');
        AppendPoint(point, out);
        if (chinese) out->push_back(' ');
      });
    case Kind::kNoMarks: {
      TextBytes decomposed;
      AppendNormal(NormalForm::kNfd, text, size, &decomposed);
      return AppendWithout(IsBertMark, decomposed.data(), decomposed.size(), out);
    }
    case Kind::kPrecompiled:
      return AppendPrecompiled(*map, text, size, out);
    case Kind::kSentencePiece:
      return sentence->Append(text, size, out);
    case Kind::kByteLevel:
      for (size_t i = 0; i < size; ++i) AppendPoint(Gpt2Alphabet().CharacterOf(text[i]), out);
  }
}

}  // namespace millhopper
