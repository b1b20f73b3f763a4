// SPDX-License-Identifier: Apache-2.0
#include "readers/output/written_files.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"
#include "framework/reader/file_format.h"

namespace millhopper {
namespace {

constexpr size_t kMostWidth = 20;
constexpr char kNan[] = "nan";

// Whether only the length of a sequence is open.
bool IsDefinite(const SlotSpec& slot) {
  const auto* const first = slot.dims.begin() + (slot.lod_level > 0 ? 1 : 0);
  return slot.known && !slot.dims.empty() &&
         std::all_of(first, slot.dims.end(), [](int64_t length) { return length >= 0; });
}

// The slot with the lengths of an element for those that are open, but for those of sequences.
SlotSpec Definite(SlotSpec slot, const LoDTensor& tensor) {
  if (IsDefinite(slot)) return slot;
  slot.known = true;
  slot.dtype = tensor.dtype();
  slot.dims = tensor.dims();
  slot.lod_level = static_cast<int>(tensor.lod().size());
  if (slot.lod_level > 0) slot.dims[0] = -1;
  return slot;
}

bool HasNan(const LoDTensor& tensor) {
  bool has = false;
  VisitNumbers(tensor, 0, tensor.bytes() / SizeOf(tensor.dtype()), [&](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) has = has || std::isnan(value);
  });
  return has;
}

}  // namespace

ShardNames::ShardNames(std::string name) : name_(std::move(name)) {
  const size_t open = name_.find('{');
  if (open == std::string::npos && name_.find('}') == std::string::npos) return;
  const auto fail = [&] {
    Throw(ErrorCode::kInvalidArgument, Escaped(name_),
          ": in braces stands {shard} or {shard:05}, once, in the name of an output");
  };
  constexpr char kShard[] = "{shard";
  size_t at = open + sizeof(kShard) - 1;
  if (open == std::string::npos || name_.compare(open, sizeof(kShard) - 1, kShard) != 0) fail();
  if (at < name_.size() && name_[at] == ':') {
    for (++at; at < name_.size() && name_[at] >= '0' && name_[at] <= '9'; ++at) {
      width_ = std::min(10 * width_ + static_cast<size_t>(name_[at] - '0'), kMostWidth);
    }
    if (at < name_.size() && name_[at] == 'd') ++at;  // as in Python
  }
  if (at == name_.size() || name_[at] != '}') fail();
  begin_ = open;
  end_ = at + 1;
  if (name_.find_first_of("{}", end_) != std::string::npos) fail();
}

std::string ShardNames::operator[](uint64_t shard) const {
  if (!are_many()) return name_;
  std::string number = StrCat(shard);
  if (number.size() < width_) number.insert(0, width_ - number.size(), '0');
  return name_.substr(0, begin_) + number + name_.substr(end_);
}

uint64_t Written::records() const {
  return std::accumulate(files.begin(), files.end(), uint64_t{0},
                         [](uint64_t sum, const File& file) { return sum + file.records; });
}

WrittenFiles::WrittenFiles(const std::string& name, const NamedSlots& slots, const ShardSize& size,
                           const OutputRules& rules)
    : choice_(ChooseWriter(name)),
      names_(choice_.path),
      size_(size),
      rules_(rules),
      format_(choice_.schema->make(slots)),
      may_write_nan_as_null_(format_->slots().size()),
      null_values_(format_->slots().size()),
      defaults_(format_->slots().size()) {
  Require(names_.are_many() || !size_.is_limit(), Escaped(name),
          ": files of a limited size are several, so their name needs their number: "
          "out-{shard:05}.csv");
  for (size_t i = 0; i < may_write_nan_as_null_.size(); ++i) {
    const OutputSlot& slot = format_->slots()[i];
    may_write_nan_as_null_[i] =
        !slot.mask && IsFloat(slot.spec.dtype) && format_->WritesNanAsNull(slot);
  }
  rules_.stream = rules_.stream && !names_.are_many();
  if (!rules_.overwrite && !beside().empty() && FileSystemOf(beside()).Stat(beside()).exists()) {
    throw Error(ErrorCode::kIo, rules_.refusal).InFile(beside(), -1);
  }
  Open();
}

void WrittenFiles::Open() {
  files_.push_back(format_->Open(names_[files_.size()], rules_, records_));
  counts_.push_back(0);
}

