// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/values.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "python/core/interpreter/borrowed.h"
#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/numpy.h"
#include "python/core/values/arrays.h"
#include "python/core/values/levels.h"
#include "readers/support/utf8.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// Below this size a copy is cheaper than giving an array back to Python.
constexpr size_t kWorthSharing = 16 << 10;
// From this size on, the interpreter is released during the copy.
constexpr size_t kLongCopy = 64 << 10;
// The bytes that one thread copies at a time when idle workers help; enough to be worth waking one.
constexpr size_t kCopiedAtOnce = 256 << 10;

// How many references to an object its caller knows of. For an object in a container that other
// code refers to, the number cannot be known.
using Holders = py::ssize_t;
constexpr Holders kUnknown = -1;

bool OwnsItsValues(const py::array& array) {
  constexpr int kOwnsInOrder = int{py::detail::npy_api::NPY_ARRAY_OWNDATA_} |
                               int{py::array::c_style} |
                               int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
  return (array.flags() & kOwnsInOrder) == kOwnsInOrder;
}

DataType TypeFor(const py::array& array, const SlotSpec* spec) {
  const bool bits = spec != nullptr && spec->known && spec->dtype == DataType::kBf16;
  return bits && array.dtype().equal(Imported().uint16) ? DataType::kBf16 : TypeOf(array.dtype());
}

void SetToArray(py::array array, Holders holders, const SlotSpec* spec, LoDTensor* tensor) {
  if ((array.flags() & py::array::c_style) == 0) {
    array = ArrayOf(array);
    holders = 0;
  }
  const DataType type = TypeFor(array, spec);
  const Dims dims = array.ndim() == 0
                        ? Dims{1}
                        : Dims(std::vector<int64_t>(array.shape(), array.shape() + array.ndim()));
  // array.nbytes() would read numpy 2's descriptors wrongly.
  const size_t bytes = CheckedProduct(static_cast<size_t>(Product(dims)), SizeOf(type));
  void* const values = const_cast<void*>(array.data());
  if (Py_REFCNT(array.ptr()) == holders + 1 && bytes >= kWorthSharing && OwnsItsValues(array)) {
    tensor->Share(Borrow(values, bytes, std::move(array)), type, dims);
    return;
  }
  tensor->Allocate(type, dims);
  if (bytes < kLongCopy) {
    std::memcpy(tensor->mutable_raw_data(), values, bytes);
    return;
  }
  const InterpreterRelease released;
  auto* const to = static_cast<char*>(tensor->mutable_raw_data());
  const auto* const from = static_cast<const char*>(values);
  ParallelFor((bytes + kCopiedAtOnce - 1) / kCopiedAtOnce, [=](size_t part) {
    const size_t begin = part * kCopiedAtOnce;
    std::memcpy(to + begin, from + begin, std::min(kCopiedAtOnce, bytes - begin));
  });
}

// Makes an array of this type of a number or lists of numbers. An integer type must hold the values
// exactly; numpy's own conversion would change them.
py::object ArrayOfNumbers(py::handle value, DataType type) {
  const py::str name(ToString(type));
  if (type == DataType::kFp16 || type == DataType::kFp32 || type == DataType::kFp64) {
    return Imported().asarray(value, name);
  }
  py::object given = Imported().asarray(value);
  const auto kind = given.attr("dtype").attr("kind").cast<std::string>();
  if (kind == "f" && type == DataType::kUint64) {
    // numpy makes floats of lists with integers on both sides of 2^63, which rounds them.
    given = Imported().asarray(value, py::str("object"));
  }
  if (std::string("biuf").find(kind) == std::string::npos) return Imported().asarray(value, name);
  py::object array;
  try {
    array = given.attr("astype")(name, py::arg("copy") = false);
  } catch (const py::error_already_set& error) {
    // For an object that the type does not hold numpy 2 raises one of these; numpy 1 changes it.
    if (!error.matches(PyExc_OverflowError) && !error.matches(PyExc_ValueError)) throw;
  }
  const bool holds =
      array && (array.is(given) || array.attr("__eq__")(given).attr("all")().cast<bool>());
  // Of what is right no text is made: numpy imports modules for one.
  if (!holds) {
    Throw(ErrorCode::kInvalidArgument, ToString(type), " is declared, which does not hold ",
          py::repr(given).cast<std::string>());
  }
  return array;
}

