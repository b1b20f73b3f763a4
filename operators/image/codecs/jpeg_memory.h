// SPDX-License-Identifier: Apache-2.0
// The memory that libjpeg works in.
#ifndef MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_MEMORY_H_
#define MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_MEMORY_H_

#include <cstddef>
#include <cstdio>  // jpeglib.h needs it

// In this order.
#include <jpeglib.h>

#include <exception>
#include <vector>

#include "framework/base/ref_counted.h"
#include "framework/memory/buffer.h"

namespace millhopper {

// Takes the place of libjpeg's own memory manager, which calls malloc for each image: blocks come
// from the pool of buffers, count against the limit on memory, and are cut into pieces that are all
// given back at once. Where there is no memory, libjpeg's error handler is called as by its own
// manager, and TakeError returns the reason.
class JpegMemory {
 public:
  JpegMemory() = default;
  JpegMemory(const JpegMemory&) = delete;
  JpegMemory& operator=(const JpegMemory&) = delete;

  // Makes a compressor or decompressor that has just been created use this memory. Until Uninstall,
  // which must precede its destruction, both objects stay where they are.
  void Install(j_common_ptr cinfo);
  void Uninstall(j_common_ptr cinfo);

  // Returns all memory, so that the next image cannot see data of this one, such as tables that it
  // lacks. The compressor or decompressor has come to the end of the image, or aborted it.
  template <typename Codec>
  void Clear(Codec* cinfo) {
    for (JQUANT_TBL*& table : cinfo->quant_tbl_ptrs) table = nullptr;
    for (JHUFF_TBL*& table : cinfo->dc_huff_tbl_ptrs) table = nullptr;
    for (JHUFF_TBL*& table : cinfo->ac_huff_tbl_ptrs) table = nullptr;
    GiveBack();
  }

  // The error of the pool that made libjpeg fail, or null; forgets it.
  std::exception_ptr TakeError();

 private:
  // What libjpeg sees.
  struct Manager : jpeg_memory_mgr {
    JpegMemory* memory = nullptr;
  };
  // An array of blocks of coefficients that libjpeg can ask for row by row. It is all in memory.
  struct CoefficientArray {
    CoefficientArray* next;  // of those that have no rows yet
    JBLOCKARRAY rows;
    JDIMENSION width, height;
  };

  static JpegMemory& Of(j_common_ptr cinfo) { return *static_cast<Manager*>(cinfo->mem)->memory; }
  static void* AllocateOrFail(j_common_ptr cinfo, int pool, size_t bytes);
  static JSAMPARRAY AllocateSamples(j_common_ptr cinfo, int pool, JDIMENSION width,
                                    JDIMENSION height);
  static JBLOCKARRAY AllocateBlocks(j_common_ptr cinfo, int pool, JDIMENSION width,
                                    JDIMENSION height);
  static jvirt_sarray_ptr RequestSamples(j_common_ptr cinfo, int pool, boolean zero,
                                         JDIMENSION width, JDIMENSION height, JDIMENSION most);
  static jvirt_barray_ptr RequestBlocks(j_common_ptr cinfo, int pool, boolean zero,
                                        JDIMENSION width, JDIMENSION height, JDIMENSION most);
  static void MakeRequested(j_common_ptr cinfo);
  static JBLOCKARRAY RowsOf(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION begin,
                            JDIMENSION count, boolean writable);
  // Rows of `bytes` each that lie end to end, as pointers.
  template <typename T>
  static T** AllocateRows(j_common_ptr cinfo, int pool, size_t bytes, JDIMENSION height);

  void* Allocate(size_t bytes);
  void GiveBack();

  Manager manager_ = {};
  jpeg_memory_mgr* own_manager_ = nullptr;  // of libjpeg
  std::vector<Ref<Buffer>> buffers_;
  char* free_ = nullptr;  // in the last buffer
  size_t free_bytes_ = 0;
  CoefficientArray* requested_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_IMAGE_CODECS_JPEG_MEMORY_H_
