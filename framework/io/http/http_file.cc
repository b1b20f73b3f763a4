// SPDX-License-Identifier: Apache-2.0
// A file is read by blocks. Where a stretch of it has been read without a gap, blocks after the
// stretch are requested ahead of need, at most as much as the stretch is long: so a file that is
// read from its beginning soon has as many requests under way as there may be, and one that is read
// here and there has no useless ones. Small reads here and there are separate requests.
//
// With a cache, the blocks that it has are read from it when they are needed, and no others are
// requested in small parts, unless the cache takes none for a while. A file whose beginning it has
// is opened by a request for no bytes, which tells the version of the object.
//
// A server that does not give parts of an object gives the whole when the file is opened. Such a
// file is kept in memory, so its size is limited.
#include "framework/io/http/http_file.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "framework/base/limits.h"
#include "framework/base/mutex.h"
#include "framework/base/url.h"
#include "framework/io/http/cached_object.h"
#include "framework/io/http/stretches.h"
#include "framework/memory/attempt.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

using Transfer = std::shared_ptr<const HttpTransfer>;

constexpr size_t kHeadBytes = size_t{64} << 10;  // that come when a file is opened
constexpr size_t kBlockBytes = kReadBlockBytes;  // of one request
constexpr size_t kSmallRead = kBlockBytes / 4;   // is not worth a block
constexpr size_t kBlocksPerRequest = 2;          // kept or requested ahead, for each under way
constexpr size_t kUsedBlocks = 4;                // that are kept after all of it has been read
constexpr uint64_t kVolume = FileId::kFirstOtherVolume + 1;

uint64_t HashOf(const std::string& text) { return XXH3_64bits(text.data(), text.size()); }

// Changes when the content of the object does, as far as the server tells.
uint64_t VersionOf(const HttpObject& object) {
  return HashOf(StrCat(object.etag, "\n", object.modified, "\n", object.size.value_or(0), "\n",
                       object.coding, "\n", object.version));
}

// The same object has the same number, whatever the secrets in its URL.
FileId IdOf(const std::string& url, const HttpObject& object) {
  return {kVolume, HashOf(StrCat(WithoutQuery(url), "\n", VersionOf(object)))};
}

class HttpFile final : public File {
 public:
  explicit HttpFile(const HttpRequest& object) : File(object.url), asked_(object) {
    const time_t asked_at = std::time(nullptr);
    Transfer transfer = HttpTransfer::Run(Beginning());
    if (!transfer->object().has_parts) transfer = HttpTransfer::Run(Whole(transfer->object()));
    object_ = transfer->object();
    cached_ = CachedObject::Of(asked_, object_, asked_at);
    TakeBeginning(std::move(transfer));
    set_size(*object_.size);
    set_id(IdOf(path(), object_));
    ++open_files;
  }

  ~HttpFile() override {
    --open_files;
    if (!process_.IsThis()) return;
    for (auto& block : blocks_) HttpTransfer::Cancel(std::move(block.second.transfer));
  }

  // Only where there is a cache: nothing else keeps data of servers.
  std::string version() const override { return cached_ == nullptr ? "" : cached_->version(); }

 private:
  struct Block {
    Transfer transfer;
    size_t waiting = 0;     // threads
    size_t read = 0;        // bytes that have been asked of it
    uint64_t last_use = 0;  // in the order of all uses
    bool failed = false;    // and is to be requested again by the next read
    bool offered = false;   // to the cache
  };
  using Blocks = std::map<uint64_t, Block>;

  // What is asked for when a file is opened: its version if a cache has its beginning, a block for
  // a cache that does not and takes blocks, or the first bytes.
  HttpRequest Beginning() const {
    HttpRequest request = asked_;
    if (CachedObject::Knows(asked_)) return request;
    if (const RemoteCache* const cache = RemoteCache::Get(); cache != nullptr && cache->Takes()) {
      request.size = kBlockBytes;
      if (TryAhead([&] { request.buffer = BufferPool::At(Place()).Take(kBlockBytes); })) {
        return request;
      }
    }
    request.size = kHeadBytes;
    request.buffer = BufferPool::At(Place()).Take(kHeadBytes);
    return request;
  }

