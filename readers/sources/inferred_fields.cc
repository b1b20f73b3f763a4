// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/inferred_fields.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/limits.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/io/status_line.h"
#include "framework/reader/file_reader.h"
#include "framework/reader/ticket.h"
#include "readers/fields/chosen_fields.h"
#include "readers/fields/fields.h"

namespace millhopper {
namespace {

constexpr char kInfer[] = "infer";

std::vector<std::string> ListIn(const AttributeMap& given, const char* attribute) {
  if (!given.Has(attribute)) return {};
  return given.Get<std::vector<std::string>>(attribute);
}

// Whether each of the entries `found` has its name among the chosen ones.
bool HaveAllNames(const std::vector<std::string>& chosen, const std::vector<std::string>& found) {
  std::set<std::string> names;
  for (const std::string& entry : chosen) names.insert(HeadOf(entry).name);
  return std::all_of(found.begin(), found.end(),
                     [&](const std::string& entry) { return names.count(HeadOf(entry).name) > 0; });
}

// Whether numbers are exact because their types are found, and not as the attribute says.
bool MakesExact(const FittingFields& found, const AttributeMap& given) {
  const AttributeMap& attributes = found.attributes;
  return attributes.Has(kNumbers) && attributes.Get<std::string>(kNumbers) == kExactNumbers &&
         (!given.Has(kNumbers) || given.Get<std::string>(kNumbers).empty());
}

// The files of a format, whose records are only looked at: an element is one false.
class LookedAtFormat final : public FileFormat {
 public:
  LookedAtFormat(std::unique_ptr<FileFormat> format, FieldsOfRecords* fields)
      : FileFormat({kMaskSlot}),
        format_(std::move(format)),
        cuts_(!fields->entries().empty()),
        fields_(fields) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override { return format_->Open(file); }
  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    return format_->PlaceName(file, offset);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    std::vector<LoDTensor> slots;
    if (cuts_) {
      Rows values(format_->row_slots());
      format_->Load(tickets, n, &values);
      values.MoveTo(&slots);
    }
    for (size_t i = 0; i < n; ++i) {
      std::vector<std::string_view> values(slots.size());
      for (size_t slot = 0; slot < slots.size(); ++slot) {
        const auto* const ends = slots[slot].lod()[0].data() + i;
        values[slot] = {static_cast<const char*>(slots[slot].raw_data()) + ends[0],
                        static_cast<size_t>(ends[1] - ends[0])};
      }
      if (!cuts_) values.emplace_back(tickets[i].bytes, tickets[i].size);
      fields_->Add(values);
    }
    std::memset(rows->Append(0, n), 0, n);
  }

 private:
  const std::unique_ptr<FileFormat> format_;
  const bool cuts_;
  FieldsOfRecords* const fields_;
};

// Looks at all records of the files, and shows how far it is on a terminal.
FittingFields FieldsOfAllRecords(const FormatSchema& schema, FormatArguments arguments) {
  const AttributeMap given = schema.WithDefaults(arguments.attributes);
  FittingFields sampled = schema.guess_fields(arguments.files.front().path, given);
  if (sampled.entries.empty()) return sampled;
  for (const auto& [name, value] : sampled.attributes.values()) {
    arguments.attributes.Set(name, value);
  }
  const std::unique_ptr<FieldsOfRecords> fields = schema.fields_of_records(sampled, given);
  const std::vector<std::string> entries = fields->entries();
  arguments.attributes.Set("fields", entries.empty() ? sampled.entries : entries);
  uint64_t size = 0;
  for (const FileEntry& file : arguments.files) {
    Require(!CanBeReadOnceOnly(file.path), "infer \"all\" reads files before the pass, and ",
            Escaped(file.path), " can be read once only");
    if (StatusLine::IsShown()) size += FileSystemOf(file.path).Stat(file.path).size;
  }
  std::atomic<uint64_t> done{0}, records{0};
  const StatusLine status([&, progress = Progress(static_cast<double>(size))] {
    return progress.Line(static_cast<double>(done.load()),
                         StrCat("looking at records for their fields: ", records.load()));
  });
  uint64_t before = 0;
  const std::vector<FileEntry> files = std::move(arguments.files);
  for (const FileEntry& file : files) {
    arguments.files = {file};
    FileReader reader(std::make_unique<LookedAtFormat>(schema.Make(arguments), fields.get()), file);
    constexpr size_t kAtOnce = 256;
    TicketRun run;
    while (reader.Plan(kAtOnce, &run) > 0) {
      Rows rows(reader.row_slots());
      reader.Load(run.tickets.data(), run.tickets.size(), &rows);
      records += run.tickets.size();
      done = before + reader.counters()->bytes_read();
      run.Clear();
    }
    before = done;
  }
  FittingFields all = fields->Fields();
  all.attributes = sampled.attributes;
  return all;
}

bool LooksAtAll(const FormatSchema& schema, const AttributeMap& attributes) {
  return schema.fields_of_records != nullptr && attributes.Get<std::string>(kInfer) == "all";
}

}  // namespace

