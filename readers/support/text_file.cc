// SPDX-License-Identifier: Apache-2.0
#include "readers/support/text_file.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "readers/support/line_ends.h"

namespace millhopper {

Text ReadTextFile(const std::string& path, const char* what, uint64_t most) {
  ByteStream stream(path);
  PooledVector<char> text;
  for (size_t have = 0; have <= most; have = text.size()) {
    // How much a compressed file holds is not known before it is read.
    const uint64_t room = stream.plain() ? most + 1 : std::max<uint64_t>(have, kMaxUnsizedBytes);
    const size_t wanted = std::min({room, most + 1 - have, stream.most_left()});
    text.resize(have + wanted);
    text.resize(have + stream.Read(text.data() + have, wanted));
    if (wanted == 0 || text.size() < have + wanted) break;
  }
  if (text.size() > most) {
    throw Error(ErrorCode::kResourceLimit, StrCat("the ", what, " is larger than ", most, " bytes"))
        .InFile(path, 0);
  }
  char next;
  stream.Read(&next, 1);  // throws if the text ends where an error is
  return Text(std::move(text));
}

Vocabulary::Vocabulary(const std::string& path) : text_(ReadTextFile(path, "vocabulary")) {
  const char* const text = text_.data();
  const char* const limit = text + text_.size();
  LineEnds ends(text, limit, LoneCr::kEndsLine);
  LineEnds::Line found{};
  for (const char* begin = text + Utf8MarkBytes(text_); begin < limit; begin = found.next) {
    found = ends.From(begin, true);
    words_.emplace_back(begin, static_cast<size_t>(found.end - begin));
  }
  size_t places = 1;
  while (places < 2 * words_.size()) places *= 2;
  places_.resize(places);
  for (size_t i = 0; i < words_.size(); ++i) {
    uint32_t& number = places_[PlaceOf(words_[i])];
    if (number > 0) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("line ", i + 1, ": the word '", Escaped(std::string(words_[i])),
                         "' stands in line ", number, ", too"))
          .InFile(path, words_[i].data() - text);
    }
    number = static_cast<uint32_t>(i + 1);
  }
}

size_t Vocabulary::PlaceOf(std::string_view word) const {
  const size_t mask = places_.size() - 1;
  size_t place = XXH3_64bits(word.data(), word.size()) & mask;
  while (places_[place] > 0 && words_[places_[place] - 1] != word) place = (place + 1) & mask;
  return place;
}

uint64_t HashBucket(std::string_view word, uint64_t buckets) {
  return XXH64(word.data(), word.size(), 0) % buckets;
}

std::string Shown(std::string_view word) {
  constexpr size_t kShownBytes = 60;
  return word.size() <= kShownBytes ? Escaped(std::string(word))
                                    : Escaped(std::string(word.substr(0, kShownBytes))) + "...";
}

}  // namespace millhopper
