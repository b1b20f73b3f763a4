// SPDX-License-Identifier: Apache-2.0
// Workloads that decode photographs and crop, resize, mirror and normalise them at random, for
// batches of float32 [64, 3, 224, 224].
#include <memory>
#include <string>
#include <utility>

#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/limits/image_limit.h"
#include "tests/benchmarks/workload.h"

namespace millhopper {
namespace {

constexpr uint64_t kPhotos = 512;
constexpr int64_t kBatch = 64;

constexpr char kProgram[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "augmented" type { type: READER } persistable: true }
  ops { type: "create_custom_reader"
        inputs { parameter: "UnderlyingReader" arguments: "photos" }
        outputs { parameter: "Out" arguments: "augmented" }
        attrs { name: "sub_block" block_idx: 1 }
        attrs { name: "source_var_names" strings: ["jpeg", "label"] }
        attrs { name: "sink_var_names" strings: ["image", "label"] } }
}
blocks {
  idx: 1 parent_idx: 0
  vars { name: "jpeg" type { type: LOD_TENSOR } }
  vars { name: "label" type { type: LOD_TENSOR } }
  vars { name: "pixels" type { type: LOD_TENSOR } }
  vars { name: "cropped" type { type: LOD_TENSOR } }
  vars { name: "flipped" type { type: LOD_TENSOR } }
  vars { name: "normal" type { type: LOD_TENSOR } }
  vars { name: "image"
         type { type: LOD_TENSOR
                lod_tensor { tensor { data_type: FP32 dims: [1, 3, 224, 224] } } } }
  ops { type: "decode_image"
        inputs { parameter: "X" arguments: "jpeg" } outputs { parameter: "Out" arguments: "pixels" }
        attrs { name: "channels" i: 3 } }
  ops { type: "random_resized_crop"
        inputs { parameter: "X" arguments: "pixels" }
        outputs { parameter: "Out" arguments: "cropped" }
        attrs { name: "size" ints: [224, 224] } }
  ops { type: "flip"
        inputs { parameter: "X" arguments: "cropped" }
        outputs { parameter: "Out" arguments: "flipped" }
        attrs { name: "p" f: 0.5 } }
  ops { type: "normalize"
        inputs { parameter: "X" arguments: "flipped" }
        outputs { parameter: "Out" arguments: "normal" }
        attrs { name: "mean" floats: [0.485, 0.456, 0.406] }
        attrs { name: "std" floats: [0.229, 0.224, 0.225] } }
  ops { type: "transpose"
        inputs { parameter: "X" arguments: "normal" } outputs { parameter: "Out" arguments: "image" }
        attrs { name: "axis" ints: [0, 3, 1, 2] } }
}
)";

// The reader outlives the scope that it was made in.
ReaderPtr Augmented(const DataSet& data) {
  Scope scope;
  scope.Var("photos")->GetMutable<ReaderHolder>()->Reset(OpenOne(data));
  Executor().Run(Program::FromString(kProgram, "startup.pbtxt"), ProgramRole::kStartup, &scope);
  return Batched(scope.Find("augmented")->Get<ReaderHolder>().NewHandle(), kBatch);
}

ChainSpec ImageSpec(const DataSet& data, bool one_thread) {
  ChainSpec spec;
  spec.records = data.records;
  spec.one_thread = one_thread;
  spec.make = [data] { return Augmented(data); };
  return spec;
}

void AddImages(const std::string& name, DataSet (*data)(uint64_t records), bool one_thread,
               double target, Workloads* workloads) {
  Workload workload;
  workload.name = name;
  workload.what = "img";
  if (target > 0) AimAtRatio(target, &workload);
  workload.measure = [data, one_thread] {
    ChainSpec spec = ImageSpec(data(kPhotos), one_thread);
    std::shared_ptr<ImageLimit> limit;
    spec.limit = [limit]() mutable {
      if (!limit) limit = std::make_shared<ImageLimit>(kPhotos);
      return limit->SecondsPerRecord();
    };
    return MeasureChain(spec);
  };
  workload.copy = [data, one_thread] { return CopyChain(ImageSpec(data(kPhotos), one_thread)); };
  workloads->push_back(std::move(workload));
}

}  // namespace

void AddImageWorkloads(Workloads* workloads) {
  AddImages("tfr_jpeg_rrc", PhotoExamples, false, 0.75, workloads);
  AddImages("tfr_jpeg_rrc_1_thread", PhotoExamples, true, 0, workloads);
  AddImages("tar_jpeg_rrc", PhotoTar, false, 0.75, workloads);
  AddImages("folder_jpeg_rrc", PhotoFolder, false, 0.75, workloads);
  Workload scaling;
  scaling.name = "scaling_jpeg_rrc";
  scaling.unit = Unit::kFactor;
  AimAtFactor(1.9, &scaling);
  scaling.measure = [] { return MeasureScaling(ImageSpec(PhotoExamples(kPhotos), false)); };
  scaling.copy = [] { return CopyChain(ImageSpec(PhotoExamples(kPhotos), false)); };
  workloads->push_back(std::move(scaling));
}

}  // namespace millhopper
