// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/chain_generator.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "tests/chains/dice.h"
#include "tests/files/field_files.h"
#include "tests/framework/program/program_runner.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

std::string Int(int64_t value) { return StrCat("i: ", value); }
std::string Bool(bool value) { return value ? "b: true" : "b: false"; }
std::string Text(const std::string& value) { return "s: \"" + value + "\""; }

std::string Texts(const Strings& values) {
  std::string text;
  for (const std::string& value : values) text += "strings: \"" + value + "\" ";
  return text;
}

// A slot as a program declares it.
struct Slot {
  std::string dtype;
  std::vector<int64_t> dims;
  int lod_level = 0;
};

// Declares slots by attributes, with the names that the lineage uses.
AttributeTexts Declared(const std::vector<Slot>& slots) {
  std::string shapes, ranks, levels, dtypes;
  for (const Slot& slot : slots) {
    for (const int64_t dim : slot.dims) shapes += StrCat("ints: ", dim, " ");
    ranks += StrCat("ints: ", slot.dims.size(), " ");
    levels += StrCat("ints: ", slot.lod_level, " ");
    proto::VarType::Type type;
    Require(proto::VarType::Type_Parse(slot.dtype, &type), "no type ", slot.dtype);
    dtypes += StrCat("ints: ", int{type}, " ");
  }
  return {{"shape_concat", shapes}, {"ranks", ranks}, {"lod_levels", levels}, {"dtypes", dtypes}};
}

// Files of one kind, and what a reader of them needs.
struct Shards {
  std::string format;
  Strings names;
  Strings companions;
  std::vector<Slot> slots;
  bool declared = false;  // the program declares the slots
  Strings fields = {};    // of a format that has some
};

// Readers that lanes run, each its own.
constexpr const char* kLaneWise[] = {"create_shuffle_reader", "create_custom_reader",
                                     "create_filter_reader",  "create_unbatch_reader",
                                     "create_pack_reader",    "create_bucket_reader",
                                     "create_window_reader",  "create_dedupe_reader"};

// A slot as a format with fields has it.
Slot SlotOfField(const ListedField& field) {
  const SlotValue value = field.value(1);
  Slot slot{proto::VarType::Type_Name(static_cast<proto::VarType::Type>(value.dtype)), value.dims,
            static_cast<int>(value.lod.size())};
  if (slot.lod_level > 0) slot.dims[0] = -1;
  return slot;
}

class ChainWriter {
 public:
  ChainWriter(uint64_t seed, const ChainWishes& wishes)
      : dice_(seed), seed_(seed), wishes_(wishes) {}

  std::string Write() {
    // Counts near these sizes are drawn more often: they are where batches and windows end.
    const int64_t depth = dice_.Between(0, 6);
    for (int64_t i = 0; i < depth; ++i) {
      sizes_.push_back(dice_.OneIn(8) ? dice_.Between(30, 120) : dice_.Between(1, 17));
    }
    free_order_ = dice_.OneIn(12) && !wishes_.ordered && !wishes_.counted;
    shared_ = (dice_.OneIn(12) || wishes_.shared) && !wishes_.ordered;
    DrawSource();
    if (may_have_lanes_ && dice_.OneIn(4)) AddLanes(dice_.Between(1, 5), dice_.Between(0, 3));
    const auto below = shared_ ? static_cast<size_t>(dice_.Between(0, depth)) : sizes_.size();
    for (size_t i = 0; i < below; ++i) Decorate(sizes_[i]);
    const Top split = top_;
    for (int64_t branches = shared_ ? dice_.Between(2, 3) : 0; branches > 0; --branches) {
      top_ = split;
      above_ = true;
      Decorate(DrawSize());
      for (size_t i = below; i < sizes_.size(); ++i) Decorate(sizes_[i]);
    }
    std::string text = BlockText(0, -1, parts_);
    for (const std::string& block : blocks_) text += block;
    return text;
  }

 private:
  // The reader that the next drawn reader will read.
  struct Top {
    std::string name;
    std::vector<Slot> slots;
    bool on_device = false;
    bool batched = false;
    bool uneven = false;  // one slot has more rows than another
    int multi_passes = 0;
    int64_t lanes = 0;  // that the next reader may be made for; 0: it is one stream
    int64_t stripe = 0;
  };

