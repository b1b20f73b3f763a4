// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/chain_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/chains/combine_model.h"
#include "tests/chains/gather_model.h"
#include "tests/chains/named_files.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

const proto::OpDesc::Attr* Find(const proto::OpDesc& op, const std::string& name) {
  for (const proto::OpDesc::Attr& attribute : op.attrs()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t Number(const proto::OpDesc& op, const std::string& name, int64_t otherwise = 0) {
  const proto::OpDesc::Attr* found = Find(op, name);
  if (found == nullptr) return otherwise;
  return found->has_l() ? found->l() : found->i();
}

bool Flag(const proto::OpDesc& op, const std::string& name, bool otherwise = false) {
  const proto::OpDesc::Attr* found = Find(op, name);
  return found == nullptr ? otherwise : found->b();
}

float Float(const proto::OpDesc& op, const std::string& name) { return Find(op, name)->f(); }

// The value of an attribute that is one string or a list of strings.
Strings Texts(const proto::OpDesc& op, const std::string& name) {
  const proto::OpDesc::Attr* found = Find(op, name);
  if (found == nullptr) return {};
  if (found->has_s()) return {found->s()};
  return Strings(found->strings().begin(), found->strings().end());
}

std::string Out(const proto::OpDesc& op) { return op.outputs(0).arguments(0); }

// The readers that the operator's reader stands on.
Strings Ins(const proto::OpDesc& op) {
  if (op.inputs_size() == 0) return {};
  return Strings(op.inputs(0).arguments().begin(), op.inputs(0).arguments().end());
}

std::string In(const proto::OpDesc& op) {
  const Strings ins = Ins(op);
  return ins.empty() ? "" : ins[0];
}

RandomKey KeyOf(const proto::OpDesc& op) {
  return RandomKey(0, static_cast<uint64_t>(Number(op, "seed")), Out(op));
}

// What decides the order of a reader's elements in a pass: without reshuffle neither its name nor
// the pass.
struct Order {
  RandomKey key;
  uint64_t pass;
};

Order OrderOf(const proto::OpDesc& op, uint64_t pass) {
  if (Flag(op, "reshuffle", true)) return {KeyOf(op), pass};
  return {RandomKey(0, static_cast<uint64_t>(Number(op, "seed")), ""), 0};
}

void Append(const ExpectedStream& more, ExpectedStream* stream) {
  stream->elements.insert(stream->elements.end(), more.elements.begin(), more.elements.end());
  stream->error = more.error;
}

// ---- Sources. ----

ExpectedStream Numbers(const proto::OpDesc& op) {
  ExpectedStream stream;
  for (int64_t i = 0; i < Number(op, "records"); ++i) {
    if (i == Number(op, "plan_error", -1)) {
      stream.error = StrCat("record ", i, " cannot be planned");
      break;
    }
    const bool ragged = Flag(op, "ragged");
    const int64_t length = ragged ? i % 4 : 1;
    Lod lod;
    if (ragged) lod = {{0, static_cast<uint64_t>(length)}};
    const bool fails = i == Number(op, "load_error", -1);
    stream.elements.push_back(
        {{SlotOf({length, 1}, std::vector<int64_t>(static_cast<size_t>(length), i), lod)},
         fails ? StrCat("record ", i, " cannot be loaded") : ""});
  }
  return stream;
}

// Its slots are float32 [1, 2].
ExpectedStream RandomData(const proto::OpDesc& op, uint64_t pass) {
  const RandomKey key = KeyOf(op);
  const float low = Float(op, "low");
  const float high = Float(op, "high");
  ExpectedStream stream;
  for (int64_t i = 0; i < Number(op, "count"); ++i) {
    std::vector<float> values;
    for (uint64_t k = 0; k < 2; ++k) {
      const float unit = ToUnitFloat(key.Bits(pass, 2 * static_cast<uint64_t>(i) + k));
      values.push_back(std::min(low + unit * (high - low), std::nextafter(high, low)));
    }
    stream.elements.push_back({{SlotOf({1, 2}, values)}, ""});
  }
  return stream;
}

// Takes a part of each of the first `cycle` unfinished files in turn. Where a file has ended, the
// next file of the list takes its turn. Returns for each part its file and its number there; the
// last part of a file that has an error is beyond its end.
using PartNumber = std::pair<size_t, size_t>;
std::vector<PartNumber> Interleaved(const std::vector<size_t>& parts, size_t cycle) {
  constexpr size_t kNone = SIZE_MAX;
  struct Place {
    size_t file = kNone;
    size_t next = 0;
  };
  std::vector<Place> places(std::min(cycle, parts.size()));
  std::vector<PartNumber> order;
  size_t next_file = 0;
  for (size_t turn = 0; !places.empty();) {
    Place& place = places[turn];
    if (place.file != kNone && place.next < parts[place.file]) {
      order.emplace_back(place.file, place.next++);
      ++turn;
    } else if (next_file < parts.size()) {
      place = {next_file++, 0};
    } else {
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(turn));
    }
    if (turn >= places.size()) turn = 0;
  }
  return order;
}

ExpectedStream Interleaved(const std::vector<ExpectedStream>& files, size_t cycle) {
  std::vector<size_t> parts;
  for (const ExpectedStream& file : files) {
    parts.push_back(file.elements.size() + (file.error.empty() ? 0 : 1));
  }
  ExpectedStream stream;
  for (const auto& [file, part] : Interleaved(parts, cycle)) {
    if (part == files[file].elements.size()) {
      stream.error = files[file].error;
      return stream;
    }
    stream.elements.push_back(files[file].elements[part]);
  }
  return stream;
}

// Record k of all chunks together goes to lane k modulo their number.
void DealByTurns(const std::vector<ExpectedChunk>& chunks, std::vector<ExpectedStream>* lanes) {
  size_t before = 0;
  for (const ExpectedChunk& chunk : chunks) {
    const std::vector<ExpectedElement>& elements = chunk.content.elements;
    for (size_t first = 0; first < std::min(lanes->size(), *chunk.records); ++first) {
      ExpectedStream& lane = (*lanes)[(before + first) % lanes->size()];
      if (!lane.error.empty()) continue;
      for (size_t i = first; i < elements.size(); i += lanes->size()) {
        lane.elements.push_back(elements[i]);
      }
      lane.error = chunk.content.error;
    }
    before += *chunk.records;
  }
}

// A stripe of each lane in turn. A lane that has ended is passed over.
ExpectedStream Merged(const std::vector<ExpectedStream>& lanes, size_t stripe) {
  ExpectedStream stream;
  std::vector<size_t> next(lanes.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t v = 0; v < lanes.size(); ++v) {
      const std::vector<ExpectedElement>& own = lanes[v].elements;
      const size_t end = std::min(own.size(), next[v] + stripe);
      const bool ends = end - next[v] < stripe;
      for (; next[v] < end; ++next[v]) stream.elements.push_back(own[next[v]]);
      if (ends && !lanes[v].error.empty()) {
        stream.error = lanes[v].error;
        return stream;
      }
      more = more || !ends;
    }
  }
  return stream;
}

