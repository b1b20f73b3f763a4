// SPDX-License-Identifier: Apache-2.0
#include "framework/base/secrets.h"

#include <strings.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "framework/base/url.h"

namespace millhopper {
namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr std::string_view kHidden = "...";
constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr std::string_view kSlashes = "/\\";
constexpr size_t kMostUserBytes = 1024;
constexpr size_t kDigestDigits = 16;  // hexadecimal (framework/io/saved_name.h)

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsIn(char c, std::string_view set) { return set.find(c) != kNone; }
bool IsWordByte(char c) { return IsLetter(c) || IsDigit(c) || IsIn(c, "_-."); }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }

bool Same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}
bool Begins(std::string_view text, std::string_view begin) {
  return Same(text.substr(0, begin.size()), begin);
}
bool Ends(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && Same(text.substr(text.size() - end.size()), end);
}
bool Contains(std::string_view text, std::string_view part) {
  for (; text.size() >= part.size(); text.remove_prefix(1)) {
    if (Begins(text, part)) return true;
  }
  return false;
}
template <size_t n>
bool IsOneOf(std::string_view name, const std::string_view (&names)[n]) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view one) { return Same(name, one); });
}

std::string_view NameOf(std::string_view part) { return part.substr(0, part.find('=')); }

// Whether a part of this name belongs to a signature in every store.
bool IsOfStore(std::string_view name) { return Begins(name, "X-Amz-") || Begins(name, "X-Goog-"); }

// The names of signatures and credentials.
bool NamesCredential(std::string_view name) {
  constexpr std::string_view kNames[] = {"sig",  "sign",          "key-pair-id",   "policy", "jwt",
                                         "hmac", "expires",       "expiry",        "exp",    "sas",
                                         "auth", "authorization", "GoogleAccessId"};
  constexpr std::string_view kParts[] = {"signature", "credential", "token",      "secret",
                                         "passw",     "api_key",    "apikey",     "api-key",
                                         "accesskey", "access_key", "access-key", "session"};
  constexpr std::string_view kEnds[] = {"-date", "-expires", "-algorithm", "-signedheaders"};
  const auto is_part = [&](std::string_view part) { return Contains(name, part); };
  const auto is_end = [&](std::string_view end) { return Ends(name, end); };
  return IsOfStore(name) || IsOneOf(name, kNames) || Begins(name, "q-") ||
         std::any_of(std::begin(kParts), std::end(kParts), is_part) ||
         (Begins(name, "x-") && std::any_of(std::begin(kEnds), std::end(kEnds), is_end));
}

// The names that go with `sig` in a shared access signature of Azure's.
bool IsOfSharedAccess(std::string_view name) {
  constexpr std::string_view kNames[] = {"sv",  "ss",  "srt", "sp",    "se",    "st",   "spr",
                                         "sr",  "si",  "sip", "skoid", "sktid", "skt",  "ske",
                                         "sks", "skv", "sdd", "saoid", "suoid", "scid", "ses"};
  return IsOneOf(name, kNames);
}

// ---- URLs in a text. ----

enum class Scheme {
  kHttp,
  kStore,  // of the stores that take options (kArrowSchemes)
  kOther,  // all bytes of its names count
};

struct FoundUrl {
  Scheme scheme = Scheme::kOther;
  size_t name = 0;   // where it begins, with the tag of a format
  size_t begin = 0;  // after the slashes; the size of the text if there is none
};

// The first URL at or after `from`. The number of slashes may be any of those that people type.
FoundUrl NextUrl(std::string_view text, size_t from) {
  FoundUrl url;
  for (size_t at = from; (at = text.find(':', at)) != kNone;) {
    const std::string_view before = text.substr(0, at++);
    const size_t slashes = std::min(text.find_first_not_of(kSlashes, at), text.size()) - at;
    const bool is_http = EndsWithHttp(before);
    if (is_http && slashes == 0) {  // "http: the server" is none
      const std::string_view word = text.substr(at, kMostUserBytes);
      if (word.substr(0, word.find_first_of(kBlanks)).find('@') == kNone) continue;
    } else if (slashes < (is_http ? 1 : 2) || before.empty() || !IsWordByte(before.back())) {
      continue;
    }
    url.scheme = is_http ? Scheme::kHttp : EndsWithStore(before) ? Scheme::kStore : Scheme::kOther;
    url.begin = at + slashes;
    url.name = before.size();
    while (url.name > from && (IsWordByte(text[url.name - 1]) || IsIn(text[url.name - 1], ":+"))) {
      --url.name;
    }
    return url;
  }
  url.name = url.begin = text.size();
  return url;
}

