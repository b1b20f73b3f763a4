# SPDX-License-Identifier: Apache-2.0
"""How items travel from a child process to its parent: as plain data, so nothing is unpickled.

A value is one tag byte and its content; integers are little-endian:

    N, T, F   None, True, False
    i         an int: u32 length, then that many bytes in two's complement
    d         a float: 8 bytes of IEEE 754
    s, b      a str in UTF-8, bytes: u64 length, then that many bytes
    t, l      a tuple, a list: u64 count, then that many values
    m         a dict: u64 count, then that many pairs of a key and a value
    a         a numpy array: its dtype as a value (`numpy.lib.format.dtype_to_descr`), u8 number of
              axes, u64 length of each, then the elements in C order
    g         a numpy scalar: its dtype as a value, then the element

In a stream each value is preceded by its length as u64. `decode` checks each length and count
against the number of bytes left before it allocates memory of that size.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

__all__ = ["MAX_BYTES", "MAX_DEPTH", "WireError", "decode", "encode", "read", "write"]

MAX_BYTES = 1 << 32
"""The longest encoded value, in bytes."""

MAX_DEPTH = 100
"""How deep tuples, lists and dicts may be nested."""

# Convert a dtype to a str or a list that describes it completely, and back.
_dtype_to_descr: Callable[[np.dtype[Any]], Any] = npy_format.dtype_to_descr
_descr_to_dtype: Callable[[Any], np.dtype[Any]] = npy_format.descr_to_dtype

_MAX_AXES = 32
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_F64 = struct.Struct("<d")


class WireError(ValueError):
    """The bytes are not an encoded value.

    Source: Millhopper's own.
    """


def encode(value: object) -> bytes:
    """Encodes `value`, which consists of the types that this module lists.

    Arrays in Fortran order become C-ordered, memory maps become arrays. Other subclasses of the
    listed types (named tuples, enums, masked arrays) are not accepted.

    Raises TypeError, which names the type, for any other type, and ValueError for a value that
    takes more than `MAX_BYTES` bytes or is nested more than `MAX_DEPTH` deep, for example because
    it contains itself.

    Source: Millhopper's own; dtypes are written as in numpy's format .npy.
    """
    parts: list[bytes] = []
    _encode(value, parts, 0)
    size = sum(map(len, parts))
    if size > MAX_BYTES:
        raise ValueError(f"an item takes {size} bytes, more than {MAX_BYTES}")
    return b"".join(parts)


def decode(data: bytes | bytearray) -> Any:
    """Decodes the value that `data` holds. Arrays are writable and do not share memory with it.

    Raises WireError if `data` is not exactly one encoded value.

    Source: Millhopper's own.
    """
    source = _Source(memoryview(data))
    value = _decode(source, 0)
    if source.remaining:
        raise WireError(f"{source.remaining} bytes follow the value")
    return value


def write(stream: io.RawIOBase, data: bytes) -> None:
    """Writes an encoded value and its length to an unbuffered stream.

    Raises OSError or ValueError if the stream cannot be written to.

    Source: Millhopper's own.
    """
    rest = memoryview(_U64.pack(len(data)) + data)
    while rest:
        rest = rest[stream.write(rest) or 0 :]


def read(stream: io.RawIOBase) -> bytearray:
    """Reads an encoded value from an unbuffered stream.

    Raises EOFError if the stream ends before the end of the value, and WireError if the value is
    longer than `MAX_BYTES`.

    Source: Millhopper's own.
    """
    (length,) = _U64.unpack(_read_exactly(stream, _U64.size))
    if length > MAX_BYTES:
        raise WireError(f"a value of {length} bytes is announced, more than {MAX_BYTES}")
    return _read_exactly(stream, length)


def _read_exactly(stream: io.RawIOBase, size: int) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = stream.readinto(rest)
        if not count:
            raise EOFError(f"the stream ends {len(rest)} bytes before the end of a value")
        rest = rest[count:]
    return data


def _encode(value: object, parts: list[bytes], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"an item is nested more than {MAX_DEPTH} deep")
    if value is None:
        parts.append(b"N")
    elif value is True:
        parts.append(b"T")
    elif value is False:
        parts.append(b"F")
    elif isinstance(value, np.generic):  # first, as some derive from float, str or bytes
        # An empty numpy.str_ has an itemsize of 0, but numpy gives it the bytes of one character.
        element = value.tobytes()[: value.dtype.itemsize]
        parts += (b"g", _encoded_dtype(value.dtype), element)
    elif type(value) in (np.ndarray, np.memmap):
        _encode_array(value, parts)  # type: ignore[arg-type]  # mypy does not narrow the type
    elif type(value) is int:
        digits = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        parts += (b"i", _U32.pack(len(digits)), digits)
    elif type(value) is float:
        parts += (b"d", _F64.pack(value))
    elif type(value) is str:
        text = value.encode("utf-8", "surrogatepass")
        parts += (b"s", _U64.pack(len(text)), text)
    elif type(value) is bytes:
        parts += (b"b", _U64.pack(len(value)), value)
    elif type(value) is tuple or type(value) is list:
        parts += (b"t" if type(value) is tuple else b"l", _U64.pack(len(value)))
        for element in value:
            _encode(element, parts, depth + 1)
    elif type(value) is dict:
        parts += (b"m", _U64.pack(len(value)))
        for key, element in value.items():
            _encode(key, parts, depth + 1)
            _encode(element, parts, depth + 1)
    else:
        kind = type(value)
        raise TypeError(
            f"an item holds {kind.__module__}.{kind.__qualname__}: only None, bool, int, float, "
            "str, bytes, tuple, list, dict, numpy arrays and numpy scalars pass between processes"
        )


def _encode_array(array: npt.NDArray[Any], parts: list[bytes]) -> None:
    shape = struct.pack(f"<B{array.ndim}Q", array.ndim, *array.shape)
    parts += (b"a", _encoded_dtype(array.dtype), shape, array.tobytes())


def _encoded_dtype(dtype: np.dtype[Any]) -> bytes:
    # numpy describes dtypes of other libraries as raw bytes, so their meaning would be lost.
    if dtype.hasobject or _descr_to_dtype(_dtype_to_descr(dtype)) != dtype:
        raise TypeError(f"an item holds numpy data of dtype {dtype}, which is not plain data")
    return encode(_dtype_to_descr(dtype))


class _Source:
    """Bytes that the decoder takes from the front."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    @property
    def remaining(self) -> int:
        return len(self._data)

    def take(self, size: int) -> memoryview:
        if size > len(self._data):
            raise WireError(f"{size} bytes are announced where {len(self._data)} are left")
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def u64(self) -> int:
        (value,) = _U64.unpack(self.take(_U64.size))
        return int(value)

    def count(self, bytes_each: int) -> int:
        """Takes a count of values, each of which has at least `bytes_each` bytes."""
        count = self.u64()
        if count > self.remaining // bytes_each:
            raise WireError(f"{count} values are announced where {self.remaining} bytes are left")
        return count


