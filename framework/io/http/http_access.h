// SPDX-License-Identifier: Apache-2.0
// What requests to some servers need beside a URL: a signature, credentials that expire, and what
// explains the server's errors.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_ACCESS_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_ACCESS_H_

#include <optional>
#include <string>
#include <vector>

#include "framework/io/http/http_head.h"

namespace millhopper {

// How one try of a request is sent. It holds secrets, so nothing of it is ever shown.
struct HttpTicket {
  std::string url;
  std::vector<std::string> headers;  // "name: value"
  // What libcurl signs with (CURLOPT_AWS_SIGV4); no signature if `scheme` is "".
  std::string scheme, user, password;
  bool direct = false;  // through no proxy
};

// Any thread. Requests with access follow no redirect, because a signature is for one server.
class HttpAccess {
 public:
  // What an answer that is no success means.
  struct Explanation {
    std::string text;     // follows the status line; "" if the answer does not say
    bool passes = false;  // the next try may do better
  };

  HttpAccess() = default;
  virtual ~HttpAccess() = default;
  HttpAccess(const HttpAccess&) = delete;
  HttpAccess& operator=(const HttpAccess&) = delete;

  // For the next try; nothing if that needs credentials that Renew gets. It does not wait, because
  // the thread of all transfers calls it. Throws what Renew has found to be wrong.
  virtual std::optional<HttpTicket> Ticket() const = 0;
  // Gets credentials if there are none or they expire soon. Threads that wait for a request call it
  // again and again. It may wait for a server. Throws nothing but an error that interrupts.
  virtual void Renew() const {}
  // What tells the object from one of the same name elsewhere, such as an endpoint, without
  // secrets. It stays the same.
  virtual std::string Server() const { return ""; }
  // What the answer to a try with this ticket means; `body` is the first part of its body.
  virtual Explanation Explain(const HttpTicket& ticket, const HttpHead& head,
                              const std::string& body) const = 0;
  // What is wrong although the status of an answer is that of a success, which some stores send
  // before they have done what was asked; nothing if nothing is. Of requests that write and are
  // answered by a document, which is `body`.
  virtual std::optional<Explanation> ExplainSuccess(const HttpTicket&, const std::string&) const {
    return std::nullopt;
  }
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_ACCESS_H_