// The permutation of ruling 6: from the last place down, each element is swapped with one at or
// before its place. Few records are shuffled in the same way.
template <typename T>
std::vector<T> Shuffled(std::vector<T> list, const Order& order) {
  for (size_t i = list.size(); i-- > 1;) {
    std::swap(list[i], list[order.key.Below(i + 1, order.pass, i)]);
  }
  return list;
}

// ---- Decorated readers. ----

ExpectedStream Batched(const proto::OpDesc& op, const ExpectedStream& in) {
  const bool stack = Texts(op, "mode") == Strings{"stack"};
  ExpectedStream out;
  out.error = in.error;
  std::vector<ExpectedElement> parts;
  for (const ExpectedElement& element : in.elements) {
    parts.push_back(element);
    if (parts.size() < static_cast<size_t>(Number(op, "batch_size"))) continue;
    out.elements.push_back(Joined(parts, stack));
    parts.clear();
  }
  if (parts.empty()) return out;
  const ExpectedElement leftover = Joined(parts, stack);
  if (in.error.empty() && !Flag(op, "discard_leftover")) out.elements.push_back(leftover);
  if (!in.error.empty() && !leftover.error.empty()) out.error = leftover.error;
  return out;
}

ExpectedStream Part(const proto::OpDesc& op, const ExpectedStream& in) {
  ExpectedStream out;
  out.error = in.error;
  const auto shards = static_cast<size_t>(Number(op, "num_shards"));
  const auto index = static_cast<size_t>(Number(op, "index"));
  const Strings even = Texts(op, "even");
  const bool pads = even == Strings{"pad"}, drops = even == Strings{"drop"};
  for (size_t round = 0; round < in.elements.size(); round += shards) {
    const size_t own = round + index;
    const bool complete = round + shards <= in.elements.size();
    if (own < in.elements.size()) {
      if (complete || !drops) out.elements.push_back(in.elements[own]);
    } else if (pads && in.error.empty()) {
      out.elements.push_back(in.elements[own % in.elements.size()]);
    }
  }
  return out;
}