FittingFields FieldsThatFit(const FormatSchema& schema, const FormatArguments& arguments) {
  try {
    const AttributeMap attributes = schema.WithDefaults(arguments.attributes);
    if (LooksAtAll(schema, attributes)) return FieldsOfAllRecords(schema, arguments);
    if (schema.infer_fields_of_all == nullptr) {
      return schema.guess_fields(arguments.files.front().path, attributes);
    }
    std::vector<std::string> paths;
    for (const FileEntry& file : arguments.files) {
      if (!CanBeReadOnceOnly(file.path)) paths.push_back(file.path);
    }
    return schema.infer_fields_of_all(paths, attributes);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    const std::string& first = arguments.files.front().path;
    const Error located = error.file().empty() ? error.InFile(first, 0) : error;
    throw located.WithContext("while looking for fields that fit it, since none are given");
  }
}

bool GivesNoFields(const FormatArguments& arguments) {
  return arguments.declared.empty() && ListIn(arguments.attributes, "fields").empty();
}

bool FoundNoRecord(const FormatSchema& schema, const FormatArguments& arguments,
                   const Error& error) {
  return dynamic_cast<const MissingSlots*>(error.cause().get()) != nullptr &&
         schema.guess_fields != nullptr && GivesNoFields(arguments) && !arguments.files.empty() &&
         !CanBeReadOnceOnly(arguments.files.front().path);
}

void SetChosenFields(const FormatSchema& schema, const FittingFields& found,
                     AttributeMap* attributes) {
  constexpr char kOthers[] = "others";
  const std::vector<std::string> exclude = ListIn(*attributes, "exclude");
  std::vector<std::string> entries = ListIn(*attributes, "fields");
  if (MakesExact(found, *attributes)) {
    for (std::string& entry : entries) entry = WithNearestNumbers(entry);
  }
  std::vector<std::string> chosen = ChooseFields(entries, exclude, found);
  if (const size_t slots = NamesOf(chosen).size(); slots > kMaxSlots) {
    Throw(ErrorCode::kResourceLimit, "what is in it makes ", slots,
          " slots, with the masks of nulls, ", "and the limit is ", kMaxSlots,
          "; fields or exclude with names, or ranges such as I1-I13, ", "choose some of it");
  }
  for (const auto& [name, value] : found.attributes.values()) attributes->Set(name, value);
  const bool sees_others =
      std::any_of(schema.attributes.begin(), schema.attributes.end(),
                  [&](const AttributeSchema& attribute) { return attribute.name == kOthers; });
  if (sees_others && exclude.empty() && HaveAllNames(chosen, found.entries) &&
      (!attributes->Has(kOthers) || attributes->Get<std::string>(kOthers).empty())) {
    attributes->Set(kOthers, std::string("error"));
  }
  attributes->Set("fields", std::move(chosen));
  attributes->Set("exclude", std::vector<std::string>());
  if (attributes->Has(kInfer)) attributes->Set(kInfer, std::string("sample"));
}

void InferFields(const FormatSchema& schema, FormatArguments* arguments) {
  if (schema.guess_fields == nullptr || arguments->files.empty()) return;
  const std::vector<std::string> entries = ListIn(arguments->attributes, "fields");
  if (!AreChosenByName(entries) || (entries.empty() && !arguments->declared.empty())) {
    Require(ListIn(arguments->attributes, "exclude").empty(),
            "exclude is for readers without fields, or with \"*\" among them");
    return;
  }
  FileReader::CheckExist(arguments->files, schema.reads_folders);
  const std::string& path = arguments->files.front().path;
  if (CanBeReadOnceOnly(path)) return;
  const FittingFields found = FieldsThatFit(schema, *arguments);
  if (found.entries.empty() && found.left_out.empty()) return;  // records of bytes
  try {
    SetChosenFields(schema, found, &arguments->attributes);
  } catch (const Error& error) {
    throw error.InFile(path, 0);
  }
}

}  // namespace millhopper
