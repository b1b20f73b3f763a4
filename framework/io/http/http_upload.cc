// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/http_upload.h"

#include <string>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

class HttpUpload final : public WholeUpload {
 public:
  explicit HttpUpload(HttpRequest object) : request_(std::move(object)) {
    request_.method = HttpMethod::kPut;
  }

 private:
  void Send(std::shared_ptr<const std::string> bytes) override {
    request_.body = std::move(bytes);
    HttpTransfer::Run(std::move(request_));
  }

  HttpRequest request_;
};

}  // namespace

std::unique_ptr<Upload> CreateHttpUpload(HttpRequest object) {
  return std::make_unique<HttpUpload>(std::move(object));
}

void RemoveHttpObject(HttpRequest object) {
  constexpr long kNotFound = 404, kGone = 410;
  object.method = HttpMethod::kDelete;
  const auto transfer = HttpTransfer::Start(std::move(object));
  try {
    transfer->Wait();
  } catch (const Error& error) {
    HttpTransfer::Cancel(transfer);  // if it has not ended
    if (error.interrupts()) throw;
    if (transfer->status() != kNotFound && transfer->status() != kGone) throw;
  }
}

}  // namespace millhopper
