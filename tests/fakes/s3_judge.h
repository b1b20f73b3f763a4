// SPDX-License-Identifier: Apache-2.0
// An object store of one bucket, "bucket", in front of the objects of an HTTP server: it checks
// signatures by its own computation, lists what there is, takes objects as a whole and by parts,
// and says in XML what is wrong.
#ifndef MILLHOPPER_TESTS_FAKES_S3_JUDGE_H_
#define MILLHOPPER_TESTS_FAKES_S3_JUDGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "tests/fakes/http_server.h"

namespace millhopper {

// Who may read and write is a user with the key "KEY" and the secret "SECRET/+=". Any thread.
class S3Judge {
 public:
  // In front of a server, which keeps it.
  static std::shared_ptr<S3Judge> For(HttpServer* server);

  void Put(const std::string& key, const std::string& content);
  // From now on only a user with this key may read. "" is for no user: everybody may.
  void SetUser(const std::string& key, const std::string& secret, const std::string& token = "");
  // Where the bucket lies. Signatures for another region are refused.
  void set_region(const std::string& region);
  // How many names a page of a list has.
  void set_page(size_t names);
  // What is sent in place of every list.
  void set_list(const std::string& document);
  // No part of an upload but the last may be smaller.
  void set_least_part(size_t bytes);
  // The next so many times that parts are to be put together, an error comes after the answer has
  // begun with success.
  void BreakUploads(int64_t times);
  // The next so many times the upload is forgotten, as one that another client has aborted.
  void ForgetUploads(int64_t times);
  // How many uploads by parts have begun and have not ended.
  size_t open_uploads() const;
  // An object that is there.
  std::optional<std::string> Get(const std::string& key) const;
  // How many requests have come in whose signature was right.
  int64_t right() const;

 private:
  explicit S3Judge(HttpServer* server) : server_(server) {}
  struct Parts {
    std::string key;
    std::map<size_t, std::string> bytes;
  };

  std::optional<HttpAnswer> Answer(const std::string& head, const std::string& body);
  // What is wrong with the signature.
  std::optional<HttpAnswer> Check(const std::string& head, const std::string& body);
  // Of requests about parts.
  HttpAnswer AnswerParts(const std::string& method, const std::string& key,
                         const std::string& query, const std::string& body);
  HttpAnswer PutTogether(const std::string& id, const std::string& list);
  HttpAnswer List(const std::string& query) const;

  HttpServer* const server_;
  mutable std::mutex mutex_;  // guards what is below
  std::string key_ = "KEY", secret_ = "SECRET/+=", token_, region_ = "us-east-1", list_;
  std::set<std::string> old_keys_;  // of users that are none any more
  std::set<std::string> names_;
  std::map<std::string, Parts> uploads_;  // by their ids
  size_t least_part_ = 0, begun_uploads_ = 0;
  int64_t breaks_ = 0, forgets_ = 0;
  size_t page_ = 1000;
  int64_t right_ = 0;
};

// Nothing is known of AWS in the environment as long as it lives, but an endpoint. The home
// directory is a new one.
class AwsTestEnvironment {
 public:
  explicit AwsTestEnvironment(const std::string& endpoint);
  ~AwsTestEnvironment();
  AwsTestEnvironment(const AwsTestEnvironment&) = delete;
  AwsTestEnvironment& operator=(const AwsTestEnvironment&) = delete;

  const std::string& home() const { return home_; }

 private:
  static void Clear();

  std::string home_, home_before_;
};

// The same with the user whom an S3Judge knows.
void SetS3User();

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_S3_JUDGE_H_