// A lane has its share of the window, and draws of its own.
ExpectedStream ShuffledWindow(const proto::OpDesc& op, const ExpectedStream& in, uint64_t pass,
                              size_t lane, size_t lanes) {
  Order order = OrderOf(op, pass);
  if (lanes > 1) order.key = order.key.OfPart(lane);
  const auto size = (static_cast<size_t>(Number(op, "buffer_size")) + lane) / lanes;
  ExpectedStream out;
  out.error = in.error;
  auto next = in.elements.begin();
  std::vector<ExpectedElement> window;
  while (next != in.elements.end() && window.size() < size) window.push_back(*next++);
  for (uint64_t drawn = 0; !window.empty(); ++drawn) {
    ExpectedElement& place = window[order.key.Below(window.size(), order.pass, drawn)];
    out.elements.push_back(place);
    if (next != in.elements.end()) {
      place = *next++;
    } else {
      place = window.back();
      window.pop_back();
    }
  }
  return out;
}

size_t InstancesOf(const SlotValue& slot) {
  return slot.lod.empty() ? static_cast<size_t>(slot.dims[0]) : slot.lod[0].size() - 1;
}

// Instance i of a batch.
SlotValue Instance(const SlotValue& slot, size_t i, bool stack) {
  SlotValue instance = slot;
  size_t first = i;
  size_t last = i + 1;
  if (!slot.lod.empty()) {
    first = slot.lod[0][i];
    last = slot.lod[0][i + 1];
    instance.lod = {{0, last - first}};
  }
  instance.dims[0] = static_cast<int64_t>(last - first);
  if (stack) instance.dims.erase(instance.dims.begin());
  const size_t rows = std::max<size_t>(1, static_cast<size_t>(slot.dims[0]));
  const size_t row_bytes = slot.bytes.size() / rows;
  instance.bytes = slot.bytes.substr(first * row_bytes, (last - first) * row_bytes);
  return instance;
}

// A reader that looks into elements ends at the first one that cannot be loaded.
ExpectedStream Unbatched(const proto::OpDesc& op, const ExpectedStream& in) {
  const bool stack = Texts(op, "mode") == Strings{"stack"};
  ExpectedStream out;
  for (const ExpectedElement& batch : in.elements) {
    out.error = batch.error;
    const size_t instances = InstancesOf(batch.value[0]);
    for (const SlotValue& slot : batch.value) {
      if (out.error.empty() && InstancesOf(slot) != instances) out.error = "a batch has as many";
    }
    if (!out.error.empty()) return out;
    for (size_t i = 0; i < instances; ++i) {
      ElementValue instance;
      for (const SlotValue& slot : batch.value) instance.push_back(Instance(slot, i, stack));
      out.elements.push_back({instance, ""});
    }
  }
  out.error = in.error;
  return out;
}

// Converts each value to `To` and adds a number to it.
template <typename From, typename To>
SlotValue Mapped(const SlotValue& slot, float bias) {
  std::vector<To> values;
  for (size_t i = 0; i < slot.bytes.size(); i += sizeof(From)) {
    From value;
    std::memcpy(&value, slot.bytes.data() + i, sizeof(From));
    values.push_back(static_cast<To>(value) + static_cast<To>(bias));
  }
  return SlotOf(slot.dims, values, slot.lod);
}

