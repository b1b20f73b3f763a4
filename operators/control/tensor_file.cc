// SPDX-License-Identifier: Apache-2.0
#include "operators/control/tensor_file.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/io/output_file.h"
#include "framework/memory/memory.h"
#include "framework/tensor/tensor_stream.h"
#include "operators/support/conversion.h"

namespace millhopper {
namespace {

OpSchema WithPath(OpSchema schema) {
  return std::move(schema.Attr(AttributeSchema("file_path", "", "the file").Required())
                       .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
                         Require(!attributes.Get<std::string>("file_path").empty(),
                                 "attribute 'file_path' is empty");
                       }));
}

// Converts a tensor of floating-point values to fp16; returns any other tensor unchanged.
LoDTensor ToFp16(const LoDTensor& tensor) {
  LoDTensor half;
  const bool converted = VisitType(Types<float, double, Bf16>(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(tensor.raw_data());
    Fp16* to = half.Allocate<Fp16>(tensor.dims());
    std::transform(from, from + tensor.numel(), to, Convert<Fp16, T>);
    half.set_lod(tensor.lod());
  });
  return converted ? half : tensor;
}

// The whole content of a file.
Ref<Buffer> ReadFile(const File& file) {
  Ref<Buffer> bytes = BufferPool::At(Place()).Take(file.size());
  file.Read(0, bytes->data(), file.size());
  return bytes;
}

}  // namespace

OpSchema TensorWriterSchema(const std::string& doc) {
  return WithPath(OpSchema(doc)
                      .Attr({"overwrite", true,
                             "replace an existing file; false: an existing file is an error"})
                      .Attr({"save_as_fp16", false, "write floating-point values in 16 bits"})
                      .SideEffects());
}

OpSchema TensorReaderSchema(const std::string& doc) {
  return WithPath(
      OpSchema(doc).Attr({"load_as_fp16", false, "turn floating-point values into 16 bits"}));
}

void WriteTensors(OpContext& context) {
  const std::string& path = context.Attr<std::string>("file_path");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (IsLocal(path) && !folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::kIo, StrCat("cannot make its folder: ", error.message()))
        .InFile(path, -1);
  }
  OutputRules rules;
  rules.overwrite = context.Attr<bool>("overwrite");
  OutputFile file(path, rules);
  std::string bytes;
  for (size_t i = 0; i < context.InCount("X"); ++i) {
    const LoDTensor tensor = context.In("X", i).OnHost();
    bytes.clear();
    AppendTensor(context.Attr<bool>("save_as_fp16") ? ToFp16(tensor) : tensor, &bytes);
    file.Write(bytes);
  }
  file.Publish();
}

void ReadTensors(OpContext& context) {
  const std::string& path = context.Attr<std::string>("file_path");
  const std::unique_ptr<const File> file = File::Open(path);
  const Ref<Buffer> bytes = ReadFile(*file);
  std::vector<LoDTensor> tensors(context.OutCount("Out"));
  size_t position = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    try {
      const TensorView view = ParseTensor(bytes->data() + position, file->size() - position);
      tensors[i] = ToTensor(view);
      position += view.size;
    } catch (const Error& error) {
      throw error.InFile(path, static_cast<int64_t>(position))
          .WithContext(
              StrCat("while reading tensor ", i, " of ", tensors.size(), " at byte ", position));
    }
    if (context.Attr<bool>("load_as_fp16")) tensors[i] = ToFp16(tensors[i]);
  }
  if (position != file->size()) {
    throw Error(ErrorCode::kDataLoss,
                StrCat(file->size() - position, " bytes are left at byte ", position,
                       ", after the ", tensors.size(), " tensors that are wanted"))
        .InFile(path, static_cast<int64_t>(position));
  }
  for (size_t i = 0; i < tensors.size(); ++i) *context.Out("Out", i) = std::move(tensors[i]);
}

}  // namespace millhopper