  // Whether the order of the elements that the next reader reads is defined.
  bool ordered() const { return !free_order_ && !above_; }
  bool may_fail() const { return ordered() && !shared_ && !wishes_.counted; }
  int64_t DrawSize() { return dice_.Between(1, 9); }

  int64_t DrawCount(int64_t unit) {
    const int64_t size = sizes_.empty() ? unit
                                        : sizes_[static_cast<size_t>(dice_.Between(
                                              0, static_cast<int64_t>(sizes_.size()) - 1))];
    switch (dice_.Between(0, 5)) {
      case 0:
        return dice_.Between(0, 1);
      case 1:
        return unit * dice_.Between(1, 3) + dice_.Between(-1, 1);
      case 2:
      case 3:
        return size * dice_.Between(1, 2) + dice_.Between(-1, 1);
      case 4:
        return dice_.Between(0, 40);
      default:
        return dice_.Between(40, 100);
    }
  }

  void Add(const std::string& type, const AttributeTexts& attributes) {
    SlotTexts inputs;
    if (!top_.name.empty()) inputs = {{"UnderlyingReader", {top_.name}}};
    Add(type, inputs, attributes);
  }

  void Add(const std::string& type, const SlotTexts& inputs, const AttributeTexts& attributes) {
    if (std::count(std::begin(kLaneWise), std::end(kLaneWise), type) == 0) top_.lanes = 0;
    top_.name = StrCat("r", readers_++);
    parts_.push_back(ReaderText(top_.name));
    parts_.push_back(OpText(type, inputs, {{"Out", {top_.name}}}, attributes));
  }

  // ---- Sources. ----

  // Lanes of the records of the source.
  void AddLanes(int64_t lanes, int64_t stripe) {
    Add("create_lanes_reader", {{"lanes", Int(lanes)}, {"stripe", Int(stripe)}});
    top_.lanes = lanes;
    top_.stripe = stripe;
  }

  void DrawSource() {
    may_have_lanes_ = ordered() && !shared_;
    if (free_order_) {
      DrawOpenFiles();
    } else if (!wishes_.counted && dice_.OneIn(5)) {
      DrawCombined();
      may_have_lanes_ = false;
    } else {
      DrawOneSource();
      may_have_lanes_ = may_have_lanes_ && top_.lanes == 0;
    }
  }

  void DrawOneSource() {
    const int64_t kind = wishes_.jitter || wishes_.counted ? 0 : dice_.Between(0, 9);
    if (kind < 3) {
      DrawNumberSource(dice_.OneIn(3));
    } else if (kind < 4) {
      top_.slots = {{"FP32", {1, 2}}};
      AttributeTexts attributes = {{"low", StrCat("f: ", dice_.Between(-3, 0))},
                                   {"high", StrCat("f: ", dice_.Between(1, 5))},
                                   {"seed", Int(dice_.Between(0, 3))},
                                   {"count", Int(DrawCount(16) + 1)}};
      const AttributeTexts declared = Declared(top_.slots);
      attributes.insert(attributes.end(), declared.begin(), declared.end());
      Add("create_random_data_generator", attributes);
    } else if (kind < 7) {
      DrawOneFile();
    } else {
      DrawOpenFiles();
    }
  }

  // Whether a slot may have more rows than another.
  static bool AreUneven(const std::vector<Slot>& slots) {
    size_t sequences = 0;
    bool uneven = false;
    for (const Slot& slot : slots) {
      sequences += slot.lod_level > 0 ? 1 : 0;
      uneven = uneven || slot.dims[0] != slots[0].dims[0] || sequences > 1;
    }
    return uneven;
  }

