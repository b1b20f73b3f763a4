// SPDX-License-Identifier: Apache-2.0
// Files whose records are lines of text.
#ifndef MILLHOPPER_READERS_CHUNKS_LINE_SOURCE_H_
#define MILLHOPPER_READERS_CHUNKS_LINE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/index/indexable_format.h"
#include "readers/support/line_ends.h"

namespace millhopper {

// Whether a line that begins with this byte of the text is a record; may cut from the line what
// does not belong to it. Any thread. Empty: each line is a record.
using LineFilter = std::function<bool(std::string_view* line, uint64_t offset)>;

// The lines of a file, each without its end; a line end at the end of the file opens no further
// line. Plain files are claimed by arithmetic and read in parallel; compressed ones, and
// those that can be read once only, are read in order. Throws kResourceLimit for a line of more
// than kMaxLineBytes.
std::unique_ptr<IndexableSource> MakeLineSource(std::unique_ptr<ByteStream> stream, LoneCr lone_cr,
                                                LineFilter filter);

// Whether a line has nothing but blanks.
bool IsBlank(std::string_view line);

// Lines of a file without their ends (LF, CR LF or CR), and no blank ones: as many as end in its
// first 1 MiB but one at least, and those of LaterSamples. For guesses. Tells the bytes of the text
// at which they begin, too, unless `begins` is null.
std::vector<std::string> SampledLines(const std::string& path,
                                      std::vector<uint64_t>* begins = nullptr);

// Reads more of a stream into `text`, 1 MiB at first and then as much as it has already. False once
// the whole stream is there. For guesses that need more if a line is long.
bool AddToHead(ByteStream* stream, std::string* text);

// A part of a text, and the byte that it begins at.
struct TextSample {
  uint64_t begin;
  std::string text;
};
// 64 KiB of the middle and of the end of a text, of which `known` bytes from the beginning are
// known already; none of one that can be read in order only. For guesses. Throws what reading
// throws.
std::vector<TextSample> LaterStretches(const ByteStream& stream, uint64_t known);
// The whole lines in them.
std::vector<TextSample> LaterSamples(const ByteStream& stream, uint64_t known);

// "line 17", for a line that begins with this byte of the file's text, which is in this encoding,
// as ByteStream::DecodeText has it; null for bytes as they are. Reads the file up to there; "" if
// that is not possible, as of a file that can be read once only.
std::string LineName(const std::string& path, uint64_t offset, LoneCr lone_cr,
                     const std::string* encoding = nullptr);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CHUNKS_LINE_SOURCE_H_
