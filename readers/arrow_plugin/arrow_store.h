// SPDX-License-Identifier: Apache-2.0
// Stores that Arrow's file systems speak to, and how a path names an object in one of them:
// scheme://authority/key?options. Every byte of the key counts; it may have no ? and no #.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_STORE_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_STORE_H_

#include <arrow/filesystem/filesystem.h>
#include <arrow/status.h>

#include <memory>
#include <string>

#include "framework/io/http/blocking_requests.h"

namespace millhopper {

// The parts of a path.
struct StorePath {
  std::string scheme, authority, key;
  std::string options;  // with the question mark; "" without any

  // Throws kInvalidArgument with the path if it is not written so.
  static StorePath Of(const std::string& path);
  // The path of another key.
  std::string With(const std::string& other_key) const;
  // What statistics call the server, such as "gs://bucket"; it holds nothing secret.
  std::string Host() const;
};

// A store as one process knows it, and the path of a key in it for Arrow.
class ArrowStore {
 public:
  // The settings in the environment that Arrow's libraries look at when a store is made. The caller
  // of Make takes them before others may change the environment.
  static std::string Environment();
  // The store of a path in an environment, which is made when it is asked for first. That may take
  // long. Any thread. On failure the status says what is needed.
  static arrow::Result<std::shared_ptr<const ArrowStore>> Make(const StorePath& path,
                                                               const std::string& environment);

  ArrowStore(std::shared_ptr<arrow::fs::FileSystem> system, std::string root);

  arrow::fs::FileSystem& system() const { return *system_; }
  std::string PathOf(const std::string& key) const;

 private:
  const std::shared_ptr<arrow::fs::FileSystem> system_;
  const std::string root_;  // of all keys; "" or with a slash at its end
};

// Why a store cannot be made.
BlockingCarrier::Refusal NoStore(const arrow::Status& status);

// What a failure of Arrow's means that a store has made: in its words, without what its libraries
// write around them.
BlockingCarrier::Refusal RefusalOf(const arrow::Status& status);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_STORE_H_