  // Readers one after another, by turns, or side by side.
  void DrawCombined() {
    const std::string type =
        dice_.OneOf({"create_concat_reader", "create_mix_reader", "create_zip_reader"});
    const bool ragged = dice_.OneIn(3);
    // Files of one format, or number sources. What is side by side may be anything.
    const bool images = !wishes_.jitter && dice_.OneIn(3);
    std::optional<Shards> fields;
    if (type != "create_zip_reader" && !images && dice_.OneIn(2)) fields = DrawFields();
    Strings names;
    Top joined;
    // Readers with the same lanes are zipped and mixed lane by lane.
    const int64_t lanes = may_have_lanes_ && dice_.OneIn(3) ? dice_.Between(1, 5) : 0;
    const int64_t stripe = dice_.Between(0, 3);
    std::optional<std::pair<int64_t, int64_t>> lanes_of_all;
    bool have_one_number = true;
    for (int64_t readers = dice_.Between(1, 4); readers > 0; --readers) {
      top_ = {};
      if (type == "create_zip_reader") {
        DrawOneSource();
        joined.slots.insert(joined.slots.end(), top_.slots.begin(), top_.slots.end());
      } else {
        if (fields) {
          Shards file = *fields;
          NameFieldFiles(1, &file);
          DrawFileOf(file);
        } else if (images) {
          DrawImages(readers);
        } else {
          DrawNumberSource(ragged);
        }
        joined.slots = top_.slots;
      }
      if (lanes > 0 && top_.lanes == 0) AddLanes(lanes, stripe);
      if (dice_.OneIn(lanes > 0 ? 9 : 3)) DrawPartAtFirst();
      if (dice_.OneIn(3)) DrawShuffle(DrawSize());
      const std::pair<int64_t, int64_t> own = {top_.lanes, top_.stripe};
      have_one_number = have_one_number && own == lanes_of_all.value_or(own);
      lanes_of_all = own;
      names.push_back(top_.name);
    }
    joined.uneven = AreUneven(joined.slots);
    top_ = joined;
    AttributeTexts attributes;
    bool lane_wise = have_one_number;
    if (type == "create_zip_reader") {
      attributes = {{"check_alignment", Bool(may_fail() && dice_.OneIn(3))}};
    } else if (type == "create_mix_reader") {
      const std::string end = dice_.OneOf({"stop", "continue", "repeat"});
      lane_wise = lane_wise && end != "repeat";
      attributes = {{"when_exhausted", Text(end)}, {"seed", Int(dice_.Between(0, 3))}};
      DrawWeights(names.size(), &attributes);
      const std::string by = dice_.OneOf({"records", "records", "bytes", "slot"});
      if (by != "records") attributes.emplace_back("by", Text(by));
      if (by == "slot") {
        const auto slots = static_cast<int64_t>(joined.slots.size());
        attributes.emplace_back("slot", Int(dice_.Between(0, slots - 1)));
      }
    } else {
      lane_wise = false;
    }
    Add(type, {{"UnderlyingReaders", names}}, attributes);
    if (lane_wise) std::tie(top_.lanes, top_.stripe) = *lanes_of_all;
  }

  // Weights of so many readers, which may change.
  void DrawWeights(size_t readers, AttributeTexts* attributes) {
    std::string weights;
    std::string steps;
    int64_t step = 0;
    for (int64_t left = dice_.OneIn(3) ? dice_.Between(1, 3) : 0; left >= 0; --left) {
      // The first weight is not 0, so that not all are; later that may be another one.
      const int64_t positive =
          steps.empty() ? 0 : dice_.Between(0, static_cast<int64_t>(readers) - 1);
      for (int64_t k = 0; k < static_cast<int64_t>(readers); ++k) {
        weights += StrCat("float64s: ", dice_.Between(k == positive ? 1 : 0, 5), " ");
      }
      steps += StrCat("longs: ", step, " ");
      step += dice_.Between(1, 20);
    }
    attributes->emplace_back("weights", weights);
    if (dice_.OneIn(2) || steps != "longs: 0 ") attributes->emplace_back("steps", steps);
  }

  // Images whose dims are declared, declared to be any, or what the file says.
  void DrawImages(int64_t number) {
    const std::string name = StrCat("${folder}/images_", 1000 * number, "_", DrawCount(3), ".idx");
    AttributeTexts attributes = {{"filename", Text(name)}};
    const int64_t dim = dice_.OneOf({"2", "-1"}) == "2" ? 2 : -1;
    if (dice_.OneIn(2)) {
      const AttributeTexts declared = Declared({{"INT16", {1, dim}}});
      attributes.insert(attributes.end(), declared.begin(), declared.end());
    }
    top_.slots = {{"INT16", {1, 2}}};
    Add("create_idx_file_reader", attributes);
  }