SlotValue ToInt64(const SlotValue& slot) {
  if (slot.dtype == DataType::kUint8) return Mapped<uint8_t, int64_t>(slot, 0);
  if (slot.dtype == DataType::kInt32) return Mapped<int32_t, int64_t>(slot, 0);
  if (slot.dtype == DataType::kInt16) return Mapped<int16_t, int64_t>(slot, 0);
  if (slot.dtype == DataType::kFp32) return Mapped<float, int64_t>(slot, 0);
  return slot;
}

double SumOf(const SlotValue& slot) {
  if (slot.dtype == DataType::kFp32) {
    double sum = 0;
    for (size_t i = 0; i < slot.bytes.size(); i += sizeof(float)) {
      float value;
      std::memcpy(&value, slot.bytes.data() + i, sizeof(value));
      sum += value;
    }
    return sum;
  }
  const SlotValue integers = ToInt64(slot);
  int64_t sum = 0;
  for (size_t i = 0; i < integers.bytes.size(); i += sizeof(int64_t)) {
    int64_t value;
    std::memcpy(&value, integers.bytes.data() + i, sizeof(value));
    sum += value;
  }
  return static_cast<double>(sum);
}

// A reader that looks at the elements in order.
ExpectedStream Gathered(const proto::OpDesc& op, const ExpectedStream& in) {
  const auto size = [&op](const char* name) { return static_cast<size_t>(Number(op, name)); };
  const bool discard = Flag(op, "discard_leftover");
  if (op.type() == "create_bucket_reader") {
    const auto& ints = Find(op, "boundaries")->ints();
    const auto batch_size = static_cast<size_t>(Find(op, "batch_sizes")->ints(0));
    return Bucketed(in, {ints.begin(), ints.end()}, batch_size, discard);
  }
  if (op.type() == "create_padded_batch_reader") {
    return PaddedBatches(in, size("batch_size"), Number(op, "pad_length"));
  }
  if (op.type() == "create_token_batch_reader") {
    return TokenBatches(in, Number(op, "max_tokens"), Texts(op, "count") == Strings{"padded"});
  }
  if (op.type() == "create_window_reader") {
    return Windows(in, size("size"), size("shift"), size("stride"), discard);
  }
  if (op.type() == "create_pack_reader") {
    return PackedRows(in, Texts(op, "method")[0], Number(op, "length"), size("bins"),
                      Texts(op, "overlong") == Strings{"truncate"});
  }
  Require(op.type() == "create_dedupe_reader", "no model of ", op.type());
  return Deduped(in, size("entries"));
}

// Of each pass these readers yield the first elements, those after the first, or the first one
// again and again.
ExpectedStream PartAtFirst(const proto::OpDesc& op, const ExpectedStream& in) {
  const auto count = static_cast<size_t>(Number(op, "count"));
  const auto middle =
      in.elements.begin() + static_cast<std::ptrdiff_t>(std::min(count, in.elements.size()));
  if (op.type() == "create_skip_reader") return {{middle, in.elements.end()}, in.error};
  if (op.type() == "create_take_reader") {
    return {{in.elements.begin(), middle}, in.elements.size() < count ? in.error : ""};
  }
  if (count == 0 || in.elements.empty()) return {{}, count == 0 ? "" : in.error};
  return {std::vector<ExpectedElement>(count, in.elements[0]), ""};
}

int64_t NumbersIn(const SlotValue& slot) {
  return static_cast<int64_t>(slot.bytes.size() / SizeOf(slot.dtype));
}

// Readers that lanes run, each its own.
const std::set<std::string> kLaneWise = {"create_shuffle_reader", "create_custom_reader",
                                         "create_filter_reader",  "create_unbatch_reader",
                                         "create_pack_reader",    "create_bucket_reader",
                                         "create_window_reader",  "create_dedupe_reader"};

}  // namespace

const proto::OpDesc& ChainModel::Creator(const std::string& reader) const {
  for (const proto::OpDesc& op : program_.blocks(0).ops()) {
    if (Out(op) == reader) return op;
  }
  Throw(ErrorCode::kInvalidArgument, "no operator makes the reader ", reader);
}

Strings ChainModel::Tops() const {
  std::map<std::string, int> readers;
  for (const proto::OpDesc& op : program_.blocks(0).ops()) {
    for (const std::string& in : Ins(op)) ++readers[in];
    readers[Out(op)];
  }
  Strings tops;
  for (const auto& [name, users] : readers) {
    if (users == 0) tops.push_back(name);
  }
  return tops;
}

