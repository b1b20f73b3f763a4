// SPDX-License-Identifier: Apache-2.0
// Carries requests to servers by another library than libcurl. So everything built on HttpTransfer
// (reading ahead, the cache of remote files, the counts of servers) works for these servers as it
// does for HTTP.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_REQUEST_CARRIER_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_REQUEST_CARRIER_H_

#include <memory>
#include <string>

#include "framework/io/http/http_transfers.h"

namespace millhopper {

// Any thread.
class RequestCarrier {
 public:
  RequestCarrier() = default;
  virtual ~RequestCarrier() = default;
  RequestCarrier(const RequestCarrier&) = delete;
  RequestCarrier& operator=(const RequestCarrier&) = delete;

  // As HttpTransfer::Start. It keeps the promises of HttpRequest and of HttpTransfer: tries again
  // what may pass, throws kDataLoss for bytes of another object than the request's, and counts
  // (http_stats.h).
  virtual std::shared_ptr<const HttpTransfer> Start(HttpRequest request) const = 0;
  // As HttpTransfer::Cancel, for a transfer that Start has returned.
  virtual void Cancel(const HttpTransfer& transfer) const = 0;
  // What tells the object that is asked for from every other one, without secrets.
  virtual std::string Name() const = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_REQUEST_CARRIER_H_