  // Keeps what came when the file was opened, for the constructor: no other thread knows it yet.
  void TakeBeginning(Transfer transfer) NO_THREAD_SAFETY_ANALYSIS {
    const size_t size = transfer->received();
    if (cached_ != nullptr && size > 0) cached_->Write(0, *transfer);
    if (size == kBlockBytes && *object_.size > size && object_.has_parts) {
      requested_.insert(0);
      blocks_[0].transfer = std::move(transfer);
      blocks_[0].offered = true;
      return;
    }
    if (size == 0) return;
    content_ = transfer->request().buffer;
    content_bytes_ = size;
    if (content_->capacity() > SizeClass(size)) {
      content_ = BufferPool::At(Place()).Take(size);
      std::memcpy(content_->data(), transfer->request().buffer->data(), size);
    }
  }

  // The request for an object that its server does not give in parts.
  HttpRequest Whole(const HttpObject& object) const {
    if (object.size.value_or(0) > kMaxUnsizedBytes) {
      throw Error(
          ErrorCode::kResourceLimit,
          StrCat("the server gives no parts of it (it ignores 'Range'), and the whole has ",
                 *object.size, " bytes; the limit is ", kMaxUnsizedBytes, "; copy it to a disk"))
          .InFile(path(), -1);
    }
    HttpRequest request = asked_;
    request.size = object.size.value_or(kMaxUnsizedBytes);
    request.buffer = BufferPool::At(Place()).Take(request.size);
    request.object = object;
    request.whole = true;
    request.urgent = true;
    return request;
  }

  HttpRequest Part(uint64_t offset, size_t size, bool urgent) const {
    HttpRequest request = asked_;
    request.offset = offset;
    request.size = size;
    request.buffer = BufferPool::At(Place()).Take(size);
    request.object = object_;
    request.urgent = urgent;
    return request;
  }

  size_t ReadSome(uint64_t offset, char* out, size_t size) const override {
    if (offset >= this->size()) return 0;
    size = std::min<uint64_t>(size, this->size() - offset);
    if (offset < content_bytes_) {
      const size_t got = std::min<uint64_t>(size, content_bytes_ - offset);
      std::memcpy(out, content_->data() + offset, got);
      const MutexLock lock(&mutex_);
      stretches_.Add(offset, offset + got);
      return got;
    }
    const uint64_t index = offset / kBlockBytes;
    if (const size_t got = ReadCached(index, offset, out, size); got > 0) return got;
    const Transfer block = BlockFor(index, offset, size);
    if (block == nullptr) {
      size = std::min(size, kBlockBytes);
      const Transfer transfer = HttpTransfer::Run(Part(offset, size, true));
      std::memcpy(out, transfer->request().buffer->data(), size);
      return size;
    }
    try {
      block->Wait();
      if (cached_ != nullptr && IsFirstOffer(index)) cached_->Write(index, *block);
    } catch (const Error& error) {
      Leave(index, 0, error.code() != ErrorCode::kCancelled);
      throw;
    } catch (...) {
      Leave(index, 0, false);
      throw;
    }
    const size_t before = offset - block->request().offset;
    const size_t got = std::min(size, block->received() - before);
    std::memcpy(out, block->request().buffer->data() + before, got);
    Leave(index, got, false);
    return got;
  }

  // Reads from the cache what is in no block here. Returns 0 if the cache does not have it.
  size_t ReadCached(uint64_t index, uint64_t offset, char* out, size_t size) const {
    if (cached_ == nullptr) return 0;
    {
      const MutexLock lock(&mutex_);
      if (blocks_.count(index) > 0) return 0;
    }
    const size_t got = cached_->Read(offset, out, size);
    if (got == 0) return 0;
    const MutexLock lock(&mutex_);
    stretches_.Add(offset, offset + got);
    return got;
  }

  // Whether a block that the calling thread has waited for is to be offered to the cache by it.
  bool IsFirstOffer(uint64_t index) const {
    const MutexLock lock(&mutex_);
    return !std::exchange(blocks_.at(index).offered, true);
  }

