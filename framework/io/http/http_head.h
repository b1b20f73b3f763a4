// SPDX-License-Identifier: Apache-2.0
// What the head of an HTTP server's answer says: its status, which part of which object follows,
// and how long the body is.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_HEAD_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millhopper {

// What a server says of an object.
struct HttpObject {
  std::optional<uint64_t> size;
  bool has_parts = false;  // the server gives parts of it
  std::string etag;        // as the server writes it; "" if it says none
  std::string modified;    // the same of the date
  std::string date;        // the same of the time at which it says all this
  std::string coding;      // the same of the Content-Encoding
  std::string version;     // the same of the version that a store names (x-amz-version-id, ...)

  // Whether a later answer for the same URL is about another object. All that the server says is
  // compared. What only one of the answers says counts as different, since it is unknown whether
  // both are about the same bytes; but a size is compared only if the first answer had one, and
  // `date` never, since it says nothing of the object.
  bool Differs(const HttpObject& later) const { return !ChangeTo(later).empty(); }
  // What differs, as words that follow those of the server: "; its size was 7, now it is 8". "" if
  // nothing does.
  std::string ChangeTo(const HttpObject& now) const;
  // Whether the bytes are not those of the object but of its compressed form.
  bool IsCoded() const;
};

// What the headers of one answer say.
struct HttpHead {
  std::string status_line;
  HttpObject object;
  std::optional<uint64_t> length;  // of the body
  bool chunked = false;            // the body says itself where it ends
  // Of Content-Range. A part has a first and a last byte; the answer to a request for bytes after
  // the end has neither.
  std::optional<uint64_t> first, last, total;
  std::string region;  // of an object store, where the object lies; "" if the server does not say

  // Takes one line. A status line begins the next answer: what was said before it is forgotten.
  void Take(std::string_view line);

 private:
  void TakeRange(std::string_view value);
};

// Whether an answer with this status may be another one the next time.
bool StatusPasses(long status);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_HEAD_H_
