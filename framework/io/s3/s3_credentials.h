// SPDX-License-Identifier: Apache-2.0
// The credentials that sign requests to object stores. They come from where the SDKs of AWS look
// for them, in their order: environment, profile files, the container's server, the instance's
// server (IMDSv2).
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_S3_CREDENTIALS_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_S3_CREDENTIALS_H_

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/io/s3/aws_settings.h"

namespace millhopper {

struct S3Credentials {
  std::string key, secret, token;  // the token is "" for those that do not expire
  std::optional<std::chrono::system_clock::time_point> expires;
};

// Looks for credentials, and waits for servers. Throws kIo if there are none or a server fails,
// kInvalidArgument for a profile that is none of those that are understood, and kCancelled.
S3Credentials FindS3Credentials(const AwsSettings& environment);

// The credentials of a process, which are found again before they expire. Any thread.
class S3CredentialStore {
 public:
  explicit S3CredentialStore(AwsSettings environment) : environment_(std::move(environment)) {}

  // Those of now; nothing if Renew must be called first. Does not wait. Throws what Renew has found
  // to be wrong a moment ago.
  std::optional<S3Credentials> Get() const EXCLUDES(mutex_);
  // Finds credentials if there are none, or if they expire soon. One thread does so, and others
  // return at once. Throws nothing but an error that interrupts.
  void Renew() EXCLUDES(renewing_, mutex_);
  // A server has said that the credentials with this key have expired. False if there are no
  // others.
  bool Expire(const std::string& key) EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  bool IsUsable() const REQUIRES(mutex_);
  bool WantsOthers() const REQUIRES(mutex_);

  const AwsSettings environment_;
  Mutex renewing_;
  mutable Mutex mutex_;
  std::optional<S3Credentials> credentials_ GUARDED_BY(mutex_);
  bool refused_ GUARDED_BY(mutex_) = false;  // by a server
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  Clock::time_point tried_ GUARDED_BY(mutex_);  // when others were looked for
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_S3_CREDENTIALS_H_