def _decode(source: _Source, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise WireError(f"values are nested more than {MAX_DEPTH} deep")
    tag = bytes(source.take(1))
    decoder = _DECODERS.get(tag)
    if decoder is None:
        raise WireError(f"{tag!r} is not the tag of any type")
    return decoder(source, depth)


def _decode_int(source: _Source, depth: int) -> int:
    (size,) = _U32.unpack(source.take(_U32.size))
    return int.from_bytes(source.take(size), "little", signed=True)


def _decode_float(source: _Source, depth: int) -> float:
    (value,) = _F64.unpack(source.take(_F64.size))
    return float(value)


def _decode_str(source: _Source, depth: int) -> str:
    try:
        return str(source.take(source.u64()), "utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise WireError(f"a str is not UTF-8: {error}") from error


def _decode_bytes(source: _Source, depth: int) -> bytes:
    return bytes(source.take(source.u64()))


def _decode_list(source: _Source, depth: int) -> list[Any]:
    return [_decode(source, depth + 1) for _ in range(source.count(1))]


def _decode_tuple(source: _Source, depth: int) -> tuple[Any, ...]:
    return tuple(_decode_list(source, depth))


def _decode_dict(source: _Source, depth: int) -> dict[Any, Any]:
    items: dict[Any, Any] = {}
    for _ in range(source.count(2)):
        key = _decode(source, depth + 1)
        try:
            items[key] = _decode(source, depth + 1)
        except TypeError as error:
            raise WireError(f"a key of a dict is a {type(key).__name__}") from error
    return items


def _decode_dtype(source: _Source, depth: int) -> np.dtype[Any]:
    descr = _decode(source, depth + 1)
    try:
        dtype = _descr_to_dtype(descr)
        same = _dtype_to_descr(dtype) == descr
    except Exception as error:  # numpy's parser may raise exceptions of any type
        raise WireError(f"{descr!r} does not describe a dtype") from error
    if dtype.hasobject or not same:
        raise WireError(f"{descr!r} does not describe a dtype of plain data")
    return dtype


def _decode_array(source: _Source, depth: int) -> npt.NDArray[Any]:
    dtype = _decode_dtype(source, depth)
    axes = source.take(1)[0]
    if axes > _MAX_AXES:
        raise WireError(f"an array has {axes} axes, more than {_MAX_AXES}")
    shape = [source.u64() for _ in range(axes)]
    elements = source.take(math.prod(shape) * dtype.itemsize)
    try:
        return np.ndarray(shape, dtype, bytearray(elements))
    except (ValueError, OverflowError) as error:  # huge axes beside one of length 0
        raise WireError(f"an array cannot have the shape {shape}") from error


def _decode_scalar(source: _Source, depth: int) -> Any:
    dtype = _decode_dtype(source, depth)
    return np.ndarray((), dtype, bytes(source.take(dtype.itemsize)))[()]


_DECODERS: dict[bytes, Callable[[_Source, int], Any]] = {
    b"N": lambda source, depth: None,
    b"T": lambda source, depth: True,
    b"F": lambda source, depth: False,
    b"i": _decode_int,
    b"d": _decode_float,
    b"s": _decode_str,
    b"b": _decode_bytes,
    b"t": _decode_tuple,
    b"l": _decode_list,
    b"m": _decode_dict,
    b"a": _decode_array,
    b"g": _decode_scalar,
}