std::string ChainModel::Shared() const {
  std::map<std::string, int> users;
  for (const proto::OpDesc& op : program_.blocks(0).ops()) {
    for (const std::string& in : Ins(op)) {
      if (++users[in] > 1) return in;
    }
  }
  return "";
}

bool ChainModel::Ordered() const {
  const auto& ops = program_.blocks(0).ops();
  return Shared().empty() && std::all_of(ops.begin(), ops.end(), [](const proto::OpDesc& op) {
           return Flag(op, "deterministic", true);
         });
}

Strings ChainModel::Files() const {
  Strings files;
  for (const proto::OpDesc& op : program_.blocks(0).ops()) {
    for (const char* name : {"filename", "label_filename", "file_names", "label_file_names"}) {
      for (const std::string& file : Texts(op, name)) {
        const bool prefixed = file.find(':') < file.find('/');
        files.push_back(prefixed ? file.substr(file.find(':') + 1) : file);
      }
    }
  }
  return files;
}

std::vector<std::vector<ExpectedStream>> ChainModel::PartsOfFiles(const proto::OpDesc& op,
                                                                  bool by_chunks) const {
  const bool one = op.type() != "open_files";
  const Strings names = Texts(op, one ? "filename" : "file_names");
  const Strings labels = Texts(op, one ? "label_filename" : "label_file_names");
  const Strings fields = Texts(op, "fields");
  std::vector<std::vector<ExpectedStream>> files;
  for (size_t f = 0; f < names.size(); ++f) {
    std::vector<ExpectedStream> parts = {ContentOf(names[f], fields)};
    if (by_chunks) {
      parts.clear();
      for (ExpectedChunk& chunk : ChunksOf(names[f], fields)) {
        parts.push_back(std::move(chunk.content));
      }
    }
    if (!labels.empty() && !parts.empty()) {  // files with labels have one chunk
      const ExpectedStream second = ContentOf(labels[f], {});
      for (size_t i = 0; i < parts[0].elements.size(); ++i) {
        parts[0].elements[i].value.push_back(second.elements[i].value[0]);
      }
    }
    files.push_back(std::move(parts));
  }
  return files;
}

std::vector<ExpectedChunk> ChainModel::ChunksInTurn(const proto::OpDesc& op, uint64_t pass) const {
  std::vector<std::vector<ExpectedChunk>> files;
  for (const std::string& name : Texts(op, "file_names")) {
    files.push_back(ChunksOf(name, Texts(op, "fields")));
  }
  const auto passes = static_cast<uint64_t>(Number(op, "pass_num", 1));
  std::vector<ExpectedChunk> chunks;
  for (uint64_t k = 0; k < passes; ++k) {
    const bool shuffle = Flag(op, "shuffle_files");
    const auto ordered = shuffle ? Shuffled(files, OrderOf(op, pass * passes + k)) : files;
    std::vector<size_t> parts;
    parts.reserve(ordered.size());
    for (const auto& file : ordered) parts.push_back(file.size());
    const auto cycle = static_cast<size_t>(Number(op, "cycle_length", 16));
    for (const auto& [file, part] : Interleaved(parts, cycle)) {
      chunks.push_back(ordered[file][part]);
    }
  }
  return chunks;
}

ExpectedStream ChainModel::Files(const proto::OpDesc& op, uint64_t pass) const {
  const bool by_chunks = Flag(op, "shuffle_chunks");
  std::vector<ExpectedStream> files;  // or chunks
  for (const std::vector<ExpectedStream>& parts : PartsOfFiles(op, by_chunks)) {
    files.insert(files.end(), parts.begin(), parts.end());
  }
  if (op.type() != "open_files") return files[0];
  ExpectedStream stream;
  if (by_chunks) {
    for (const ExpectedStream& chunk : Shuffled(files, OrderOf(op, pass))) {
      Append(chunk, &stream);
      if (!stream.error.empty()) break;
    }
    return stream;
  }
  if (Flag(op, "shuffle_records")) {
    for (const ExpectedStream& file : files) Append(file, &stream);
    stream.elements = Shuffled(std::move(stream.elements), OrderOf(op, pass));
    return stream;
  }
  const auto passes = static_cast<uint64_t>(Number(op, "pass_num", 1));
  for (uint64_t k = 0; k < passes && stream.error.empty(); ++k) {
    const bool shuffle = Flag(op, "shuffle_files");
    Append(Interleaved(shuffle ? Shuffled(files, OrderOf(op, pass * passes + k)) : files,
                       static_cast<size_t>(Number(op, "cycle_length", 16))),
           &stream);
  }
  return stream;
}