// Whether a value is a str, or a list of such.
bool IsStr(py::handle value) {
  if (!PyList_Check(value.ptr())) return PyUnicode_Check(value.ptr());
  return PyList_GET_SIZE(value.ptr()) > 0 && PyUnicode_Check(PyList_GET_ITEM(value.ptr(), 0));
}

// Whether a value for a slot of texts is a list without any.
bool IsNoText(py::handle value, const SlotSpec* spec) {
  return spec != nullptr && spec->text && PyList_Check(value.ptr()) &&
         PyList_GET_SIZE(value.ptr()) == 0;
}

// Whether a slot may have texts. Numbers are made of those for others.
bool TakesTexts(const SlotSpec* spec) {
  return spec == nullptr || !spec->known ||
         (spec->dtype == DataType::kUint8 && spec->lod_level > 0);
}

void SetToTexts(py::handle value, LoDTensor* tensor) {
  std::string bytes;
  LodLevel ends{0};
  const auto add = [&](py::handle text) {
    Require(PyUnicode_Check(text.ptr()), "a list of str and of ",
            py::str(py::type::of(text).attr("__name__")).cast<std::string>());
    bytes += text.cast<std::string>();
    ends.push_back(bytes.size());
  };
  if (PyUnicode_Check(value.ptr())) {
    add(value);
  } else {
    for (const py::handle text : py::reinterpret_borrow<py::list>(value)) add(text);
  }
  tensor->Allocate(DataType::kUint8, Dims{static_cast<int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(tensor->mutable_raw_data(), bytes.data(), bytes.size());
  tensor->set_lod(Lod{std::move(ends)});
}

void RequireUtf8(const LoDTensor& texts) {
  if (texts.dtype() != DataType::kUint8) return;
  const std::string_view bytes(static_cast<const char*>(texts.raw_data()),
                               static_cast<size_t>(texts.numel()));
  const size_t wrong = FirstNoUtf8(bytes);
  Require(wrong >= bytes.size(), "the first item has a str here, and this has bytes that are no ",
          "UTF-8, from byte ", wrong, " on; slots=... declares slots of bytes");
}

void SetTo(py::handle value, Holders holders, const SlotSpec* spec, LoDTensor* tensor) {
  if (py::isinstance<py::array>(value)) {
    SetToArray(py::reinterpret_borrow<py::array>(value), holders, spec, tensor);
  } else if (py::isinstance<LoDTensor>(value)) {
    *tensor = value.cast<const LoDTensor&>();
    Require(tensor->initialized(), "a tensor without values");
    tensor->set_lod(tensor->lod());  // checks the levels against the values
  } else if (py::isinstance(value, Imported().ragged)) {
    SetToArray(value.attr("values"), kUnknown, spec, tensor);
    tensor->set_lod(LevelsOf(value.attr("offsets"), "offsets"));
    if (spec != nullptr && spec->text) RequireUtf8(*tensor);
  } else if (TakesTexts(spec) && (IsStr(value) || IsNoText(value, spec))) {
    SetToTexts(value, tensor);
  } else {
    const bool typed = spec != nullptr && spec->known && spec->dtype != DataType::kBf16;
    SetToArray(typed ? ArrayOfNumbers(value, spec->dtype) : Imported().asarray(value), 0, spec,
               tensor);
  }
}

// Gives the tensor the axes that are declared, if only those after the first one are others.
void ReshapeTo(const SlotSpec& spec, LoDTensor* tensor) {
  const Dims& dims = tensor->dims();
  if (dims.size() == spec.dims.size() || !tensor->lod().empty() || spec.dims.empty()) return;
  Dims wanted{dims[0]};
  for (size_t axis = 1; axis < spec.dims.size(); ++axis) wanted.push_back(spec.dims[axis]);
  const bool known =
      std::all_of(wanted.begin(), wanted.end(), [](int64_t dim) { return dim >= 0; });
  if (known && Product(wanted) == tensor->numel()) tensor->Reshape(wanted);
}

std::string NameOf(const ElementForm& form, size_t slot) {
  return slot < form.names.size() ? StrCat("slot '", form.names[slot], "'") : StrCat("slot ", slot);
}

// Sets slot `slot` and checks it.
void SetSlot(py::handle value, Holders holders, const ElementForm& form, size_t slot,
             LoDTensor* tensor) {
  const SlotSpec* const spec = slot < form.slots.size() ? &form.slots[slot] : nullptr;
  try {
    SetTo(value, holders, spec, tensor);
  } catch (const Error& error) {
    Throw(error.code(), NameOf(form, slot), ": ", error.message());
  }
  if (spec != nullptr && spec->known) {
    if (form.reshapes) ReshapeTo(*spec, tensor);
    if (spec->lod_level == 1 && tensor->lod().empty())
      tensor->set_lod(Lod{LodLevel{0, tensor->rows()}});
  }
  if (spec == nullptr || Fits(*spec, tensor->dtype(), tensor->dims(), tensor->lod().size())) return;
  Throw(ErrorCode::kInvalidArgument, NameOf(form, slot), ": ", ToString(*spec),
        " is declared, but this is ", Describe(*tensor), " with ", tensor->lod().size(),
        " levels of detail");
}

// The keys as text, for an error.
std::string KeysOf(const py::dict& values) {
  return py::repr(py::list(values)).cast<std::string>();
}

std::vector<LoDTensor> OfDict(const py::dict& values, bool alone, const ElementForm& form) {
  Require(!form.names.empty(), "a dict, but the slots have no names; a tuple or list is wanted");
  std::vector<LoDTensor> element(form.names.size());
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const py::handle value = PyDict_GetItemString(values.ptr(), form.names[slot].c_str());
    if (value.ptr() == nullptr) {
      Throw(ErrorCode::kInvalidArgument, "no value for slot '", form.names[slot], "'; there are ",
            KeysOf(values));
    }
    // Other code may take the value out of the dict meanwhile, so a reference keeps it.
    const py::object kept = alone ? py::object() : py::reinterpret_borrow<py::object>(value);
    SetSlot(value, alone ? 1 : kUnknown, form, slot, &element[slot]);
  }
  if (values.size() != element.size()) {
    Throw(ErrorCode::kInvalidArgument, values.size(), " values for ", element.size(),
          " slots; there are ", KeysOf(values));
  }
  return element;
}

std::vector<LoDTensor> OfSequence(py::object values, bool alone, const ElementForm& form) {
  const auto type = py::str(py::type::of(values).attr("__name__")).cast<std::string>();
  // Other code may change the list meanwhile, so this works on a copy.
  if (!alone) values = py::tuple(values);
  const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(values.ptr()));
  Require(form.slots.empty() || count == form.slots.size(), "a ", type, " of ", count,
          " values for ", form.slots.size(), " slots");
  std::vector<LoDTensor> element(count);
  for (size_t slot = 0; slot < count; ++slot) {
    SetSlot(PySequence_Fast_GET_ITEM(values.ptr(), static_cast<py::ssize_t>(slot)),
            alone ? 1 : kUnknown, form, slot, &element[slot]);
  }
  return element;
}

}  // namespace

