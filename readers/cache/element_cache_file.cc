// SPDX-License-Identifier: Apache-2.0
// Source: XXH3 (https://github.com/Cyan4973/xxHash).
#include "readers/cache/element_cache_file.h"

#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/reader/prefetched.h"
#include "framework/tensor/tensor_stream.h"

namespace millhopper {
namespace {

constexpr std::string_view kMagic = "MHCACHE2";
constexpr size_t kIdBytes = 40;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kCheckedHeadBytes = 16;  // of a block, before its checksum
constexpr size_t kHeadBytes = kCheckedHeadBytes + kChecksumBytes;
constexpr uint32_t kEnd = 1;
// Blocks are about so long, unless a single element is longer.
constexpr size_t kBlockBytes = size_t{1} << 20;

template <typename T>
void Put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A number that lies at `bytes`, which may be unaligned.
template <typename T>
T At(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

uint64_t ChecksumOf(uint64_t seed, const std::vector<std::string_view>& parts) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset_withSeed(state.get(), seed);
  for (const std::string_view& part : parts) {
    XXH3_64bits_update(state.get(), part.data(), part.size());
  }
  return XXH3_64bits_digest(state.get());
}

std::string IdBytes(const RecordId& id) {
  std::string bytes;
  for (const uint64_t number : {id.pass, id.sample, id.part, id.chunk}) Put(number, &bytes);
  Put(id.file, &bytes);
  Put(id.record, &bytes);
  return bytes;
}

// What a file of this key and these slots begins with.
std::string FileHead(const CacheKey& key, const std::vector<SlotSpec>& slots) {
  std::string head(kMagic);
  head.append(key.data(), key.size());
  Put(static_cast<uint32_t>(slots.size()), &head);
  for (const SlotSpec& slot : slots) {
    Put(static_cast<int32_t>(slot.dtype), &head);
    Put(static_cast<int32_t>(slot.lod_level), &head);
    Put(uint32_t{slot.known}, &head);
    Put(static_cast<uint32_t>(slot.dims.size()), &head);
    for (const int64_t dim : slot.dims) Put(dim, &head);
  }
  Put(ChecksumOf(0, {head}), &head);
  return head;
}

[[noreturn]] void Damaged(const std::string& path, uint64_t offset, const std::string& problem) {
  throw Error(ErrorCode::kDataLoss, problem).InFile(path, static_cast<int64_t>(offset));
}

// Reads the head of a file, field by field.
class FileHeadReader {
 public:
  explicit FileHeadReader(const File& file) : file_(file) {}

  // The slots; throws kDataLoss if the file is none of this key.
  std::vector<SlotSpec> Read(const CacheKey& key) {
    if (Take(kMagic.size()) != kMagic) Fail("it is no cache file of this version");
    if (Take(key.size()) != std::string_view(key.data(), key.size())) Fail("it has another key");
    const auto count = Number<uint32_t>();
    if (count == 0 || count > kMaxSlots) Fail(StrCat(count, " slots"));
    std::vector<SlotSpec> slots;
    for (uint32_t i = 0; i < count; ++i) {
      SlotSpec slot;
      const auto type = Number<int32_t>();
      if (!IsDataType(type)) Fail(StrCat("type ", type));
      slot.dtype = DataTypeFromNumber(type);
      slot.lod_level = Number<int32_t>();
      if (slot.lod_level < 0 || slot.lod_level > static_cast<int>(kMaxLodLevels)) {
        Fail(StrCat(slot.lod_level, " levels of detail"));
      }
      slot.known = Number<uint32_t>() != 0;
      const auto rank = Number<uint32_t>();
      if (rank > kMaxRank) Fail(StrCat(rank, " axes"));
      for (uint32_t axis = 0; axis < rank; ++axis) {
        const auto dim = Number<int64_t>();
        if (dim < -1) Fail(StrCat("an axis of ", dim));
        slot.dims.push_back(dim);
      }
      if (slot.known && rank == 0) Fail("a slot without axes");
      slots.push_back(slot);
    }
    const uint64_t wanted = ChecksumOf(0, {head_});
    if (Number<uint64_t>() != wanted) Fail("the checksum of its head is wrong");
    return slots;
  }
  // Where the first block begins.
  uint64_t size() const { return head_.size(); }

 private:
  std::string_view Take(size_t size) {
    const size_t begin = head_.size();
    if (size > file_.size() - begin) Fail("it ends within its head");
    head_.resize(begin + size);
    file_.Read(begin, head_.data() + begin, size);
    return std::string_view(head_).substr(begin);
  }
  template <typename T>
  T Number() {
    return At<T>(Take(sizeof(T)).data());
  }
  [[noreturn]] void Fail(const std::string& problem) const {
    Damaged(file_.path(), head_.size(), problem);
  }

  const File& file_;
  std::string head_;
};

class ElementCacheSource final : public FileSource {
 public:
  struct Block {
    uint64_t offset;
    uint64_t length;
    uint64_t first;     // the number of its first element in the file
    uint32_t elements;  // at least 1
  };

