// SPDX-License-Identifier: Apache-2.0
// Parser plugins in C++: a class that makes a tensor of every line, and one line that offers it to
// Millhopper.
//
//   #include "datafeeder.h"
//
//   class MyFeeder : public DataFeeder {
//     Tensor* parse(const std::string& line) {
//       return new Tensor({1, 1}, std::vector<float>{std::stof(line)});
//     }
//   };
//   MILLHOPPER_DATA_FEEDER(MyFeeder, MILLHOPPER_FP32, {1, 1});
//
//   g++ -O2 -shared -fPIC -I<this folder> my_feeder.cc -o my_feeder.so
//
// This header stands on the C interface, millhopper_parser.h, which also has what is not here:
// records of several tensors, and values of 16 bits.
#ifndef MILLHOPPER_FRAMEWORK_PARSER_DATAFEEDER_H_
#define MILLHOPPER_FRAMEWORK_PARSER_DATAFEEDER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millhopper_parser.h"

namespace millhopper_feeder {

template <typename T>
struct TypeOf;  // there is none for other types of values
// clang-format off
template <> struct TypeOf<int16_t> { static constexpr int32_t kNumber = MILLHOPPER_INT16; };
template <> struct TypeOf<int32_t> { static constexpr int32_t kNumber = MILLHOPPER_INT32; };
template <> struct TypeOf<int64_t> { static constexpr int32_t kNumber = MILLHOPPER_INT64; };
template <> struct TypeOf<float> { static constexpr int32_t kNumber = MILLHOPPER_FP32; };
template <> struct TypeOf<double> { static constexpr int32_t kNumber = MILLHOPPER_FP64; };
template <> struct TypeOf<uint8_t> { static constexpr int32_t kNumber = MILLHOPPER_UINT8; };
template <> struct TypeOf<int8_t> { static constexpr int32_t kNumber = MILLHOPPER_INT8; };
template <> struct TypeOf<uint16_t> { static constexpr int32_t kNumber = MILLHOPPER_UINT16; };
template <> struct TypeOf<uint32_t> { static constexpr int32_t kNumber = MILLHOPPER_UINT32; };
template <> struct TypeOf<uint64_t> { static constexpr int32_t kNumber = MILLHOPPER_UINT64; };
// clang-format on

// Values with dims and, for sequences, levels of detail (millhopper_parser.h).
class Tensor {
 public:
  // Dims begin with the leading axis of one instance: {1, 784} is a row of a batch.
  template <typename T>
  Tensor(std::vector<int64_t> dims, const std::vector<T>& values,
         std::vector<std::vector<uint64_t>> levels = {})
      : dtype_(TypeOf<T>::kNumber), dims_(std::move(dims)), offsets_(std::move(levels)) {
    const char* const bytes = reinterpret_cast<const char*>(values.data());
    bytes_.assign(bytes, bytes + values.size() * sizeof(T));
    for (const std::vector<uint64_t>& level : offsets_) {
      levels_.push_back({level.data(), level.size()});
    }
  }
  Tensor(const Tensor&) = delete;  // levels_ points into the tensor
  Tensor& operator=(const Tensor&) = delete;

  // For the C interface; valid as long as this tensor.
  MillhopperTensor Described() const {
    return {dtype_,        static_cast<uint32_t>(dims_.size()),
            dims_.data(),  bytes_.data(),
            bytes_.size(), levels_.data(),
            levels_.size()};
  }

 private:
  const int32_t dtype_;
  const std::vector<int64_t> dims_;
  std::vector<char> bytes_;
  const std::vector<std::vector<uint64_t>> offsets_;
  std::vector<MillhopperLevel> levels_;
};

// What a parser derives from. It is default-constructible; every thread has its own object.
class DataFeeder {
 public:
  virtual ~DataFeeder() = default;
  // Makes a tensor, with `new`, of one line without its end (or of another record); Millhopper
  // deletes it. An exception, whose text should say what is wrong with the line, refuses the line;
  // so does null.
  virtual Tensor* parse(const std::string& line) = 0;
};

// The slot of a feeder: MILLHOPPER_FP32, {1, -1}, and for sequences their levels of detail.
struct Slot {
  Slot(int32_t type, std::vector<int64_t> lengths, uint32_t levels = 0)
      : dims(std::move(lengths)),
        described{type, levels, static_cast<uint32_t>(dims.size()), dims.data()} {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  const std::vector<int64_t> dims;
  const MillhopperSlot described;
};

// The functions of MillhopperParser for a class of feeders.
template <typename Feeder>
class Functions {
 public:
  static void* Create(char* error, size_t error_size) {
    try {
      return new State;
    } catch (const std::exception& problem) {
      Say(problem.what(), error, error_size);
    } catch (...) {
      Say("the constructor has thrown something that is no std::exception", error, error_size);
    }
    return nullptr;
  }

  static void Destroy(void* state) { delete static_cast<State*>(state); }

  static int32_t Parse(void* state, const char* record, size_t size, MillhopperTensor* tensors,
                       char* error, size_t error_size) {
    auto* const own = static_cast<State*>(state);
    try {
      DataFeeder& feeder = own->feeder;  // `parse` may be private in the class itself
      own->tensor.reset(feeder.parse(std::string(record, size)));
      if (own->tensor != nullptr) {
        tensors[0] = own->tensor->Described();
        return 1;
      }
      Say("parse has returned null", error, error_size);
    } catch (const std::exception& problem) {
      Say(problem.what(), error, error_size);
    } catch (...) {
      Say("parse has thrown something that is no std::exception", error, error_size);
    }
    return -1;
  }

 private:
  struct State {
    Feeder feeder;
    std::unique_ptr<Tensor> tensor;  // of the last record
  };

  static void Say(const char* text, char* error, size_t error_size) {
    std::snprintf(error, error_size, "%s", text);
  }
};

}  // namespace millhopper_feeder

// Users write both names as they are.
using millhopper_feeder::DataFeeder;
using millhopper_feeder::Tensor;

// Offers a class of feeders to Millhopper: MILLHOPPER_DATA_FEEDER(MyFeeder, dtype, {dims}) and, if
// its tensors are sequences, the number of their levels of detail. The semicolon at its beginning
// ends the class if its author has not done so.
#define MILLHOPPER_DATA_FEEDER(Feeder, ...)                                            \
  ;                                                                                    \
  extern "C" const MillhopperParser* millhopper_parser(uint32_t abi_version) {         \
    static const millhopper_feeder::Slot slot{__VA_ARGS__};                            \
    using Functions = millhopper_feeder::Functions<Feeder>;                            \
    static const MillhopperParser parser = {MILLHOPPER_PARSER_ABI, 1,                  \
                                            &slot.described,       &Functions::Create, \
                                            &Functions::Destroy,   &Functions::Parse}; \
    return abi_version == MILLHOPPER_PARSER_ABI ? &parser : nullptr;                   \
  }                                                                                    \
  static_assert(MILLHOPPER_PARSER_ABI == 1u, "datafeeder.h goes with millhopper_parser.h")

#endif  // MILLHOPPER_FRAMEWORK_PARSER_DATAFEEDER_H_
