// SPDX-License-Identifier: Apache-2.0
// The requests are those of the API reference of Amazon S3: PutObject, CreateMultipartUpload,
// UploadPart, CompleteMultipartUpload and AbortMultipartUpload.
#include "framework/io/s3/s3_upload.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/io/http/http_file.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/s3/s3_bucket.h"
#include "framework/io/s3/s3_xml.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

constexpr size_t kMostUnderWay = 4;     // parts of one object
constexpr size_t kPartsOfASize = 2000;  // after which parts are twice as large
constexpr size_t kMostParts = 10'000;   // that a store takes
constexpr size_t kMostAnswerBytes = size_t{1} << 16;
constexpr int kTriesToGiveUp = 2;
constexpr std::chrono::milliseconds kMomentToGiveUp{150};

// A digest of bytes that come piece by piece.
class ContentHash {
 public:
  ContentHash() {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }

  void Add(const char* bytes, size_t size) { XXH3_128bits_update(state_.get(), bytes, size); }
  std::pair<uint64_t, uint64_t> value() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {hash.high64, hash.low64};
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

class S3Upload final : public Upload {
 public:
  S3Upload(std::string path, size_t part_bytes)
      : path_(std::move(path)), object_(S3Path::OfObject(path_)), part_bytes_(part_bytes) {}

  ~S3Upload() override {
    for (auto& part : under_way_) HttpTransfer::Cancel(std::move(part));
    if (!id_.empty()) Abort();
  }

  void Write(const char* bytes, size_t size) override {
    bytes_ += size;
    hash_.Add(bytes, size);
    while (size > 0) {
      if (part_->size() == part_bytes_) SendPart();
      const size_t taken = std::min(size, part_bytes_ - part_->size());
      part_->append(bytes, taken);
      bytes += taken;
      size -= taken;
    }
  }

  void Finish() override {
    if (id_.empty()) return;
    if (!part_->empty()) SendPart();
    while (!under_way_.empty()) TakePart();
  }

  void Publish() override {
    if (id_.empty()) {
      HttpTransfer::Run(Request(HttpMethod::kPut, "", std::move(part_)));
    } else {
      Complete();
    }
  }

 private:
  // The answer is a document of `most` bytes at most.
  HttpRequest Request(HttpMethod method, const std::string& query,
                      std::shared_ptr<const std::string> body = nullptr, size_t most = 0) const {
    HttpRequest request = S3Request(path_, object_, query, std::move(body));
    request.method = method;
    request.size = most;
    if (most > 0) request.buffer = BufferPool::At(Place()).Take(most);
    return request;
  }

  void Begin() {
    // An `=` after the name, as signatures have it.
    const auto transfer =
        HttpTransfer::Run(Request(HttpMethod::kPost, "uploads=", nullptr, kMostAnswerBytes));
    ReadServersXml(AnswerOf(*transfer),
                   [this](const std::string& element, const std::string& text) {
                     if (element == "InitiateMultipartUploadResult/UploadId") id_ = text;
                   });
    if (id_.empty()) Fail("the server does not name the upload that it begins");
  }

  [[noreturn]] void Fail(const std::string& problem) const {
    throw Error(ErrorCode::kIo, "cannot write: " + problem).InFile(path_, -1);
  }

  // A whole document: otherwise the request would have failed (HttpAccess::ExplainSuccess).
  static std::string_view AnswerOf(const HttpTransfer& transfer) {
    return {transfer.request().buffer->data(), transfer.received()};
  }

  void SendPart() {
    if (id_.empty()) Begin();
    if (sent_ == kMostParts) {
      throw Error(
          ErrorCode::kResourceLimit,
          StrCat("cannot write: a store takes no object of more than ", kMostParts, " parts"))
          .InFile(path_, -1);
    }
    if (under_way_.size() == kMostUnderWay) TakePart();
    ++sent_;
    const std::string query = StrCat("partNumber=", sent_, "&uploadId=", S3Encoded(id_, false));
    under_way_.push_back(
        HttpTransfer::Start(Request(HttpMethod::kPut, query, std::exchange(part_, NewPart()))));
    if (sent_ % kPartsOfASize == 0) part_bytes_ *= 2;
  }