  // Begins with the block at a byte, before which the file has so many elements.
  ElementCacheSource(std::shared_ptr<const File> file, uint64_t byte, uint64_t element)
      : file_(std::move(file)), next_(byte), claimed_(element) {}

  // The next block, or none at the end of the file. Reads its head.
  std::optional<Block> NextBlock() {
    if (ended_) return std::nullopt;
    const uint64_t left = file_->size() - next_;
    if (left < kHeadBytes) Damaged(file_->path(), next_, "the file ends before its last element");
    char head[kHeadBytes];
    file_->Read(next_, head, kHeadBytes);
    const auto elements = At<uint32_t>(head);
    const auto body = At<uint64_t>(head + 8);
    if (elements == 0) {
      const uint64_t checksum = ChecksumOf(next_, {{head, kCheckedHeadBytes}});
      if (At<uint32_t>(head + 4) != kEnd || body != claimed_ || left != kHeadBytes ||
          At<uint64_t>(head + kCheckedHeadBytes) != checksum) {
        Damaged(file_->path(), next_, "neither a block nor the end of the file");
      }
      ended_ = true;
      return std::nullopt;
    }
    if (body > left - kHeadBytes || body > kMaxChunkBytes - kHeadBytes ||
        elements > body / (sizeof(uint32_t) + kIdBytes)) {
      Damaged(file_->path(), next_,
              StrCat("the block has ", elements, " elements in ", body, " bytes"));
    }
    const Block block = {next_, kHeadBytes + body, claimed_, elements};
    claimed_ += elements;
    next_ += block.length;
    return block;
  }

  bool Claim(Chunk* chunk) override {
    const std::optional<Block> block = NextBlock();
    if (!block) return false;
    chunk->offset = block->offset;
    chunk->length = block->length;
    chunk->records = block->elements;
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    const char* const block = chunk->Read(*file_, chunk->offset, chunk->length);
    const auto elements = At<uint32_t>(block);
    const std::string_view body(block + kHeadBytes, chunk->length - kHeadBytes);
    const uint64_t checksum = ChecksumOf(chunk->offset, {{block, kCheckedHeadBytes}, body});
    if (At<uint64_t>(block + kCheckedHeadBytes) != checksum || elements != chunk->records ||
        At<uint64_t>(block + 8) != body.size()) {
      Damaged(file_->path(), chunk->offset, "the checksum of the block is wrong");
    }
    size_t begin = elements * sizeof(uint32_t);
    const auto in_bytes = static_cast<size_t>(body.data() - chunk->bytes->data());
    for (uint32_t i = 0; i < elements; ++i) {
      const auto size = At<uint32_t>(body.data() + i * sizeof(uint32_t));
      if (size < kIdBytes || size > body.size() - begin) {
        Damaged(file_->path(), chunk->offset, StrCat("element ", i, " has ", size, " bytes"));
      }
      chunk->pieces.push_back({static_cast<uint32_t>(in_bytes + begin), size});
      begin += size;
    }
  }

 private:
  const std::shared_ptr<const File> file_;
  uint64_t next_;         // byte of the file
  uint64_t claimed_ = 0;  // elements
  bool ended_ = false;
};

}  // namespace

CacheKey CacheKeyOf(const std::string& description) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(description.data(), description.size()));
  CacheKey key;
  std::memcpy(key.data(), canonical.digest, key.size());
  return key;
}

std::string ToString(const CacheKey& key) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : key) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

ElementCacheWriter::ElementCacheWriter(const std::string& path, const CacheKey& key,
                                       const std::vector<SlotSpec>& slots,
                                       std::function<void(uint64_t bytes)> may_grow)
    : file_(path), may_grow_(std::move(may_grow)) {
  const std::string head = FileHead(key, slots);
  may_grow_(head.size());
  file_.Write(head);
}

void ElementCacheWriter::Add(const RecordId& id, const std::vector<LoDTensor>& element) {
  const size_t begin = elements_.size();
  elements_ += IdBytes(id);
  // Values that would fill a block alone are not copied into it.
  uint64_t size = kIdBytes;
  std::vector<std::string> heads(element.size());
  for (size_t i = 0; i < element.size(); ++i) {
    AppendTensorHeader(element[i].dtype(), element[i].dims(), element[i].lod(), &heads[i]);
    size += heads[i].size() + element[i].bytes();
  }
  if (size > kMaxChunkBytes - kHeadBytes - sizeof(uint32_t)) {
    Throw(ErrorCode::kResourceLimit, "element ", id.sample, " has ", size, " bytes; the limit is ",
          kMaxChunkBytes);
  }
  ++added_;
  if (size < kBlockBytes) {
    for (size_t i = 0; i < element.size(); ++i) {
      elements_ += heads[i];
      elements_.append(static_cast<const char*>(element[i].raw_data()), element[i].bytes());
    }
    Put(static_cast<uint32_t>(size), &sizes_);
    if (elements_.size() >= kBlockBytes) Flush();
    return;
  }
  std::string head;
  Put(static_cast<uint32_t>(size), &head);
  head += elements_.substr(begin);
  elements_.resize(begin);
  Flush();
  std::vector<std::string_view> body = {head};
  for (size_t i = 0; i < element.size(); ++i) {
    body.emplace_back(heads[i]);
    body.emplace_back(static_cast<const char*>(element[i].raw_data()), element[i].bytes());
  }
  WriteBlock(1, body);
}