ExpectedStream ChainModel::Map(const proto::OpDesc& op, ExpectedStream in) const {
  const auto& ops = program_.blocks(static_cast<int>(Find(op, "sub_block")->block_idx())).ops();
  for (ExpectedElement& element : in.elements) {
    for (int k = 0; k < ops.size(); ++k) {  // operator k is for slot k
      SlotValue& slot = element.value[static_cast<size_t>(k)];
      if (ops[k].type() == "cast") slot = ToInt64(slot);
      if (ops[k].type() != "scale") continue;
      const float bias = Float(ops[k], "bias");
      slot = slot.dtype == DataType::kInt64 ? Mapped<int64_t, int64_t>(slot, bias)
                                            : Mapped<float, float>(slot, bias);
    }
  }
  return in;
}

std::optional<ChainModel::Lanes> ChainModel::CombinedLanes(const proto::OpDesc& op,
                                                           uint64_t pass) const {
  std::vector<Lanes> below;
  for (const std::string& in : Ins(op)) {
    std::optional<Lanes> lanes = LanesOf(in, pass);
    if (!lanes) return std::nullopt;
    below.push_back(*std::move(lanes));
  }
  Lanes combined = below[0];
  for (const Lanes& lanes : below) {
    if (lanes.lanes.size() != combined.lanes.size() || lanes.stripe != combined.stripe) {
      return std::nullopt;
    }
  }
  const bool repeats =
      op.type() == "create_mix_reader" && Texts(op, "when_exhausted")[0] == "repeat";
  if (repeats) return std::nullopt;
  for (size_t v = 0; v < combined.lanes.size(); ++v) {
    const PassOf pass_of = [&](size_t k, uint64_t) { return below[k].lanes[v]; };
    combined.lanes[v] = Combined(op, pass, pass_of, v, combined.lanes.size());
  }
  return combined;
}

ExpectedStream ChainModel::Combined(const proto::OpDesc& op, uint64_t pass) const {
  const Strings ins = Ins(op);
  return Combined(op, pass, [&](size_t k, uint64_t number) { return Pass(ins[k], number); });
}

ExpectedStream ChainModel::Combined(const proto::OpDesc& op, uint64_t pass, const PassOf& pass_of,
                                    size_t lane, size_t lanes) const {
  const Strings ins = Ins(op);
  if (op.type() == "create_concat_reader") return Concatenated(ins.size(), pass_of, pass);
  if (op.type() == "create_zip_reader") {
    return Zipped(ins.size(), pass_of, pass, Flag(op, "check_alignment", true));
  }
  Require(op.type() == "create_mix_reader", "no model of ", op.type());
  return Mixed(RulesOf(op, pass, lane, lanes), pass_of);
}

MixRules ChainModel::RulesOf(const proto::OpDesc& op, uint64_t pass, size_t lane,
                             size_t lanes) const {
  const proto::OpDesc::Attr* const steps = Find(op, "steps");
  MixRules rules = {{0},
                    {},
                    Texts(op, "when_exhausted")[0],
                    Find(op, "by") == nullptr ? "records" : Texts(op, "by")[0],
                    static_cast<size_t>(Number(op, "slot")),
                    lanes > 1 ? KeyOf(op).OfPart(lane) : KeyOf(op),
                    pass,
                    lane,
                    lanes};
  if (steps != nullptr) rules.steps.assign(steps->longs().begin(), steps->longs().end());
  const auto& weights = Find(op, "weights")->float64s();
  const size_t readers = Ins(op).size();
  for (size_t i = 0; i < rules.steps.size(); ++i) {
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(i * readers);
    rules.weights.emplace_back(first, first + static_cast<std::ptrdiff_t>(readers));
  }
  for (const proto::OpDesc& above : program_.blocks(0).ops()) {
    const auto shards = static_cast<size_t>(Number(above, "num_shards"));
    if (above.type() != "create_shard_reader" || shards <= rules.ranks) continue;
    if (const std::optional<size_t> run = RunIn(Out(op), In(above))) {
      rules.ranks = shards;
      rules.run = *run;
    }
  }
  return rules;
}