  // The block for a read, and the calling thread waits for it from now on; or null if the read is
  // to be a separate request: it is small and stands alone, or there is no memory for blocks.
  Transfer BlockFor(uint64_t index, uint64_t offset, size_t size) const {
    const MutexLock lock(&mutex_);
    const Stretches::Stretch stretch = stretches_.Add(offset, offset + size);
    auto block = blocks_.find(index);
    if (block == blocks_.end()) {
      const bool is_kept = cached_ != nullptr && cached_->Takes();
      if (stretch.end - stretch.begin < kSmallRead && !is_kept) return nullptr;
      // What is read again is requested again ahead of need.
      requested_.erase(requested_.find(index), requested_.end());
      if (blocks_.size() >= MostBlocks()) DropOldest();
      block = AddBlock(index, true);
      if (block == blocks_.end()) DropOldest();
      if (block == blocks_.end()) return nullptr;
    }
    ++block->second.waiting;
    block->second.last_use = ++uses_;
    Transfer transfer = block->second.transfer;
    try {
      ReadAhead(stretch, index, offset + size);
    } catch (...) {
      --block->second.waiting;
      throw;
    }
    return transfer;
  }

  // Requests a block. Its memory is that of work ahead of need, because all blocks stay for a
  // while. Returns the end of the blocks if there is no such memory.
  Blocks::iterator AddBlock(uint64_t index, bool urgent) const REQUIRES(mutex_) {
    const uint64_t offset = index * kBlockBytes;
    const size_t size = std::min<uint64_t>(kBlockBytes, this->size() - offset);
    Block block;
    const auto start = [&] { block.transfer = HttpTransfer::Start(Part(offset, size, urgent)); };
    if (!TryAhead(start)) return blocks_.end();
    block.last_use = ++uses_;
    requested_.insert(index);
    return blocks_.emplace(index, std::move(block)).first;
  }

  // Requests blocks after `index`: those up to the byte `needed`, and those ahead of need.
  void ReadAhead(const Stretches::Stretch& stretch, uint64_t index, uint64_t needed) const
      REQUIRES(mutex_) {
    const size_t most = MostBlocks();
    const uint64_t ahead = (stretch.end - stretch.begin) / kBlockBytes * kBlockBytes;
    const uint64_t end = std::min(size(), std::max(needed, stretch.end + ahead));
    const uint64_t last = index + most;
    while (++index < last && index * kBlockBytes < end && blocks_.size() < most) {
      const bool is_needed = index * kBlockBytes < needed;
      if (blocks_.count(index) > 0 || (!is_needed && requested_.count(index) > 0)) continue;
      if (cached_ != nullptr && cached_->Has(index)) {
        requested_.insert(index);
        continue;
      }
      if (AddBlock(index, is_needed) == blocks_.end()) return;
    }
  }

  // The share of this file in all blocks that there may be.
  static size_t MostBlocks() {
    const size_t all = kBlocksPerRequest * HttpLimits::Get().under_way;
    return std::max<size_t>(2, all / std::max<size_t>(1, open_files.load()));
  }