  static std::shared_ptr<std::string> NewPart() { return std::make_shared<std::string>(); }

  // Waits for the first one of those under way.
  void TakePart() {
    under_way_.front()->Wait();
    marks_.push_back(under_way_.front()->object().etag);
    under_way_.pop_front();
  }

  void Complete() {
    auto list = std::make_shared<std::string>("<CompleteMultipartUpload>");
    for (size_t i = 0; i < marks_.size(); ++i) {
      *list += StrCat("<Part><PartNumber>", i + 1, "</PartNumber><ETag>", InXml(marks_[i]),
                      "</ETag></Part>");
    }
    *list += "</CompleteMultipartUpload>";
    const auto transfer = HttpTransfer::Start(Request(
        HttpMethod::kPost, "uploadId=" + S3Encoded(id_, false), std::move(list), kMostAnswerBytes));
    try {
      transfer->Wait();
      bool done = false;
      ReadServersXml(AnswerOf(*transfer), [&done](const std::string& element, const std::string&) {
        done = done || element == "CompleteMultipartUploadResult";
      });
      if (!done) Fail("the server does not say that it has put the parts together");
    } catch (const Error& error) {
      HttpTransfer::Cancel(transfer);  // if it has not ended
      // One of the tries may have done it, and its answer may be lost: then the object is there,
      // and the server knows the upload no more.
      constexpr long kFirstRefusal = 400, kNotFound = 404, kFirstFailure = 500;
      const long said = transfer->status();
      const bool refused = said >= kFirstRefusal && said < kFirstFailure && said != kNotFound;
      if (error.interrupts() || refused || !IsThere()) throw;
    }
    id_.clear();
  }

  // Whether the object is what was written. It is read, because an older one may have its size.
  bool IsThere() const {
    try {
      const std::unique_ptr<const File> file = OpenHttpFile(S3Request(path_, object_));
      if (file->size() != bytes_) return false;
      ContentHash hash;
      std::string piece(kReadBlockBytes, '\0');
      for (uint64_t at = 0; at < bytes_; at += piece.size()) {
        piece.resize(std::min<uint64_t>(kReadBlockBytes, bytes_ - at));
        file->Read(at, piece.data(), piece.size());
        hash.Add(piece.data(), piece.size());
      }
      return hash.value() == hash_.value();
    } catch (const Error& error) {  // it is not there, or the server does not tell
      if (error.interrupts()) throw;
      return false;
    }
  }

  static std::string InXml(const std::string& text) {
    std::string xml;
    for (const char c : text) {
      if (c == '&' || c == '<' || c == '>') {
        xml += StrCat("&#", static_cast<int>(c), ";");
      } else {
        xml += c;
      }
    }
    return xml;
  }

  // Parts of an upload that is never completed cost money until they are removed. A caller that
  // gives up waits for the removal a moment only; the request continues, unless the process ends.
  void Abort() const {
    const auto until = std::chrono::steady_clock::now() + kMomentToGiveUp;
    const auto is_over = [until] { return std::chrono::steady_clock::now() >= until; };
    try {
      const HelpScope moment(is_over);
      HttpRequest request = Request(HttpMethod::kDelete, "uploadId=" + S3Encoded(id_, false));
      HttpLimits limits = HttpLimits::Get();
      limits.tries = std::min(limits.tries, kTriesToGiveUp);
      request.limits = limits;
      HttpTransfer::Start(std::move(request))->Wait();
    } catch (const Error&) {  // the caller that gives up has thrown its own error
    }
  }

  const std::string path_;
  const S3Path object_;
  size_t part_bytes_;
  std::string id_;  // of an upload by parts that has begun, or ""
  std::shared_ptr<std::string> part_ = NewPart();
  uint64_t bytes_ = 0;  // that were written
  ContentHash hash_;    // of them
  size_t sent_ = 0;     // parts
  std::deque<std::shared_ptr<const HttpTransfer>> under_way_;
  std::vector<std::string> marks_;  // of the parts that have arrived, by which they are named
};

}  // namespace

std::unique_ptr<Upload> CreateS3Upload(const std::string& path, size_t part_bytes) {
  return std::make_unique<S3Upload>(path, part_bytes);
}

}  // namespace millhopper