void ElementCacheWriter::Flush() {
  if (sizes_.empty()) return;
  WriteBlock(static_cast<uint32_t>(sizes_.size() / sizeof(uint32_t)), {sizes_, elements_});
  sizes_.clear();
  elements_.clear();
}

void ElementCacheWriter::WriteBlock(uint32_t elements, const std::vector<std::string_view>& body) {
  uint64_t bytes = 0;
  for (const std::string_view& part : body) bytes += part.size();
  std::string head;
  Put(elements, &head);
  Put(uint32_t{0}, &head);
  Put(bytes, &head);
  std::vector<std::string_view> checked = {head};
  checked.insert(checked.end(), body.begin(), body.end());
  const uint64_t checksum = ChecksumOf(file_.bytes(), checked);
  Put(checksum, &head);
  may_grow_(file_.bytes() + head.size() + bytes);
  file_.Write(head);
  for (const std::string_view& part : body) file_.Write(part.data(), part.size());
}

void ElementCacheWriter::Publish() {
  Flush();
  std::string end;
  Put(uint32_t{0}, &end);
  Put(kEnd, &end);
  Put(added_, &end);
  Put(ChecksumOf(file_.bytes(), {end}), &end);
  may_grow_(file_.bytes() + end.size());
  file_.Write(end);
  file_.Publish();
}

std::unique_ptr<ElementCacheFormat> ElementCacheFormat::Read(std::unique_ptr<const File> file,
                                                             const CacheKey& key) {
  FileHeadReader head(*file);
  std::vector<SlotSpec> slots = head.Read(key);
  return std::unique_ptr<ElementCacheFormat>(
      new ElementCacheFormat(std::move(slots), std::move(file), head.size()));
}

// A count that has changed in a head would be noticed only with the checksum of its block, which is
// not read. The end of the file has the sum of all, so the heads are read to there.
template <typename F>
uint64_t ElementCacheFormat::ForEachBlock(const F& f) const {
  ElementCacheSource blocks(file_, first_block_, 0);
  uint64_t elements = 0;
  while (const std::optional<ElementCacheSource::Block> block = blocks.NextBlock()) {
    CheckStop();
    f(*block);
    elements = block->first + block->elements;
  }
  return elements;
}

uint64_t ElementCacheFormat::StartWith(uint64_t element) {
  uint64_t byte = file_->size() - kHeadBytes;  // the end of the file has the form of a head
  uint64_t first = element;
  const uint64_t elements = ForEachBlock([&](const ElementCacheSource::Block& block) {
    if (element < block.first || element - block.first >= block.elements) return;
    byte = block.offset;
    first = block.first;
  });
  Require(element <= elements, "the file has ", elements, " elements, and none with the number ",
          element);
  start_byte_ = byte;
  start_element_ = first;
  return first;
}

std::vector<RecordId> ElementCacheFormat::PlacesOf(const std::vector<uint64_t>& elements) const {
  std::vector<RecordId> places;
  places.reserve(elements.size());
  const uint64_t end = ForEachBlock([&](const ElementCacheSource::Block& block) {
    while (places.size() < elements.size() &&
           elements[places.size()] - block.first < block.elements) {
      RecordId place;
      place.chunk = block.offset;
      place.record = static_cast<uint32_t>(elements[places.size()] - block.first);
      places.push_back(place);
    }
  });
  Require(places.size() == elements.size(), "the file has ", end,
          " elements, and none with the number ", elements.empty() ? 0 : elements.back());
  return places;
}

std::unique_ptr<FileSource> ElementCacheFormat::Open(const FileEntry&) {
  return std::make_unique<ElementCacheSource>(file_, start_byte_, start_element_);
}

void ElementCacheFormat::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  for (const Ticket& ticket : Prefetched(tickets, n)) LoadElement(ticket, rows);
}

RecordId ElementCacheFormat::IdOf(const Ticket& ticket) {
  RecordId id;
  id.pass = At<uint64_t>(ticket.bytes);
  id.sample = At<uint64_t>(ticket.bytes + 8);
  id.part = At<uint64_t>(ticket.bytes + 16);
  id.chunk = At<uint64_t>(ticket.bytes + 24);
  id.file = At<uint32_t>(ticket.bytes + 32);
  id.record = At<uint32_t>(ticket.bytes + 36);
  return id;
}

void ElementCacheFormat::LoadElement(const Ticket& ticket, Rows* rows) {
  const char* here = ticket.bytes + kIdBytes;
  size_t left = ticket.size - kIdBytes;
  for (size_t slot = 0; slot < rows->size(); ++slot) {
    const TensorView tensor = ParseTensor(here, left);
    char* const place = rows->Append(slot, tensor.dtype, tensor.dims, tensor.lod, tensor.levels);
    if (tensor.value_bytes > 0) std::memcpy(place, tensor.values, tensor.value_bytes);
    here += tensor.size;
    left -= tensor.size;
  }
}

}  // namespace millhopper