  // Releases the block that has not been used for the longest time, among those that no thread
  // waits for.
  void DropOldest() const REQUIRES(mutex_) {
    auto oldest = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (block->second.waiting > 0) continue;
      if (oldest == blocks_.end() || block->second.last_use < oldest->second.last_use) {
        oldest = block;
      }
    }
    if (oldest == blocks_.end()) return;
    HttpTransfer::Cancel(oldest->second.transfer);
    Erase(oldest);
  }

  void Erase(Blocks::iterator block) const REQUIRES(mutex_) {
    used_.erase(std::remove(used_.begin(), used_.end(), block->first), used_.end());
    blocks_.erase(block);
  }

  // The calling thread has read so many bytes of a block and waits for it no more. Blocks that have
  // been read completely are released. A few stay for a while: the header of a chunk may be read
  // twice, so that a block seems to be used up before its last bytes are.
  void Leave(uint64_t index, size_t bytes, bool failed) const {
    const MutexLock lock(&mutex_);
    const auto block = blocks_.find(index);
    const size_t before = block->second.read;
    const size_t whole = block->second.transfer->request().size;
    block->second.read += bytes;
    --block->second.waiting;
    block->second.failed = block->second.failed || failed;
    if (before < whole && block->second.read >= whole) used_.push_back(index);
    if (block->second.failed && block->second.waiting == 0) Erase(block);
    while (used_.size() > kUsedBlocks && blocks_.at(used_.front()).waiting == 0) {
      Erase(blocks_.find(used_.front()));
    }
  }

  static inline std::atomic<size_t> open_files{0};

  const OwnProcess process_;
  const HttpRequest asked_;  // for the object; copies of it ask for its parts
  HttpObject object_;
  std::unique_ptr<const CachedObject> cached_;  // null: the file is read past any cache
  Ref<Buffer> content_;  // the first bytes, or all of them if the server gives no parts
  size_t content_bytes_ = 0;

  mutable Mutex mutex_;
  mutable Stretches stretches_ GUARDED_BY(mutex_);
  mutable Blocks blocks_ GUARDED_BY(mutex_);  // by their number in the file
  // The numbers of blocks, in this run through the file.
  mutable std::set<uint64_t> requested_ GUARDED_BY(mutex_);
  // The numbers of blocks of which all has been read.
  mutable std::vector<uint64_t> used_ GUARDED_BY(mutex_);
  mutable uint64_t uses_ GUARDED_BY(mutex_) = 0;
};

// What is asked of servers, in order.
class Questions {
 public:
  Questions() = default;
  ~Questions() {
    for (Question& question : questions_) {
      if (question.transfer != nullptr) HttpTransfer::Cancel(std::move(question.transfer));
    }
  }
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  size_t size() const { return questions_.size(); }

  void Ask(const std::string& path, HttpRequest (*request)(const std::string& path)) {
    Question& question = questions_.emplace_back();
    try {
      question.transfer = HttpTransfer::Start(request(path));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      question.problem = ProblemOf(error);
    }
  }

  // The answer to the first one that has none yet.
  FileStatus NextAnswer() {
    FileStatus status = AnswerTo(questions_.front());
    questions_.pop_front();
    return status;
  }

 private:
  struct Question {
    Transfer transfer;  // null if it could not be asked
    std::string problem;
  };

  static FileStatus AnswerTo(const Question& question) {
    constexpr long kForbidden = 403, kNotFound = 404, kGone = 410;
    FileStatus status;
    status.kind = FileStatus::Kind::kUnknown;
    status.problem = question.problem;
    if (question.transfer == nullptr) return status;
    const HttpTransfer& transfer = *question.transfer;
    try {
      transfer.Wait();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      status.problem = ProblemOf(error);
      if (error.interrupts()) {  // the transfer may go on
        HttpTransfer::Cancel(question.transfer);
        return status;
      }
      const long said = transfer.status();
      // Object stores answer 403 for a missing object if the user may not list the bucket.
      if (said == kForbidden || said == kNotFound || said == kGone) {
        status.kind = FileStatus::Kind::kMissing;
      }
      return status;
    }
    status.kind = FileStatus::Kind::kFile;
    status.size = transfer.object().size.value_or(0);
    status.version = VersionOf(transfer.object());
    status.id = IdOf(transfer.request().url, transfer.object());
    return status;
  }

  std::deque<Question> questions_;
};

}  // namespace

std::unique_ptr<const File> OpenHttpFile(const HttpRequest& object) {
  return std::make_unique<HttpFile>(object);
}

std::vector<FileStatus> StatHttpFiles(const std::vector<std::string>& paths,
                                      HttpRequest (*request)(const std::string& path)) {
  std::vector<FileStatus> found(paths.size());
  Questions questions;
  size_t asked = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    for (; asked < paths.size() && questions.size() < HttpLimits::Get().under_way; ++asked) {
      questions.Ask(paths[asked], request);
    }
    found[i] = questions.NextAnswer();
  }
  return found;
}

std::string ProblemOf(const Error& error) {
  const std::string place = Escaped(error.file()) + ": ";
  const std::string& message = error.message();
  return message.rfind(place, 0) == 0 ? message.substr(place.size()) : message;
}

}  // namespace millhopper