// Where a quote that opens before `begin` is closed, or the end of the text. An escaped quote is
// closed by an escaped one.
size_t EndOfQuoted(std::string_view text, size_t begin) {
  const char quote = text[begin - 1];
  const auto is_escaped = [&](size_t at) {
    size_t slashes = 0;
    while (slashes < at && text[at - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
  };
  const bool inner = is_escaped(begin - 1);
  for (size_t at = begin; (at = text.find(quote, at)) != kNone; ++at) {
    if (is_escaped(at) == inner) return inner ? at - 1 : at;
  }
  return text.size();
}

// ---- The parts of one URL. ----

class Remover {
 public:
  Remover(std::string_view text, TextKind kind, TextSink* sink)
      : text_(text), kind_(kind), sink_(*sink) {}

  void Run() {
    for (size_t done = 0; done < text_.size();) {
      const FoundUrl url = NextUrl(text_, done);
      PutWords(text_.substr(done, url.begin - done));
      done = url.begin;
      if (done == text_.size()) return;
      const size_t end = EndOf(url);
      done += PutUrl(url.scheme, text_.substr(url.begin, end - url.begin));
    }
  }

 private:
  // The longest that the name can be, by the text around it.
  size_t EndOf(const FoundUrl& url) {
    whole_ = url.name == 0 && kind_ != TextKind::kWords;
    if (whole_) return text_.size();
    if (url.name > 0 && IsIn(text_[url.name - 1], "'\"`")) {
      const size_t end = EndOfQuoted(text_, url.name);
      whole_ = end < text_.size();
      if (whole_) return end;
    }
    if (kind_ == TextKind::kProgram) {
      return std::min(text_.find_first_of(" \t\r\n\v\f'\"", url.begin), text_.size());
    }
    size_t end = std::min(text_.find_first_of("\r\n", url.begin), text_.size());
    for (size_t from = url.begin;;) {
      const FoundUrl next = NextUrl(text_, from);
      if (next.name >= end) return end;
      if (IsIn(text_[next.name - 1], " \t'\"`(")) return next.name - 1;
      from = next.begin;
    }
  }

  // Puts a URL from after its slashes on. Returns how many bytes it has handled; the rest is text.
  size_t PutUrl(Scheme scheme, std::string_view url) {
    const std::string_view all = url;
    size_t host_end = HostEnd(url);
    const std::string_view host = url.substr(0, host_end);
    if (const size_t at = host.rfind('@'); at != kNone) {
      const size_t shown = scheme == Scheme::kStore ? SizeOfContainer(host.substr(0, at)) : 0;
      sink_.Put(host.substr(0, shown));
      if (shown < at) sink_.Put(kHidden);
      url.remove_prefix(at);
      host_end -= at;
    } else if (IsBroken(scheme, host, url)) {
      sink_.Put(kHidden);
      return url.size();
    }
    if (scheme == Scheme::kOther) {
      sink_.Put(url.substr(0, host_end));
      return all.size() - url.size() + host_end;
    }
    const size_t query = QueryIn(url, host_end);
    PutWords(url.substr(0, query));
    if (query == url.size()) return all.size();
    url.remove_prefix(query);
    if (const size_t without = SizeWithoutSecrets(url); without > 0) {
      sink_.Put(url.substr(0, without));
      return all.size() - url.size() + without;
    }
    PutQuery(url);
    return all.size();
  }

  // Where the host ends. It has no blank, but a password before it may have one.
  size_t HostEnd(std::string_view url) const {
    const size_t end = std::min(url.find_first_of("/\\?#"), url.size());
    const std::string_view host = url.substr(0, end);
    const size_t blank = host.find_first_of(kBlanks);
    if (whole_ || blank == kNone) return end;
    const size_t user = host.rfind('@');
    if (user == kNone || user < blank) return blank;
    for (size_t at = 0; (at = host.find(':', at)) < user; ++at) {
      if (!IsIn(host[at + 1], kBlanks)) return end;
    }
    return blank;
  }

  // How much of what stands before the @ of a store is the name of a container or a user, with the
  // : after it.
  static size_t SizeOfContainer(std::string_view user) {
    const size_t colon = std::min(user.find(':'), user.size());
    for (size_t i = 0; i + 3 <= colon; ++i) {
      if (Same(user.substr(i, 3), "%3a")) return i;
    }
    return colon == user.size() ? colon : colon + 1;
  }

  // Whether what should be the port is no number, so that a password may be in the URL with a
  // character such as / # ? or a blank.
  bool IsBroken(Scheme scheme, std::string_view host, std::string_view url) const {
    const std::string_view line = url.substr(0, whole_ ? kNone : url.find_first_of("\r\n"));
    if (scheme == Scheme::kOther && line.find('@') == kNone) return false;
    const size_t number = host.find(']');  // the end of an address of IPv6
    const size_t colon = host.find(':', number == kNone ? 0 : number);
    if (colon == kNone) return false;
    std::string_view port = host.substr(colon + 1);
    port = port.substr(0, port.find_last_not_of(":,;.)'\"") + 1);  // of the text around the URL
    return !std::all_of(port.begin(), port.end(), IsDigit);
  }

  // Where the ? or # before what is hidden stands, or the size of the URL. After a blank, a text
  // that is no name may have a name; only what looks like a query is one then.
  size_t QueryIn(std::string_view url, size_t host_end) const {
    const size_t blank = whole_ ? url.size() : std::min(url.find_first_of(kBlanks), url.size());
    for (size_t at = host_end; (at = url.find_first_of("?#", at)) != kNone; ++at) {
      if (at < blank || SizeWithoutSecrets(url.substr(at)) > 0) return at;
      const std::string_view query = url.substr(at + 1);
      const bool begins = !query.empty() && (IsWordByte(query[0]) || IsIn(query[0], "%+~["));
      if (begins && query.find('=') != kNone) return at;
    }
    return url.size();
  }

  // The size of a query from which all secrets are taken, with its ?; 0 if it is none.
  size_t SizeWithoutSecrets(std::string_view query) const {
    size_t at = 1;
    while (query.substr(at, kHidden.size()) != kHidden) {
      size_t end = std::min(query.find_first_of("& \t\r\n'\"", at), query.size());
      if (end == query.size() || query[end] != '&') {
        while (end > at && IsIn(query[end - 1], ":,;.)")) --end;  // of the text around it
        const bool ends = !whole_ || end == query.size();
        return ends && IsVersion(query.substr(at, end - at)) ? end : 0;
      }
      if (!IsVersion(query.substr(at, end - at))) return 0;
      at = end + 1;
    }
    at += kHidden.size();
    if (at < query.size() && query[at] == '=' && IsDigest(query.substr(at + 1, kDigestDigits))) {
      at += 1 + kDigestDigits;
    }
    return EndsAt(query, at) && query.substr(at, 1) != "&" ? at : 0;
  }

  // Whether what has no secrets any more may end here, in a text or by itself.
  static bool EndsAt(std::string_view text, size_t at) {
    return at >= text.size() || IsIn(text[at], "& \t\r\n\v\f:;,.)]}>'\"`\\");
  }

  void PutQuery(std::string_view query) {
    sink_.Put(query.substr(0, 1));
    bool hides = query[0] == '#';
    const std::string_view parts = query.substr(1);
    const std::string_view own = parts.substr(0, hides ? 0 : parts.find('#'));
    bool first = true;
    if (!hides) {
      ForEachPart(own, [&](std::string_view part) {
        if (!IsVersion(part)) {
          hides = true;
          return;
        }
        if (!first) sink_.Put("&");
        sink_.Put(part);
        first = false;
      });
      hides = hides || own.size() < parts.size();
    }
    if (!hides) return;
    if (!first) sink_.Put("&");
    sink_.PutQuery(own);
  }

  // Puts text without the values of what is called like a credential.
  void PutWords(std::string_view words) {
    size_t put = 0;
    for (size_t at = 0; (at = words.find_first_of("=%", at)) != kNone; ++at) {
      const bool equals = words[at] == '=' || Same(words.substr(at, 3), "%3d");
      if (!equals) continue;
      size_t name = at;
      while (name > 0 && IsWordByte(words[name - 1])) --name;
      if (!IsCredential(words, name, at)) continue;
      const size_t value = at + (words[at] == '=' ? 1 : 3);
      if (const size_t hidden = SizeOfHidden(words.substr(value)); hidden > 0) {
        at = value + hidden - 1;
        continue;
      }
      const char* const ends = kind_ == TextKind::kName ? "&" : "& \t\r\n\v\f'\"`<>";
      const size_t end = std::min(words.find_first_of(ends, value), words.size());
      sink_.Put(words.substr(put, value - put));
      if (value < end) sink_.PutValue(words.substr(value, end - value));
      put = end;
      at = end - 1;
    }
    sink_.Put(words.substr(put));
  }

  // The size of a value that has been taken out already; 0 if it is another one.
  static size_t SizeOfHidden(std::string_view value) {
    if (value.substr(0, kHidden.size()) != kHidden) return 0;
    size_t size = kHidden.size();
    if (IsDigest(value.substr(size, kDigestDigits))) size += kDigestDigits;
    return EndsAt(value, size) ? size : 0;
  }

  static bool IsDigest(std::string_view text) {
    return text.size() == kDigestDigits && std::all_of(text.begin(), text.end(), IsHexDigit);
  }

  // Whether the word that ends before the = is the name of a credential. Names that stores use
  // always are; other names only where they begin a part of a query, also of an encoded one.
  static bool IsCredential(std::string_view words, size_t name, size_t equals) {
    std::string_view word = words.substr(name, equals - name);
    std::string_view before = name == 0 ? "" : words.substr(name - 1, 1);
    if (before == "%" && word.size() > 2) {
      before = word.substr(0, 2);
      word.remove_prefix(2);
    }
    constexpr std::string_view kBefore[] = {"?", "&", ";", "#", "3F", "26", "3B"};
    return IsOfStore(word) || (IsOneOf(before, kBefore) && NamesCredential(word));
  }

  const std::string_view text_;
  const TextKind kind_;
  TextSink& sink_;
  bool whole_ = false;  // the URL that is put ends where its part of the text does
};

class StringSink final : public TextSink {
 public:
  void Put(std::string_view piece) override { text.append(piece); }

  std::string text;
};

}  // namespace

void PutWithoutSecrets(std::string_view text, TextKind kind, TextSink* sink) {
  Remover(text, kind, sink).Run();
}

std::string WithoutSecrets(std::string_view text, TextKind kind) {
  StringSink sink;
  sink.text.reserve(text.size());
  PutWithoutSecrets(text, kind, &sink);
  return std::move(sink.text);
}

bool IsSignature(std::string_view part, std::string_view query) {
  const std::string_view name = NameOf(part);
  if (NamesCredential(name)) return true;
  if (!IsOfSharedAccess(name)) return false;
  bool is_shared_access = false;
  ForEachPart(query, [&](std::string_view other) {
    is_shared_access = is_shared_access || Same(NameOf(other), "sig");
  });
  return is_shared_access;
}

bool IsVersion(std::string_view part) {
  constexpr std::string_view kNames[] = {"versionId",  "version-id", "version_id", "version",
                                         "generation", "snapshot",   "revision"};
  constexpr size_t kMostBytes = 200;
  if (!IsOneOf(NameOf(part), kNames)) return false;
  std::string_view value = part.substr(NameOf(part).size());
  if (value.size() < 2 || value.size() > kMostBytes) return false;
  for (value.remove_prefix(1); !value.empty(); value.remove_prefix(1)) {
    if (value[0] == '%') {  // of a time or of a name in base64
      const std::string_view code = value.substr(1, 2);
      if (!Same(code, "3A") && !Same(code, "2F") && !Same(code, "2B")) return false;
      value.remove_prefix(2);
    } else if (!IsWordByte(value[0]) && !IsIn(value[0], "~:/+")) {
      return false;
    }
  }
  return true;
}

}  // namespace millhopper
