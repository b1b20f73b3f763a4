// SPDX-License-Identifier: Apache-2.0
// The one place that takes secrets out of what is shown, logged, saved or counted. Errors (error.h)
// pass all their texts through it; code that shows a name uses Escaped, and code that saves one
// SavedName (framework/io/saved_name.h).
//
// A secret is what stands before the @ of a URL's host (of a store what stands after the : there),
// what stands after its ? or #, unless it names a version of the object, and the value of what is
// called like a signature or a credential (X-Amz-..., ?sig=, &token=), wherever it stands. Of a URL
// that is so broken that a password may be anywhere in it nothing is shown.
#ifndef MILLHOPPER_FRAMEWORK_BASE_SECRETS_H_
#define MILLHOPPER_FRAMEWORK_BASE_SECRETS_H_

#include <string>
#include <string_view>

namespace millhopper {

// What text is.
enum class TextKind {
  // A name of a file if it begins with a URL, after the tag of a format or not: then all of it is
  // the name, with its blanks, tabs and line ends. Otherwise as kWords.
  kName,
  // A text in which names stand. One in quotes ends where these do. Any other one ends at the end
  // of its line, as far as there is anything secret after it: code that puts names into texts is to
  // remove their secrets first; where it does not, the rest of the line is lost.
  kWords,
  // As kName, but a name in another text that is not in quotes ends before a blank, as in the
  // fields of programs.
  kProgram,
};

// Takes a text piece by piece.
class TextSink {
 public:
  virtual void Put(std::string_view piece) = 0;
  // In place of what stands after a ? or # and names no version.
  virtual void PutQuery(std::string_view) { Put("..."); }
  // In place of the value of what is called like a credential.
  virtual void PutValue(std::string_view) { Put("..."); }

 protected:
  ~TextSink() = default;
};

// Gives the text without its secrets: "https://me:word@host/a.csv?versionId=3&sig=1" is
// "https://...@host/a.csv?versionId=3&...", a broken URL "https://...", and "abfs://data:word@me/a"
// "abfs://data:...@me/a". What has no secrets any more stays as it is. It takes no memory, so that
// the handler of a signal may call it.
void PutWithoutSecrets(std::string_view text, TextKind kind, TextSink* sink);

std::string WithoutSecrets(std::string_view text, TextKind kind);

// Whether a part of a query, such as "X-Amz-Date=1", is there to sign the request or to tell who
// makes it, so that it may be another one for the same object. `query` is all of it: the parts of
// some signatures have names that mean other things elsewhere.
bool IsSignature(std::string_view part, std::string_view query);

// Whether it names a version of the object, in characters that hide nothing.
bool IsVersion(std::string_view part);

// Calls take(std::string_view) for each part of a query.
template <typename Take>
void ForEachPart(std::string_view query, const Take& take) {
  for (;;) {
    const size_t end = query.find('&');
    take(query.substr(0, end));
    if (end == std::string_view::npos) return;
    query.remove_prefix(end + 1);
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_SECRETS_H_
