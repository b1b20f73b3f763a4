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
             "read: put readers that shuffle above it.\n\n"
             "In memory (memory_bytes), the first elements of a pass are kept, and later passes "
             "read only the others. On a disk (directory and disk_bytes), a whole pass is kept in "
             "a file, for later passes and later processes. A damaged file is noticed and written "
             "again. Where a disk has no room, "
             "the reader says so once on standard error, and continues without it. A resumed loop "
             "needs no file: what it lacks is read again. A pass in which it was saved while the "
             "file was written is not kept; the next one is.\n\n"
             "Like tf.data.Dataset.cache, which has no limit, and never notices that its files are "
             "of other data.")
      .Attr(AttributeSchema("memory_bytes", int64_t{},
                            "for a cache in memory: memory for elements; if all fit, files are "
                            "read once")
                .Optional()
                .AtLeast(0))
      .Attr(AttributeSchema(
                "directory", "",
                "for a cache on a disk: a folder, which is made if it is not there. The file is "
                "used again while the operators below, --seed, and the paths, sizes and times of "
                "change of the files that their attributes name are the same")
                .Optional())
      .Attr(AttributeSchema("disk_bytes", int64_t{},
                            "what all caches in the directory may take together; a pass that needs "
                            "more is not kept")
                .Optional()
                .AtLeast(0))
      .Attr(AttributeSchema(
                "data_version", "",
                "a text to change whenever the data changes in a way that Millhopper cannot see. "
                "Chains with functions, arrays or data sets of Python, code of plugins, or lists "
                "of images are kept on a disk only with such a text")
                .Optional())
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
