// SPDX-License-Identifier: Apache-2.0
// The requests are those of the API reference of Amazon S3: PutObject, CreateMultipartUpload,
// UploadPart, CompleteMultipartUpload and AbortMultipartUpload.
#include "framework/io/s3_upload.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/memory.h"
#include "framework/base/stop.h"
#include "framework/io/http_transfers.h"
#include "framework/io/s3_bucket.h"
#include "framework/io/s3_xml.h"

namespace millhopper {
namespace {

constexpr size_t kMostUnderWay = 4;     // parts of one object
constexpr size_t kPartsOfASize = 2000;  // after which parts are twice as large
constexpr size_t kMostParts = 10'000;   // that a store takes
constexpr size_t kMostAnswerBytes = size_t{1} << 16;
constexpr int kTriesToGiveUp = 2;
constexpr std::chrono::milliseconds kMomentToGiveUp{150};

class S3Upload final : public Upload {
 public:
  S3Upload(std::string path, size_t part_bytes)
      : path_(std::move(path)), object_(S3Path::OfObject(path_)), part_bytes_(part_bytes) {}

  ~S3Upload() override {
    for (auto& part : under_way_) HttpTransfer::Cancel(std::move(part));
    if (!id_.empty()) Abort();
  }

  void Write(const char* bytes, size_t size) override {
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
  HttpRequest Request(HttpMethod method, const std::string& query,
                      std::shared_ptr<const std::string> body = nullptr) const {
    HttpRequest request = S3Request(path_, object_, query, std::move(body));
    request.method = method;
    return request;
  }

  // Sends a request whose answer is a document, and gives its elements to `take` (ReadXml).
  template <typename Take>
  void Ask(HttpRequest request, const Take& take) const {
    request.size = kMostAnswerBytes;
    request.buffer = BufferPool::At(Place()).Take(request.size);
    const auto transfer = HttpTransfer::Run(std::move(request));
    try {
      ReadXml({transfer->request().buffer->data(), transfer->received()}, take);
    } catch (const Error& error) {
      throw error.InFile(path_, -1);
    }
  }

  void Begin() {
    // An `=` behind the name, as signatures have it.
    Ask(Request(HttpMethod::kPost, "uploads="),
        [this](const std::string& element, const std::string& text) {
          if (element == "InitiateMultipartUploadResult/UploadId") id_ = text;
        });
    if (id_.empty()) {
      throw Error(ErrorCode::kIo,
                  "cannot write: the server does not name the upload that it begins")
          .InFile(path_, -1);
    }
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
    // The answer begins with success while the server still puts the parts together.
    bool done = false;
    std::string code, message;
    Ask(Request(HttpMethod::kPost, "uploadId=" + S3Encoded(id_, false), std::move(list)),
        [&](const std::string& element, const std::string& text) {
          if (element == "CompleteMultipartUploadResult") done = true;
          if (element == "Error/Code") code = text;
          if (element == "Error/Message") message = text;
        });
    if (!done) {
      throw Error(ErrorCode::kIo,
                  StrCat("cannot write: the server does not put the parts together (",
                         Escaped(code), ": ", Escaped(message), ")"))
          .InFile(path_, -1);
    }
    id_.clear();
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

  // Parts of what is never put together cost money until somebody removes them. Whoever gives up
  // waits a moment only; the request goes on, unless the process ends.
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
    } catch (const Error&) {  // whoever gives up has said why
    }
  }

  const std::string path_;
  const S3Path object_;
  size_t part_bytes_;
  std::string id_;  // of an upload by parts that has begun, or ""
  std::shared_ptr<std::string> part_ = NewPart();
  size_t sent_ = 0;  // parts
  std::deque<std::shared_ptr<const HttpTransfer>> under_way_;
  std::vector<std::string> marks_;  // of the parts that have arrived, by which they are named
};

}  // namespace

std::unique_ptr<Upload> CreateS3Upload(const std::string& path, size_t part_bytes) {
  return std::make_unique<S3Upload>(path, part_bytes);
}

}  // namespace millhopper
