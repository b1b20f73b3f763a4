// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/gather_model.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace millhopper {
namespace {

using Elements = std::vector<ExpectedElement>;

size_t RowBytes(const SlotValue& slot) {
  size_t bytes = SizeOf(slot.dtype);
  for (size_t axis = 1; axis < slot.dims.size(); ++axis) {
    bytes *= static_cast<size_t>(slot.dims[axis]);
  }
  return bytes;
}

int64_t LengthOf(const ExpectedElement& element) { return element.value[0].dims[0]; }

// A stretch of a document.
struct Piece {
  const ExpectedElement* document;
  int64_t first;
  int64_t steps;
};
struct Row {
  std::vector<Piece> pieces;
  int64_t room;
};

ExpectedElement RowOf(const Row& row, int64_t length) {
  ExpectedElement packed;
  for (size_t k = 0; k < row.pieces[0].document->value.size(); ++k) {
    SlotValue slot = row.pieces[0].document->value[k];
    const size_t bytes = RowBytes(slot);
    slot.bytes.clear();
    slot.lod.clear();
    for (const Piece& piece : row.pieces) {
      slot.bytes += piece.document->value[k].bytes.substr(static_cast<size_t>(piece.first) * bytes,
                                                          static_cast<size_t>(piece.steps) * bytes);
    }
    slot.bytes.resize(static_cast<size_t>(length) * bytes, '\0');
    slot.dims[0] = length;
    slot.dims.insert(slot.dims.begin(), 1);
    packed.value.push_back(slot);
  }
  std::vector<int32_t> ids, positions;
  for (size_t i = 0; i < row.pieces.size(); ++i) {
    for (int64_t at = 0; at < row.pieces[i].steps; ++at) {
      ids.push_back(static_cast<int32_t>(i + 1));
      positions.push_back(static_cast<int32_t>(at));
    }
  }
  ids.resize(static_cast<size_t>(length), 0);
  positions.resize(static_cast<size_t>(length), 0);
  packed.value.push_back(SlotOf({1, length}, ids));
  packed.value.push_back(SlotOf({1, length}, positions));
  return packed;
}

}  // namespace

ExpectedElement Joined(const std::vector<ExpectedElement>& parts, bool stack) {
  ExpectedElement whole = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    if (whole.error.empty()) whole.error = parts[i].error;
    for (size_t k = 0; k < whole.value.size(); ++k) {
      const SlotValue& part = parts[i].value[k];
      SlotValue& slot = whole.value[k];
      slot.dims[0] += part.dims[0];
      slot.bytes += part.bytes;
      for (size_t j = 1; !part.lod.empty() && j < part.lod[0].size(); ++j) {
        slot.lod[0].push_back(slot.lod[0].back() + part.lod[0][j] - part.lod[0][j - 1]);
      }
    }
  }
  for (size_t k = 0; stack && k < whole.value.size(); ++k) {
    whole.value[k].dims = parts[0].value[k].dims;
    whole.value[k].dims.insert(whole.value[k].dims.begin(), static_cast<int64_t>(parts.size()));
  }
  return whole;
}

ExpectedStream LookedAt(const ExpectedStream& in) {
  ExpectedStream out;
  for (const ExpectedElement& element : in.elements) {
    out.error = element.error;
    if (!out.error.empty()) return out;
    out.elements.push_back(element);
  }
  out.error = in.error;
  return out;
}

ExpectedStream Bucketed(const ExpectedStream& in, const std::vector<int64_t>& boundaries,
                        size_t size, bool discard_leftover) {
  ExpectedStream out;
  out.error = in.error;
  std::vector<Elements> buckets(boundaries.size() + 1);
  for (const ExpectedElement& element : in.elements) {
    size_t i = 0;
    while (i < boundaries.size() && LengthOf(element) >= boundaries[i]) ++i;
    buckets[i].push_back(element);
    if (buckets[i].size() < size) continue;
    out.elements.push_back(Joined(buckets[i], false));
    buckets[i].clear();
  }
  for (const Elements& bucket : buckets) {
    if (bucket.empty() || discard_leftover || !in.error.empty()) continue;
    out.elements.push_back(Joined(bucket, false));
  }
  return out;
}