  void DrawNumberSource(bool ragged) {
    const bool sequential = dice_.OneIn(4);
    const int64_t records = DrawCount(16);
    AttributeTexts attributes = {
        {"records", Int(records)}, {"ragged", Bool(ragged)}, {"sequential", Bool(sequential)}};
    const int64_t one_in = wishes_.jitter ? 2 : 4;
    if (records > 0 && may_fail() && dice_.OneIn(one_in)) {
      attributes.emplace_back("plan_error", Int(dice_.Between(0, records - 1)));
    }
    if (records > 0 && may_fail() && !sequential && dice_.OneIn(one_in)) {
      attributes.emplace_back("load_error", Int(dice_.Between(0, records - 1)));
    }
    if (wishes_.jitter || dice_.OneIn(20)) {
      attributes.emplace_back("jitter", Int(static_cast<int64_t>(seed_ % 1000000) + 1));
    }
    top_.slots = {{"INT64", {ragged ? -1 : 1, 1}, ragged ? 1 : 0}};
    Add("create_number_source", attributes);
  }

  // Some of the fields of a format, in any order; one may come twice.
  Shards DrawFields() {
    const std::vector<FieldFormat>& formats = FieldFormats();
    const FieldFormat& format = formats[Index(formats.size())];
    Shards shards;
    shards.format = format.tag;
    by_plugin_ = by_plugin_ || FindFileFormat(format.tag)->library != nullptr;
    std::set<std::string> names;
    for (int64_t slots = dice_.Between(1, 5); slots > 0; --slots) {
      const ListedField& field = format.fields[Index(format.fields.size())];
      const std::string name = field.entry.substr(0, field.entry.find(' '));
      if (!names.insert(name).second && !format.repeats) continue;
      // Which records a field leaves out is known before any order of them.
      if (field.leaves_out != nullptr && wishes_.counted) continue;
      shards.fields.push_back(field.entry);
      shards.slots.push_back(SlotOfField(field));
    }
    if (shards.fields.empty()) return DrawFields();
    return shards;
  }

  void NameFieldFiles(int64_t files, Shards* shards) {
    const FieldFormat& format = FieldFormatOf(shards->format);
    const std::string packed = format.compresses && dice_.OneIn(4) ? ".gz" : "";
    const std::string chunk = dice_.OneOf({"1", "3", "16"});
    for (int64_t f = 0; f < files; ++f) {
      int64_t records = DrawCount(3) / (files > 2 ? 2 : 1);
      if (format.has_shards) records = std::max<int64_t>(records, 1);  // no shard is empty
      shards->names.push_back(StrCat(format.tag, ":${folder}/named_", 1000 * f, "_", records, "_",
                                     chunk, ".", format.tag, packed,
                                     format.has_shards ? "/index.json" : ""));
    }
  }