void WrittenFiles::NoteDefaults(const std::vector<LoDTensor>& element) {
  const std::vector<OutputSlot>& slots = format_->slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    const OutputSlot& slot = slots[i];
    if (slot.HasValue(element)) {
      if (may_write_nan_as_null_[i] && HasNan(element[slot.number])) {
        defaults_[i] = kNan;
        may_write_nan_as_null_[i] = false;
      }
      continue;
    }
    const std::string_view bytes = TextOf(element[slot.number]);
    if (!null_values_[i]) {
      null_values_[i] = std::string(bytes);
      const bool is_number = slot.text_depth() == 0 && !bytes.empty();
      if (is_number && bytes.find_first_not_of('\0') != std::string_view::npos) {
        AppendNumberText(slot.spec.dtype, bytes.data(), {kNan, "inf"}, &defaults_[i]);
      }
    }
    Require(*null_values_[i] == bytes && (slot.spec.lod_level == 0 || bytes.empty()), "slot '",
            Escaped(slot.name), "' has a value where slot '", Escaped(slot.name),
            ".valid' says that there is none, and would lose it; rename that slot, or leave it "
            "out, if it is no mask");
  }
}

void WrittenFiles::Write(const std::vector<LoDTensor>& element) {
  const bool is_full = (size_.records > 0 && counts_.back() >= size_.records) ||
                       (size_.bytes > 0 && files_.back()->bytes() >= size_.bytes);
  if (is_full && counts_.back() > 0) {
    files_.back()->Finish();
    bytes_ += files_.back()->bytes();
    Open();
  }
  const bool on_host = std::all_of(element.begin(), element.end(),
                                   [](const LoDTensor& tensor) { return tensor.on_host(); });
  if (!on_host) {
    on_host_.clear();
    for (const LoDTensor& tensor : element) on_host_.push_back(tensor.OnHost());
  }
  try {
    files_.back()->Write(on_host ? element : on_host_);
    NoteDefaults(on_host ? element : on_host_);
  } catch (const Error& error) {
    throw error.WithContext(
        StrCat("while writing record ", records_, " to ", Escaped(files_.back()->output().path())));
  }
  ++records_;
  ++counts_.back();
}

void WrittenFiles::Prepare() {
  if (is_prepared_) return;
  if (names_.are_many()) {
    const std::string next = names_[files_.size()];
    const FileStatus status = FileSystemOf(next).Stat(next);
    Require(!status.exists(), Escaped(next), " is left from an earlier output of more than ",
            files_.size(), " files, and would be read with these; remove it and those after it");
  }
  files_.back()->Finish();
  is_prepared_ = true;
}

Written WrittenFiles::Publish() {
  Prepare();
  std::vector<FileWriter*> files;
  for (const auto& file : files_) files.push_back(file.get());
  format_->Publish(files, rules_);
  Written written;
  for (size_t i = 0; i < files.size(); ++i) {
    written.files.push_back({files[i]->output().path(), counts_[i], files[i]->output().bytes()});
  }
  for (const Written::File& file : written.files) {
    // The name alone may tell no format, or another one.
    const FormatSchema* const named = ChooseFormat(file.path).schema;
    const bool tells = named != nullptr && named->tag == choice_.schema->tag;
    written.inputs.push_back(tells ? file.path : StrCat(choice_.schema->tag, ":", file.path));
  }
  if (!beside().empty()) written.inputs = {StrCat(choice_.schema->tag, ":", beside())};
  written.fields = format_->Fields();
  for (size_t i = 0; i < written.fields.size(); ++i) {
    if (!defaults_[i].empty()) written.fields[i] += " default=" + defaults_[i];
  }
  written.attributes = format_->Attributes();
  written.slots.names = format_->Names();
  for (size_t i = 0; i < written.slots.names.size(); ++i) {
    written.slots.slots.push_back(format_->slots()[i].spec);
  }
  return written;
}

NamedSlots SlotsToWrite(ReaderBase* reader, std::vector<std::string> names,
                        std::vector<LoDTensor>* first) {
  reader->LearnSlots();
  std::vector<SlotSpec> slots = reader->FoundSlots();
  const bool known = !slots.empty() && std::all_of(slots.begin(), slots.end(), IsDefinite);
  if (!known && reader->HasNext()) {
    reader->ReadNext(first);
    slots.resize(first->size());
    for (size_t i = 0; i < slots.size(); ++i) slots[i] = Definite(slots[i], (*first)[i]);
  }
  for (size_t i = names.size(); i < slots.size(); ++i) names.push_back(StrCat("slot", i));
  return {std::move(slots), std::move(names)};
}

void WriteElements(ReaderBase* reader, const std::vector<LoDTensor>& first, WrittenFiles* files,
                   const std::function<void()>& progress) {
  if (!first.empty()) files->Write(first);
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    files->Write(element);
    progress();
    CheckStop();
  }
}

}  // namespace millhopper