std::optional<std::pair<int64_t, int64_t>> ChainModel::LaneNumbers(
    const std::string& reader) const {
  const proto::OpDesc& op = Creator(reader);
  const std::pair<int64_t, int64_t> own = {Number(op, "lanes", 1), Number(op, "stripe")};
  if (op.type() == "create_lanes_reader") return own;
  if (op.type() == "open_files" && own.first > 1) return own;
  if (kLaneWise.count(op.type()) > 0) return LaneNumbers(In(op));
  const bool repeats = Texts(op, "when_exhausted") == Strings{"repeat"};
  if (repeats || (op.type() != "create_zip_reader" && op.type() != "create_mix_reader")) {
    return std::nullopt;
  }
  const auto first = LaneNumbers(In(op));
  for (const std::string& in : Ins(op)) {
    if (LaneNumbers(in) != first) return std::nullopt;
  }
  return first;
}

std::optional<size_t> ChainModel::RunIn(const std::string& mix, const std::string& reader) const {
  static const std::set<std::string> kKeepElements = {
      "create_shuffle_reader",    "create_custom_reader", "create_double_buffer_reader",
      "create_multi_pass_reader", "create_take_reader",   "create_skip_reader",
      "create_fake_reader",       "create_concat_reader", "create_zip_reader"};
  if (LaneNumbers(reader)) return std::nullopt;  // lanes are not divided by records
  if (reader == mix) return 1;
  const proto::OpDesc& op = Creator(reader);
  if (op.type() == "create_shard_reader") return std::nullopt;
  for (const std::string& below : Ins(op)) {
    const std::optional<size_t> run = RunIn(mix, below);
    if (!run || kKeepElements.count(op.type()) > 0) {
      if (run) return run;
      continue;
    }
    if (op.type() == "create_batch_reader" || op.type() == "create_padded_batch_reader") {
      return *run * static_cast<size_t>(Number(op, "batch_size"));
    }
    if (op.type() == "create_window_reader") return *run * static_cast<size_t>(Number(op, "shift"));
    return MixRules::kAnyRun;
  }
  return std::nullopt;
}

ExpectedStream ChainModel::Filtered(const proto::OpDesc& op, const ExpectedStream& in) const {
  const auto& ops = program_.blocks(static_cast<int>(Find(op, "sub_block")->block_idx())).ops();
  const std::string& last = ops[ops.size() - 1].type();
  const bool by_mean = last == "less_than" || last == "greater_than";
  const double limit = by_mean ? static_cast<double>(Float(ops[2], "value")) : 0;
  ExpectedStream out;
  for (const ExpectedElement& element : in.elements) {
    out.error = element.error;
    if (!out.error.empty()) return out;
    const SlotValue& slot = element.value[0];
    bool keep = (NumbersIn(slot) == 0) == (last == "assign");
    if (by_mean) {
      const double mean = SumOf(slot) / static_cast<double>(NumbersIn(slot));
      keep = last == "less_than" ? mean < limit : mean > limit;
    }
    if (keep) out.elements.push_back(element);
  }
  out.error = in.error;
  return out;
}

