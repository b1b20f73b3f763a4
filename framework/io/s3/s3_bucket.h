// SPDX-License-Identifier: Apache-2.0
// Where a bucket of an object store is and how requests to it are signed. What is asked for is
// written s3://bucket/key, and all bytes of the key count: there is no query and no fragment.
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_S3_BUCKET_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_S3_BUCKET_H_

#include <map>
#include <memory>
#include <string>

#include "framework/base/mutex.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/s3/aws_settings.h"
#include "framework/io/s3/s3_credentials.h"

namespace millhopper {

// The two parts of a path.
struct S3Path {
  std::string bucket, key;

  // Throws kInvalidArgument with the path if there is no bucket of this name. The key may be "".
  static S3Path Of(const std::string& path);
  // The same, and if there is no key.
  static S3Path OfObject(const std::string& path);
};

// `text` as it is in URLs and signatures: everything but letters, digits, - . _ ~ and, if
// `keep_slashes`, slashes is %XX.
std::string S3Encoded(const std::string& text, bool keep_slashes);

// The store that the environment names, as one process knows it. Any thread.
class S3Store {
 public:
  // The store for the present environment. Throws as AwsProfile, and kInvalidArgument for an
  // endpoint or a region that cannot be.
  static std::shared_ptr<S3Store> Get();

  explicit S3Store(AwsSettings environment);

  bool anonymous() const { return anonymous_; }
  S3CredentialStore* credentials() { return &credentials_; }
  // "" for AWS.
  const std::string& endpoint() const { return endpoint_; }
  // Where a bucket lies: what its server said last, or what the environment says.
  std::string RegionOf(const std::string& bucket) const;
  // Notes what a server has said, unless it is no region.
  void SetRegion(const std::string& bucket, const std::string& region);
  // The URL of a bucket without a key, such as "http://127.0.0.1:9000/bucket".
  std::string UrlOf(const std::string& bucket) const;

 private:
  const AwsSettings environment_;
  const bool anonymous_;
  std::string endpoint_;  // "" for AWS
  std::string region_;
  S3CredentialStore credentials_;
  mutable Mutex mutex_;
  // By bucket, where they differ from `region_`.
  std::map<std::string, std::string> regions_ GUARDED_BY(mutex_);
};

// A request for an object, or with a query for what is in a bucket. Errors name `shown`. The query
// is sorted by names and encoded. What is signed includes the body. Throws as S3Store::Get.
HttpRequest S3Request(const std::string& shown, const S3Path& path, const std::string& query = "",
                      std::shared_ptr<const std::string> body = nullptr);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_S3_BUCKET_H_
