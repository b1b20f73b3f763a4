// SPDX-License-Identifier: Apache-2.0
// create_cache_reader: keeps elements in memory or on a disk for later passes.
#include <memory>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "operators/readers/support/chain_description.h"
#include "operators/readers/support/reader_creation.h"
#include "proto/framework.pb.h"
#include "readers/cache/cache_reader.h"
#include "readers/cache/disk_cache_reader.h"

namespace millhopper {
namespace {

void Check(const proto::OpDesc& op, const AttributeMap&) {
  bool memory = false, directory = false, bytes = false, version = false;
  for (const proto::OpDesc::Attr& attribute : op.attrs()) {
    memory = memory || attribute.name() == "memory_bytes";
    directory = directory || attribute.name() == "directory";
    bytes = bytes || attribute.name() == "disk_bytes";
    version = version || attribute.name() == "data_version";
  }
  Require(memory != directory,
          "give either attribute 'memory_bytes', for a cache in memory, or 'directory' and "
          "'disk_bytes', for one on a disk");
  Require(bytes == directory, directory ? "attribute 'disk_bytes' must be given with 'directory'"
                                        : "attribute 'disk_bytes' is for a cache in a 'directory'");
  Require(directory || !version, "attribute 'data_version' is for a cache in a 'directory'");
}

OpSchema CacheSchema() {
  return DecoratedReaderSchema(
             "Keeps the elements of a pass, in memory or on a disk, and yields them from there in "
             "later passes. Every pass is pass 0 of the reader below, which no other reader may "
             "read: put readers that shuffle above it.")
      .Attr(AttributeSchema("memory_bytes", int64_t{},
                            "memory for elements: the first ones of a pass are kept, and the "
                            "others are read again")
                .AtLeast(0))
      .Attr({"directory", "",
             "a folder on a local disk, where a whole pass is kept in a file for later passes and "
             "later processes. It is used again while the operators below, --seed, and the paths, "
             "sizes and times of change of the files that their attributes name are the same"})
      .Attr(AttributeSchema("disk_bytes", int64_t{},
                            "what all caches in the directory may take together; a pass that needs "
                            "more is not kept")
                .AtLeast(0))
      .Attr({"data_version", "",
             "a text that is changed whenever the data changes in a way that cannot be seen: for "
             "chains with functions of Python, code of plugins, or lists of images"})
      .Check(Check)
      .Order([](const AttributeMap&) {
        return PassOrder{PassOrder::kSame, ""};
      })
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateCacheReader(OpContext& context) {
  if (context.IsGiven("memory_bytes")) {
    StoreReader(context, std::make_unique<CacheReader>(UnderlyingReader(context),
                                                       context.Attr<int64_t>("memory_bytes")));
    return;
  }
  DiskCacheOptions options;
  options.directory = context.Attr<std::string>("directory");
  options.directory_bytes = context.Attr<int64_t>("disk_bytes");
  options.describe = [description =
                          ChainDescription(context, context.Attr<std::string>("data_version"))] {
    return description.Text();
  };
  StoreReader(context,
              std::make_unique<DiskCacheReader>(UnderlyingReader(context), std::move(options)));
}

REGISTER_OPERATOR(create_cache_reader, CacheSchema, CreateCacheReader);

}  // namespace
}  // namespace millhopper