  size_t Index(size_t size) {
    return static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(size) - 1));
  }

  Shards DrawShards(int64_t files) {
    Shards shards;
    const std::string kind = dice_.OneOf(
        {"numbers", "numbers", "ragged", "lines", "images", "fields", "named", "named", "named"});
    if (kind == "named") {
      shards = DrawFields();
      NameFieldFiles(files, &shards);
      return shards;
    }
    const std::string recordio =
        StrCat("_", dice_.OneOf({"1", "3", "16"}), "_", dice_.OneOf({"fluid", "go", "crc32c"}), "_",
               dice_.OneOf({"none", "snappy", "gzip"}));
    const std::string packed = dice_.OneIn(4) ? ".gz" : "";
    const bool labels = kind == "images" && dice_.OneIn(2);
    const std::string line_end = "_" + dice_.OneOf({"lf", "crlf", "open"});
    for (int64_t f = 0; f < files; ++f) {
      const int64_t records = DrawCount(3) / (files > 2 ? 2 : 1);
      const std::string numbers = StrCat("_", 1000 * f, "_", records);
      std::string name = StrCat("${folder}/", kind, numbers);
      if (kind == "numbers" || kind == "ragged") {
        name += recordio + DrawFault(kind, records, recordio) + ".recordio";
      } else if (kind == "lines") {
        name += StrCat(line_end, ".txt", packed);
      } else {
        name += (kind == "images" ? ".idx" : ".fixed") + packed;
      }
      shards.names.push_back(kind == "fields" ? "fixed:" + name : name);
      if (labels) shards.companions.push_back(StrCat("${folder}/labels", numbers, ".idx", packed));
    }
    if (kind == "numbers") {
      shards = {"recordio", shards.names, {}, {{"FP32", {1, 2}}, {"INT64", {1, 1}}}, true};
    } else if (kind == "ragged") {
      shards = {"recordio", shards.names, {}, {{"INT64", {-1, 1}, 1}}, true};
    } else if (kind == "lines") {
      shards = {"text", shards.names, {}, {{"UINT8", {-1}, 1}}, false};
    } else if (kind == "images") {
      shards = {"idx", shards.names, shards.companions, {{"INT16", {1, 2}}}, false};
      if (labels) shards.slots.push_back({"INT64", {1, 1}});
    } else {
      shards = {"fixed", shards.names, {}, {{"INT64", {1, 1}}, {"UINT8", {2}}}, true};
    }
    return shards;
  }

  std::string DrawFault(const std::string& kind, int64_t records, const std::string& recordio) {
    if (!may_fail() || !dice_.OneIn(8) || records == 0) return "";
    const int64_t chunk_records = std::stoll(recordio.substr(1));
    const int64_t chunks = (records + chunk_records - 1) / chunk_records;
    // The first chunk must be whole: a reader finds the dialect by it.
    if (chunks > 1 && dice_.OneIn(2)) return StrCat("_bad_", dice_.Between(1, chunks - 1));
    return kind == "numbers" ? StrCat("_odd_", dice_.Between(0, records - 1)) : "";
  }

  void DrawOneFile() { DrawFileOf(DrawShards(1)); }

  void DrawFileOf(const Shards& file) {
    AttributeTexts attributes = {{"filename", Text(file.names[0])}};
    if (!file.companions.empty()) {
      attributes.emplace_back("label_filename", Text(file.companions[0]));
    }
    AddFiles("create_" + file.format + "_file_reader", file, std::move(attributes));
  }

  void DrawOpenFiles() {
    const Shards files = DrawShards(dice_.Between(1, 7));
    AttributeTexts attributes = {{"file_names", Texts(files.names)},
                                 {"thread_num", Int(dice_.Between(0, 3))},
                                 {"buffer_size", Int(dice_.Between(1, 40))},
                                 {"cycle_length", Int(dice_.Between(1, 8))}};
    if (!files.companions.empty()) {
      attributes.emplace_back("label_file_names", Texts(files.companions));
    }
    if (free_order_) attributes.emplace_back("deterministic", Bool(false));
    const bool packed = files.names[0].rfind(".gz") != std::string::npos ||
                        (!files.fields.empty() && FieldFormatOf(files.format).is_stream);
    const bool indexed = files.format == "idx" || files.format == "fixed";
    int64_t lanes = 0;
    int64_t stripe = 0;
    if (!packed && !free_order_ && dice_.OneIn(indexed ? 2 : 4)) {
      attributes.emplace_back(indexed && dice_.OneIn(2) ? "shuffle_records" : "shuffle_chunks",
                              Bool(true));
      AddOrder(&attributes);
    } else {
      attributes.emplace_back("pass_num", Int(dice_.OneIn(4) ? 2 : 1));
      if (dice_.OneIn(3)) {
        attributes.emplace_back("shuffle_files", Bool(true));
        AddOrder(&attributes);
      }
      // Lanes of its chunks, of which packed files and labels have one. A tar file, of two blocks
      // for each value, may have more than one of what the model takes for a chunk.
      const bool has_known_chunks = !packed && files.companions.empty() && files.format != "tar";
      if (may_have_lanes_ && has_known_chunks && dice_.OneIn(4)) {
        lanes = dice_.Between(2, 5);
        stripe = dice_.Between(0, 3);
        attributes.emplace_back("lanes", Int(lanes));
        attributes.emplace_back("stripe", Int(stripe));
      }
    }
    AddFiles("open_files", files, std::move(attributes));
    top_.lanes = lanes;
    top_.stripe = stripe;
  }

  void AddFiles(const std::string& type, const Shards& shards, AttributeTexts attributes) {
    top_.slots = shards.slots;
    top_.uneven = shards.format == "fixed" || AreUneven(shards.slots);
    if (!shards.fields.empty()) attributes.emplace_back("fields", Texts(shards.fields));
    if (shards.declared) {
      const AttributeTexts declared = Declared(shards.slots);
      attributes.insert(attributes.end(), declared.begin(), declared.end());
    }
    Add(type, attributes);
  }

  // ---- Decorated readers. ----

  void Decorate(int64_t size) {
    // Some of these readers do not yield every record.
    if (!wishes_.counted && !top_.on_device && dice_.OneIn(4)) {
      DrawGathering(size);
      return;
    }
    int64_t kind = dice_.Between(0, 9);
    // Elements on a device can only be passed on.
    if (top_.on_device && kind != 1) kind = 0;
    // A shared reader has one pass for all of its readers, so no reader above it makes passes.
    if (kind == 1 && (above_ || top_.multi_passes == 2)) kind = 0;
    // Which elements a shard or a filter leaves out depends on the order, and no other reader
    // yields them. So these need a defined order and are not drawn where records are counted.
    const bool leaves_out = kind == 6 || kind == 7 || kind == 9;
    if (leaves_out && (!ordered() || wishes_.counted)) kind = 5;
    if (kind == 8 && top_.uneven && !may_fail()) kind = 5;
    if (kind == 4 && top_.multi_passes > 0 && dice_.OneIn(2)) kind = 3;
    switch (kind) {
      case 0:
        DrawShuffle(size);
        return;
      case 1:
        ++top_.multi_passes;
        Add("create_multi_pass_reader",
            {{"pass_num", Int(dice_.Between(1, top_.multi_passes == 1 ? 3 : 2))}});
        return;
      case 2:
        DrawCustom();
        return;
      case 3:
        DrawDoubleBuffer();
        return;
      case 6:
        DrawShard();
        return;
      case 7:
        DrawFilter();
        return;
      case 8:
        DrawUnbatch();
        return;
      case 9:
        DrawPartAtFirst();
        return;
      default:
        DrawBatch(size);
    }
  }

  void DrawShuffle(int64_t size) {
    AttributeTexts attributes = {{"buffer_size", Int(std::max(size, top_.lanes))}};
    AddOrder(&attributes);
    Add("create_shuffle_reader", attributes);
  }

  // What decides a random order.
  void AddOrder(AttributeTexts* attributes) {
    attributes->emplace_back("seed", Int(dice_.Between(0, 3)));
    if (dice_.OneIn(4)) attributes->emplace_back("reshuffle", Bool(false));
  }

  void DrawPartAtFirst() {
    Add(dice_.OneOf({"create_take_reader", "create_skip_reader", "create_fake_reader"}),
        {{"count", Int(DrawCount(8))}});
  }

  // Lanes would be divided, not records.
  void DrawShard() {
    if (top_.lanes > 0) Add("create_double_buffer_reader", {});
    const int64_t shards = dice_.Between(1, 4);
    Add("create_shard_reader", {{"num_shards", Int(shards)},
                                {"index", Int(dice_.Between(0, shards - 1))},
                                {"even", Text(dice_.OneOf({"none", "pad", "drop"}))}});
  }

  void DrawDoubleBuffer() {
    top_.on_device = dice_.OneIn(3);
    Add("create_double_buffer_reader",
        {{"place", Text(top_.on_device ? "fake:0" : "CPU")}, {"depth", Int(dice_.Between(1, 4))}});
  }

  void DrawBatch(int64_t size) {
    bool stack = !top_.batched && dice_.OneIn(2);
    for (const Slot& slot : top_.slots) stack = stack && slot.lod_level == 0;
    // Which records the last batch drops depends on the order. So it drops none where the order is
    // not defined or records are counted.
    const bool discard = ordered() && !wishes_.counted && dice_.OneIn(2);
    for (Slot& slot : top_.slots) {
      if (stack) {
        slot.dims.insert(slot.dims.begin(), -1);
      } else {
        slot.dims[0] = -1;
      }
    }
    top_.batched = true;
    top_.uneven = top_.uneven && !stack;
    Add("create_batch_reader", {{"batch_size", Int(size)},
                                {"discard_leftover", Bool(discard)},
                                {"mode", Text(stack ? "stack" : "concat")}});
  }

  // A reader that looks at the elements in order. Those that look at lengths need elements of one
  // sequence. Where the order is not defined, they leave nothing out, and are not among those that
  // keep elements for later passes or look for equals.
  void DrawGathering(int64_t size) {
    const int64_t last = top_.batched ? 2 : !ordered() && !above_ ? 4 : 6;
    switch (dice_.Between(ordered() ? 0 : 2, last)) {
      case 0:
        if (dice_.OneIn(3)) {
          AttributeTexts attributes = {{"directory", Text("${folder}/cache")},
                                       {"disk_bytes", "l: 1000000000"}};
          if (by_plugin_) attributes.emplace_back("data_version", Text("1"));
          Add("create_cache_reader", attributes);
        } else {
          Add("create_cache_reader",
              {{"memory_bytes", "i: " + dice_.OneOf({"0", "4000", "1000000"})}});
        }
        return;
      case 1:
        Add("create_dedupe_reader", {{"entries", Int(dice_.Between(1, 40))}});
        return;
      case 2:
        LayEndToEnd();
        Add("create_window_reader", {{"size", Int(size)},
                                     {"shift", Int(ordered() ? dice_.Between(1, size + 2) : size)},
                                     {"stride", Int(ordered() ? dice_.Between(1, 3) : 1)},
                                     {"discard_leftover", Bool(ordered() && dice_.OneIn(2))}});
        return;
      case 3:
        LayEndToEnd();
        Add("create_bucket_reader", {{"boundaries", "ints: 1 ints: 3"},
                                     {"batch_sizes", StrCat("ints: ", size)},
                                     {"discard_leftover", Bool(ordered() && dice_.OneIn(2))}});
        return;
      case 4:
        LayEndToEnd();
        Add("create_token_batch_reader", {{"max_tokens", Int(dice_.Between(1, 4 * size))},
                                          {"count", Text(dice_.OneOf({"sum", "padded"}))},
                                          {"overlong", Text("alone")}});
        return;
      case 5:
        DrawPaddedBatch(size);
        return;
      default:
        // All slots of a document are equally long.
        top_.uneven ? DrawPaddedBatch(size) : DrawPack(size);
    }
  }

  void LayEndToEnd() {
    for (Slot& slot : top_.slots) slot.dims[0] = -1;
    top_.batched = true;
  }

  // All batches get the same length, so that they can be batched again.
  void DrawPaddedBatch(int64_t size) {
    constexpr int64_t kLength = 8;  // no sequence of these programs is longer
    AttributeTexts attributes = {{"batch_size", Int(size)}, {"pad_length", Int(kLength)}};
    std::string padding;
    const size_t slots = top_.slots.size();
    for (size_t i = 0; i < slots; ++i) {
      Slot& slot = top_.slots[i];
      slot.dims[0] = -1;
      if (slot.lod_level == 0) continue;
      slot.lod_level = 0;
      slot.dims.insert(slot.dims.begin() + 1, kLength);
      padding += PaddingOf(slot);
      if (ordered()) top_.slots.push_back({"INT64", {-1, 1}});
    }
    if (ordered()) {
      attributes.emplace_back("lengths", Bool(true));
    } else if (!padding.empty()) {
      attributes.emplace_back("pad_values", padding);
    }
    top_.batched = true;
    Add("create_padded_batch_reader", attributes);
  }

  static std::string PaddingOf(const Slot& slot) {
    return StrCat("float64s: ", slot.dtype == "UINT8" ? kPaddingOfText : kPadding, " ");
  }

  void DrawPack(int64_t size) {
    const bool may_truncate = ordered() && dice_.OneIn(2);
    AttributeTexts attributes = {
        {"length", Int(size)},
        {"method", Text(dice_.OneOf({"first_fit", "best_fit", "concat_then_split"}))},
        {"bins", Int(dice_.Between(1, 4))},
        {"overlong", Text(may_truncate ? "truncate" : "split")}};
    std::string padding;
    for (Slot& slot : top_.slots) {
      padding += PaddingOf(slot);
      slot.dims[0] = size;
      slot.dims.insert(slot.dims.begin(), 1);
      slot.lod_level = 0;
    }
    top_.slots.insert(top_.slots.end(), 2, {"INT32", {1, size}});
    if (!ordered()) attributes.emplace_back("pad_values", padding);
    Add("create_pack_reader", attributes);
  }

  void DrawUnbatch() {
    bool stack = dice_.OneIn(2);
    for (const Slot& slot : top_.slots) {
      stack = stack && slot.lod_level == 0 && slot.dims.size() > 1;
    }
    for (Slot& slot : top_.slots) {
      if (stack) {
        slot.dims.erase(slot.dims.begin());
      } else {
        slot.dims[0] = slot.lod_level == 0 ? 1 : -1;
      }
    }
    top_.batched = false;
    top_.uneven = AreUneven(top_.slots);
    Add("create_unbatch_reader", {{"mode", Text(stack ? "stack" : "concat")}});
  }

  // A block that decides by the first slot: by its mean, or, if it can be empty, by whether it is.
  void DrawFilter() {
    const int block = static_cast<int>(blocks_.size()) + 1;
    Strings sources;
    std::vector<std::string> parts;
    for (const Slot& slot : top_.slots) {
      sources.push_back(StrCat("x", sources.size()));
      parts.push_back(TensorText(sources.back(), slot.dtype, slot.dims, slot.lod_level));
    }
    for (const char* name : {"numbers", "mean", "limit", "empty", "keep"}) {
      parts.push_back(StrCat("vars { name: \"", name, "\" type { type: LOD_TENSOR } }\n"));
    }
    const Slot& first = top_.slots[0];
    if (first.lod_level > 0) {
      parts.push_back(OpText("is_empty", {{"X", {"x0"}}}, {{"Out", {"empty"}}}));
      parts.push_back(OpText(dice_.OneIn(4) ? "assign" : "logical_not", {{"X", {"empty"}}},
                             {{"Out", {"keep"}}}));
    } else {
      proto::VarType::Type type;
      Require(proto::VarType::Type_Parse(first.dtype, &type), "no type ", first.dtype);
      parts.push_back(OpText("cast", {{"X", {"x0"}}}, {{"Out", {"numbers"}}},
                             {{"in_dtype", Int(type)}, {"out_dtype", Int(proto::VarType::FP32)}}));
      parts.push_back(OpText("mean", {{"X", {"numbers"}}}, {{"Out", {"mean"}}}));
      // No mean of a few numbers is so close to this limit that rounding matters.
      const std::string limit = StrCat("f: ", dice_.OneOf({"0", "7", "30", "1005"}), ".3183");
      parts.push_back(OpText("fill_constant", {}, {{"Out", {"limit"}}},
                             {{"shape", "ints: 1"}, {"value", limit}}));
      parts.push_back(OpText(dice_.OneOf({"less_than", "greater_than"}),
                             {{"X", {"mean"}}, {"Y", {"limit"}}}, {{"Out", {"keep"}}}));
    }
    blocks_.push_back(BlockText(block, 0, parts));
    Add("create_filter_reader", {{"sub_block", StrCat("block_idx: ", block)},
                                 {"source_var_names", Texts(sources)},
                                 {"sink_var_names", Texts({"keep"})}});
  }

  // A block with one operator per slot.
  void DrawCustom() {
    const int block = static_cast<int>(blocks_.size()) + 1;
    std::vector<std::string> parts;
    Strings sources, sinks;
    for (Slot& slot : top_.slots) {
      sources.push_back(StrCat("x", sources.size()));
      sinks.push_back(StrCat("y", sinks.size()));
      const SlotTexts in = {{"X", {sources.back()}}};
      const SlotTexts out = {{"Out", {sinks.back()}}};
      parts.push_back(TensorText(sources.back(), slot.dtype, slot.dims, slot.lod_level));
      std::string op = OpText("assign", in, out);
      // Above a shared reader values stay as they are, so that the test can tell which records
      // came.
      const int64_t kind = above_ ? 0 : dice_.Between(0, 2);
      if (kind == 1 && (slot.dtype == "INT64" || slot.dtype == "FP32")) {
        op = OpText("scale", in, out, {{"bias", StrCat("f: ", dice_.Between(1, 1000))}});
      } else if (kind == 2) {
        proto::VarType::Type type;
        Require(proto::VarType::Type_Parse(slot.dtype, &type), "no type ", slot.dtype);
        op = OpText("cast", in, out, {{"in_dtype", Int(type)}, {"out_dtype", "i: 3"}});
        slot.dtype = "INT64";
      }
      parts.push_back(TensorText(sinks.back(), slot.dtype, slot.dims, slot.lod_level));
      parts.push_back(op);
    }
    blocks_.push_back(BlockText(block, 0, parts));
    Add("create_custom_reader", {{"sub_block", StrCat("block_idx: ", block)},
                                 {"source_var_names", Texts(sources)},
                                 {"sink_var_names", Texts(sinks)}});
  }

  Dice dice_;
  const uint64_t seed_;
  const ChainWishes wishes_;
  std::vector<int64_t> sizes_;
  bool free_order_ = false;
  bool shared_ = false;
  bool may_have_lanes_ = false;  // the source, which one reader must read in a defined order
  bool by_plugin_ = false;       // whether a plugin reads files of it
  bool above_ = false;           // whether the next readers are above a shared one
  Top top_;
  int readers_ = 0;
  std::vector<std::string> parts_, blocks_;
};

}  // namespace

std::string DrawChain(uint64_t seed, const ChainWishes& wishes) {
  return ChainWriter(seed, wishes).Write();
}

}  // namespace millhopper