std::optional<ChainModel::Lanes> ChainModel::LanesOf(const std::string& reader,
                                                     uint64_t pass) const {
  const proto::OpDesc& op = Creator(reader);
  const auto number = static_cast<size_t>(Number(op, "lanes", 1));
  Lanes dealt = {std::vector<ExpectedStream>(number), static_cast<size_t>(Number(op, "stripe"))};
  if (op.type() == "create_lanes_reader") {
    const ExpectedStream in = Pass(In(op), pass);
    for (size_t i = 0; i < in.elements.size(); ++i) {
      dealt.lanes[i % number].elements.push_back(in.elements[i]);
    }
    dealt.lanes[in.elements.size() % number].error = in.error;
    return dealt;
  }
  if (op.type() == "open_files") {
    if (number == 1) return std::nullopt;
    std::vector<ExpectedChunk> chunks = ChunksInTurn(op, pass);
    const auto all_tell = [&chunks] {
      return std::all_of(chunks.begin(), chunks.end(),
                         [](const ExpectedChunk& chunk) { return chunk.records; });
    };
    const size_t few = all_tell() ? 8 * number : number - 1;
    for (ExpectedChunk& chunk : chunks) {  // those that do not tell are fetched to be counted
      const ExpectedStream& content = chunk.content;
      if (!chunk.records && content.error.empty()) chunk.records = content.elements.size();
    }
    const size_t files = Texts(op, "file_names").size();
    const bool cut = files * static_cast<size_t>(Number(op, "pass_num", 1)) < number &&
                     chunks.size() <= few && all_tell();
    if (cut) {
      DealByTurns(chunks, &dealt.lanes);
    } else {
      for (size_t c = 0; c < chunks.size(); ++c) {
        ExpectedStream& lane = dealt.lanes[c % number];
        if (lane.error.empty()) Append(chunks[c].content, &lane);
      }
    }
    return dealt;
  }
  if (op.type() == "create_zip_reader" || op.type() == "create_mix_reader") {
    return CombinedLanes(op, pass);
  }
  if (kLaneWise.count(op.type()) == 0) return std::nullopt;
  std::optional<Lanes> lanes = LanesOf(In(op), pass);
  if (!lanes) return std::nullopt;
  for (size_t v = 0; v < lanes->lanes.size(); ++v) {
    lanes->lanes[v] = Decorated(op, std::move(lanes->lanes[v]), pass, v, lanes->lanes.size());
  }
  return lanes;
}

ExpectedStream ChainModel::Pass(const std::string& reader, uint64_t pass) const {
  const proto::OpDesc& op = Creator(reader);
  if (const std::optional<Lanes> lanes = LanesOf(reader, pass)) {
    return Merged(lanes->lanes, std::max<size_t>(1, lanes->stripe));
  }
  if (op.type() == "create_number_source") return Numbers(op);
  if (op.type() == "create_random_data_generator") return RandomData(op, pass);
  if (In(op).empty()) return Files(op, pass);
  if (op.type() == "create_multi_pass_reader") {
    const auto passes = static_cast<uint64_t>(Number(op, "pass_num"));
    ExpectedStream stream;
    for (uint64_t k = 0; k < passes && stream.error.empty(); ++k) {
      Append(Pass(In(op), pass * passes + k), &stream);
    }
    return stream;
  }
  if (op.inputs(0).parameter() == "UnderlyingReaders") return Combined(op, pass);
  if (op.type() == "create_cache_reader") return LookedAt(Pass(In(op), 0));
  if (op.type() == "create_batch_reader") {
    // A batch takes a stripe of each lane, if that comes out even.
    if (const std::optional<Lanes> lanes = LanesOf(In(op), pass)) {
      const auto size = static_cast<size_t>(Number(op, "batch_size"));
      const size_t all = lanes->lanes.size();
      size_t stripe = lanes->stripe;
      if (stripe == 0) stripe = size % all == 0 ? size / all : 1;
      return Batched(op, Merged(lanes->lanes, stripe));
    }
  }
  return Decorated(op, Pass(In(op), pass), pass);
}

ExpectedStream ChainModel::Decorated(const proto::OpDesc& op, ExpectedStream in, uint64_t pass,
                                     size_t lane, size_t lanes) const {
  if (op.type() == "create_batch_reader") return Batched(op, in);
  if (op.type() == "create_shuffle_reader") return ShuffledWindow(op, in, pass, lane, lanes);
  if (op.type() == "create_custom_reader") return Map(op, std::move(in));
  if (op.type() == "create_shard_reader") return Part(op, in);
  if (op.type() == "create_filter_reader") return Filtered(op, in);
  if (op.type() == "create_unbatch_reader") return Unbatched(op, in);
  if (op.type() == "create_double_buffer_reader") return in;
  for (const char* type : {"create_take_reader", "create_skip_reader", "create_fake_reader"}) {
    if (op.type() == type) return PartAtFirst(op, in);
  }
  return Gathered(op, LookedAt(in));
}

}  // namespace millhopper
