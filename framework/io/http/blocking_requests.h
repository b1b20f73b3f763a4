// SPDX-License-Identifier: Apache-2.0
// Requests by a library whose calls wait for the server. Each try is one call on its own thread, so
// that a thread that waits for it can stop or time out although the call itself cannot be ended.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_BLOCKING_REQUESTS_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_BLOCKING_REQUESTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "framework/base/error.h"
#include "framework/io/http/http_head.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/http/request_carrier.h"

namespace millhopper {

// A carrier of such requests. There are as many calls at once in the process as HttpLimits says.
// A call that takes longer than a server may be silent has failed, and its late result is dropped.
// The next call has twice the time, since the link may be slow.
//
// A call whose caller has left keeps its thread until it returns. At its end the process waits for
// such calls for a moment only.
class BlockingCarrier : public RequestCarrier {
 public:
  // What a call has brought: the object as it was when the bytes came, and how many these are. All
  // must come that were asked for and that the object has.
  struct Answer {
    HttpObject object;
    size_t received = 0;
  };
  // Why a call has brought nothing.
  struct Refusal {
    ErrorCode code = ErrorCode::kIo;
    std::string problem;
    bool passes = false;  // the next try may do better
    long status = 0;      // the status in HTTP for what is wrong, if there is one
  };
  using Outcome = std::variant<Answer, Refusal>;

  std::shared_ptr<const HttpTransfer> Start(HttpRequest request) const final;
  void Cancel(const HttpTransfer& transfer) const final;

  // What the counts of servers call the server.
  virtual std::string Host() const = 0;
  // One try, which puts bytes of the request at `out`. Several threads at once, also for the same
  // request. An Error that it throws is that of the request, and there is no other try.
  virtual Outcome Ask(const HttpRequest& request, char* out) const = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_BLOCKING_REQUESTS_H_