ExpectedStream PaddedBatches(const ExpectedStream& in, size_t size, int64_t length) {
  ExpectedStream out;
  out.error = in.error;
  for (size_t first = 0; first < in.elements.size(); first += size) {
    const size_t end = std::min(first + size, in.elements.size());
    if (end - first < size && !in.error.empty()) break;
    const Elements parts(in.elements.begin() + static_cast<std::ptrdiff_t>(first),
                         in.elements.begin() + static_cast<std::ptrdiff_t>(end));
    const auto count = static_cast<int64_t>(parts.size());
    ExpectedElement batch = Joined(parts, false);
    const size_t slots = batch.value.size();
    for (size_t k = 0; k < slots; ++k) {
      if (batch.value[k].lod.empty()) continue;
      SlotValue& slot = batch.value[k];
      std::vector<int64_t> lengths;
      slot.bytes.clear();
      for (const ExpectedElement& part : parts) {
        slot.bytes += part.value[k].bytes;
        lengths.push_back(part.value[k].dims[0]);
        slot.bytes.resize(lengths.size() * static_cast<size_t>(length) * RowBytes(slot), '\0');
      }
      slot.lod.clear();
      slot.dims[0] = length;
      slot.dims.insert(slot.dims.begin(), count);
      batch.value.push_back(SlotOf({count, 1}, lengths));
    }
    out.elements.push_back(batch);
  }
  return out;
}

ExpectedStream TokenBatches(const ExpectedStream& in, int64_t max_tokens, bool padded) {
  ExpectedStream out;
  out.error = in.error;
  Elements batch;
  for (const ExpectedElement& element : in.elements) {
    int64_t sum = LengthOf(element);
    int64_t longest = sum;
    for (const ExpectedElement& before : batch) {
      sum += LengthOf(before);
      longest = std::max(longest, LengthOf(before));
    }
    const int64_t tokens = padded ? longest * static_cast<int64_t>(batch.size() + 1) : sum;
    if (!batch.empty() && tokens > max_tokens) {
      out.elements.push_back(Joined(batch, false));
      batch.clear();
    }
    batch.push_back(element);
  }
  if (!batch.empty() && in.error.empty()) out.elements.push_back(Joined(batch, false));
  return out;
}

ExpectedStream Windows(const ExpectedStream& in, size_t size, size_t shift, size_t stride,
                       bool discard_leftover) {
  ExpectedStream out;
  out.error = in.error;
  for (size_t first = 0; first < in.elements.size(); first += shift) {
    Elements window;
    for (size_t i = first; i < in.elements.size() && window.size() < size; i += stride) {
      window.push_back(in.elements[i]);
    }
    if (window.size() < size && (discard_leftover || !in.error.empty())) continue;
    out.elements.push_back(Joined(window, false));
  }
  return out;
}

ExpectedStream PackedRows(const ExpectedStream& in, const std::string& method, int64_t length,
                          size_t bins, bool truncate) {
  ExpectedStream out;
  out.error = in.error;
  std::vector<Row> open;
  const auto yield = [&](size_t i) {
    out.elements.push_back(RowOf(open[i], length));
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (const ExpectedElement& document : in.elements) {
    int64_t first = 0;
    int64_t left = LengthOf(document);
    const bool concat = method == "concat_then_split";
    if (truncate && !concat) left = std::min(left, length);
    while (left > 0) {
      int64_t steps = std::min(left, length);
      if (concat && !open.empty()) steps = std::min(left, open[0].room);
      const Piece piece = {&document, first, steps};
      first += steps;
      left -= steps;
      if (steps == length) {
        out.elements.push_back(RowOf({{piece}, 0}, length));
        continue;
      }
      std::vector<size_t> fitting;
      for (size_t i = 0; i < open.size(); ++i) {
        if (open[i].room >= steps) fitting.push_back(i);
      }
      if (method == "best_fit") {
        std::stable_sort(fitting.begin(), fitting.end(),
                         [&](size_t a, size_t b) { return open[a].room < open[b].room; });
      }
      if (fitting.empty()) {
        if (open.size() == bins) {
          size_t fullest = 0;
          for (size_t i = 1; i < open.size(); ++i) {
            if (open[i].room < open[fullest].room) fullest = i;
          }
          yield(fullest);
        }
        fitting = {open.size()};
        open.push_back({{}, length});
      }
      Row& row = open[fitting[0]];
      row.pieces.push_back(piece);
      row.room -= steps;
      if (row.room == 0) yield(fitting[0]);
    }
  }
  while (!open.empty() && in.error.empty()) yield(0);
  return out;
}

ExpectedStream Deduped(const ExpectedStream& in, size_t entries) {
  ExpectedStream out;
  out.error = in.error;
  std::deque<ElementValue> seen;
  for (const ExpectedElement& element : in.elements) {
    if (std::find(seen.begin(), seen.end(), element.value) != seen.end()) continue;
    out.elements.push_back(element);
    seen.push_back(element.value);
    if (seen.size() > entries) seen.pop_front();
  }
  return out;
}

}  // namespace millhopper