std::vector<LoDTensor> ToElement(py::object item, const ElementForm& form) {
  const bool alone = Py_REFCNT(item.ptr()) == 1;
  if (PyDict_Check(item.ptr())) {
    return OfDict(py::reinterpret_borrow<py::dict>(item), alone, form);
  }
  if (PyTuple_Check(item.ptr()) || PyList_Check(item.ptr())) {
    return OfSequence(std::move(item), alone, form);
  }
  Require(form.slots.size() <= 1, "an element of ", form.slots.size(),
          " slots is a tuple or list of as many values, not a ",
          py::str(py::type::of(item).attr("__name__")).cast<std::string>());
  std::vector<LoDTensor> element(1);
  SetSlot(item, 1, form, 0, &element[0]);
  return element;
}

std::vector<bool> AreTexts(const py::object& item, const std::vector<std::string>& names) {
  std::vector<bool> texts;
  const auto add = [&](py::handle value) {
    texts.push_back(value && (py::isinstance(value, Imported().texts) || IsStr(value)));
  };
  if (PyDict_Check(item.ptr()) && !names.empty()) {
    for (const std::string& name : names) add(PyDict_GetItemString(item.ptr(), name.c_str()));
  } else if (PyDict_Check(item.ptr())) {
    for (const auto& entry : py::reinterpret_borrow<py::dict>(item)) add(entry.second);
  } else if (PyTuple_Check(item.ptr()) || PyList_Check(item.ptr())) {
    for (const py::handle value : item) add(value);
  } else {
    add(item);
  }
  return texts;
}

}  // namespace millhopper
