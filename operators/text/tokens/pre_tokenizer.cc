// SPDX-License-Identifier: Apache-2.0
// Source: tokenizers 0.23 (https://github.com/huggingface/tokenizers), pre_tokenizers and
// NormalizedString::split, whose result this is.
#include "operators/text/tokens/pre_tokenizer.h"

#include <algorithm>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "operators/text/tokens/byte_alphabet.h"
#include "operators/text/unicode/unicode_classes.h"
#include "operators/text/unicode/utf8.h"

namespace millhopper {
namespace {

using Behavior = PreTokenizer::Behavior;

// Pieces of matches and of what lies between them.
template <typename Matches>
void AppendPieces(Behavior behavior, const Matches& matches, PooledVector<Span>* pieces) {
  const size_t begin = pieces->size();
  switch (behavior) {
    case Behavior::kRemoved:
      for (const auto& match : matches) {
        if (!match.is_match) pieces->push_back({match.begin, match.end});
      }
      return;
    case Behavior::kIsolated:
      for (const auto& match : matches) pieces->push_back({match.begin, match.end});
      return;
    case Behavior::kMergedWithPrevious:
    case Behavior::kContiguous: {
      bool before = false;
      for (const auto& match : matches) {
        const bool joins = behavior == Behavior::kContiguous ? match.is_match == before
                                                             : match.is_match && !before;
        before = match.is_match;
        if (joins && pieces->size() > begin) {
          pieces->back().end = match.end;
        } else {
          pieces->push_back({match.begin, match.end});
        }
      }
      return;
    }
    case Behavior::kMergedWithNext: {
      bool after = false;
      for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
        if (match->is_match && !after && pieces->size() > begin) {
          pieces->back().begin = match->begin;
        } else {
          pieces->push_back({match->begin, match->end});
        }
        after = match->is_match;
      }
      std::reverse(pieces->begin() + static_cast<ptrdiff_t>(begin), pieces->end());
    }
  }
}

// Words, and runs of what is neither word nor white space.
template <typename Add>
void FindWords(const uint8_t* text, Span piece, const Add& add) {
  enum Type { kNothing, kWord, kSign };
  Type before = kNothing;
  uint32_t begin = piece.begin;
  for (uint32_t at = piece.begin; at != piece.end; at += Utf8Length(text[at])) {
    const uint32_t point = CodePointAt(text + at);
    const Type type = IsWordCharacter(point) ? kWord : IsSpace(point) ? kNothing : kSign;
    if (type != before) {
      if (before != kNothing) add(begin, at);
      begin = at;
    }
    before = type;
  }
  if (before != kNothing) add(begin, piece.end);
}

// Runs of one script, which begin with the first character that has one.
template <typename Add>
void FindScripts(const uint8_t* text, Span piece, const Add& add) {
  uint32_t before = 0;
  uint32_t begin = piece.end;
  for (uint32_t at = piece.begin; at != piece.end; at += Utf8Length(text[at])) {
    const uint32_t script = OldScriptOf(CodePointAt(text + at));
    if (script == 0 || script == before) continue;
    if (before != 0) add(begin, at);
    begin = at;
    before = script;
  }
  add(begin, piece.end);
}

}  // namespace

void DividedText::Begin(const uint8_t* text, size_t size, bool is_first) {
  Require(size < UINT32_MAX / 8, "a text of ", size, " bytes is too long to be tokenized");
  text_ = text;
  is_first_ = is_first;
  pieces_.clear();
  if (size > 0) pieces_.push_back({0, static_cast<uint32_t>(size)});
}

void PreTokenizer::Divide(DividedText* text) const {
  if (!divides()) return Rewrite(text);
  text->next_.clear();
  for (const Span piece : text->pieces_) {
    CheckStop();
    text->matches_.clear();
    FindMatches(text->text_, piece, &text->matches_);
    AppendPieces(behavior, text->matches_, &text->next_);
  }
  text->pieces_.swap(text->next_);
}

// Matches and what lies between them, one after the other; none is empty.
void PreTokenizer::FindMatches(const uint8_t* text, Span piece,
                               PooledVector<DividedText::Match>* matches) const {
  uint32_t done = piece.begin;
  const auto add = [&](uint32_t begin, uint32_t end) {
    if (begin > done) matches->push_back({done, begin, invert});
    if (end > begin) matches->push_back({begin, end, !invert});
    done = end;
  };
  const uint8_t* const end = text + piece.end;
  if (kind == Kind::kNeedle) {
    const uint8_t* const begin = text + piece.begin;
    const uint8_t* first = nullptr;
    const uint8_t* last = begin;
    while (last != end && needle->Find(begin, last, end, &first, &last)) {
      add(static_cast<uint32_t>(first - text), static_cast<uint32_t>(last - text));
    }
  } else if (kind == Kind::kScripts) {
    FindScripts(text, piece, add);
  } else if (kind == Kind::kLength) {
    uint32_t characters = 0;
    for (const uint8_t* here = text + piece.begin; here != end; here += Utf8Length(*here)) {
      const auto at = static_cast<uint32_t>(here - text);
      if (characters++ % length == 0) add(at, at);
    }
  } else if (kind == Kind::kWords) {
    FindWords(text, piece, add);
  } else {
    for (const uint8_t* here = text + piece.begin; here != end; here += Utf8Length(*here)) {
      const uint32_t point = CodePointAt(here);
      const bool is_match = kind == Kind::kSpaces        ? IsSpace(point)
                            : kind == Kind::kPunctuation ? IsBertPunctuation(point)
                                                         : IsNumeric(point);
      const auto at = static_cast<uint32_t>(here - text);
      if (is_match) add(at, at + Utf8Length(*here));
    }
  }
  add(piece.end, piece.end);
}

void PreTokenizer::Rewrite(DividedText* text) const {
  TextBytes& made = text->made_[text->second_ ? 1 : 0];
  text->second_ = !text->second_;
  made.clear();
  const auto* const content_begin = reinterpret_cast<const uint8_t*>(content.data());
  const uint8_t* const content_end = content_begin + content.size();
  // What is left out before the first piece is not copied, and that piece is not the beginning.
  if (!text->pieces_.empty() && text->pieces_[0].begin != 0) text->is_first_ = false;
  for (Span& piece : text->pieces_) {
    CheckStop();
    const auto begin = static_cast<uint32_t>(made.size());
    const uint8_t* const here = text->text_ + piece.begin;
    const uint8_t* const end = text->text_ + piece.end;
    if (kind == Kind::kReplace) {
      for (const uint8_t* byte = here; byte != end; ++byte) {
        if (*byte == ' ') {
          made.insert(made.end(), content_begin, content_end);
        } else {
          made.push_back(*byte);
        }
      }
    } else if (kind == Kind::kBytesToChars) {
      for (const uint8_t* byte = here; byte != end; ++byte) {
        AppendPoint(Gpt2Alphabet().CharacterOf(*byte), &made);
      }
    } else {
      const bool has = static_cast<size_t>(end - here) >= content.size() &&
                       std::memcmp(here, content.data(), content.size()) == 0;
      const bool applies = kind == Kind::kPrefix || (text->is_first_ && piece.begin == 0);
      if (applies && !has) made.insert(made.end(), content_begin, content_end);
      made.insert(made.end(), here, end);
    }
    // A text of less than an eighth of the limit does not outgrow it by content of three bytes.
    Require(made.size() < UINT32_MAX, "a text is too long to be tokenized");
    piece = {begin, static_cast<uint32_t>(made.size())};
  }
  text->text_ = made.data();
}

}  // namespace millhopper
