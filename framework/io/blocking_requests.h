// SPDX-License-Identifier: Apache-2.0
// Requests by a library whose calls wait for the server. Each try is one call on a thread of its
// own, so that those who wait for it can be stopped, and lose patience, although the call goes on.
#ifndef MILLHOPPER_FRAMEWORK_IO_BLOCKING_REQUESTS_H_
#define MILLHOPPER_FRAMEWORK_IO_BLOCKING_REQUESTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "framework/base/error.h"
#include "framework/io/http_head.h"
#include "framework/io/http_transfers.h"
#include "framework/io/request_carrier.h"

namespace millhopper {

// A carrier of such requests. There are as many calls at once in the process as HttpLimits says.
// A call that is not back when the server may be silent no longer has failed. What it brings later
// is dropped; the call after it has twice the time, for the link may be a slow one.
//
// A call that nobody waits for any more has a thread until it returns. The end of the process waits
// a moment for such calls, and then not for them.
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

#endif  // MILLHOPPER_FRAMEWORK_IO_BLOCKING_REQUESTS_H_
