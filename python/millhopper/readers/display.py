# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of batches: slots and shapes, and pictures of what looks like images."""

from __future__ import annotations

import base64
import codecs
import html
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millhopper.base.zipped import zip_strict
from millhopper.ragged import Ragged, Texts

_PICTURES = 12  # of a slot, at most
_TEXTS = 3  # the same
_TEXT_BYTES = 100  # of a text, at most
_SMALLEST, _LARGEST = 4, 1024  # pixels of a side that an image has
_MARGIN = 2


class Shown:
    """A batch for the eyes: ``repr`` and the view of a notebook tell slots, dtypes and shapes.

    Source: Millhopper's own.
    """

    def __init__(self, batch: Mapping[str, Any]) -> None:
        self._batch = batch

    def __repr__(self) -> str:
        width = max(map(len, self._batch), default=0)
        return "\n".join(f"{name:{width}}  {_kind(value)}" for name, value in self._batch.items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(_kind(value))}</td>"
            f"<td>{_picture_html(value) or _texts_html(value)}</td></tr>"
            for name, value in self._batch.items()
        )
        return f"<table><tr><th>slot</th><th>values</th><th></th></tr>{rows}</table>"


def show(batch: Mapping[str, Any]) -> Shown:
    """A batch for the eyes; put it at the end of a notebook's cell, or print it.

    ::

        millhopper.show(next(iter(reader)))

    Batches are plain dicts, which jax, torch and others look into. So a notebook shows all of their
    values by itself; after ``%load_ext millhopper`` it shows every dict of arrays as this does.

    Raises:
        TypeError: ``batch`` is no dict, or a name in it is no text.

    Source: Millhopper's own.
    """
    if not isinstance(batch, Mapping):
        raise TypeError(f"show takes a batch, which is a dict by slot name, not {batch!r}")
    for name in batch:
        if not isinstance(name, str):
            raise TypeError(f"show takes a batch; {name!r} is no name of a slot, which is a text")
    return Shown(batch)


def batch_html(value: dict[Any, Any]) -> str | None:
    """The view of a dict whose values are arrays, for IPython; None for any other dict."""
    is_batch = value and all(isinstance(name, str) for name in value)
    if not is_batch or not all(isinstance(part, (np.ndarray, Ragged)) for part in value.values()):
        return None
    return Shown(value)._repr_html_()


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext millhopper``: notebooks show every dict of arrays as ``show`` does.

    Raises nothing.

    Source: Millhopper's own.
    """
    ipython.display_formatter.formatters["text/html"].for_type(dict, batch_html)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext millhopper``: notebooks show dicts as before.

    Raises nothing.

    Source: Millhopper's own.
    """
    ipython.display_formatter.formatters["text/html"].pop(dict, None)


def slots_html(title: str, names: list[str], slots: list[Any]) -> str:
    """A table of slots, as ``Reader.slots`` gives them."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(_slot_text(slot))}</td></tr>"
        for name, slot in zip_strict(names, slots)
    )
    head = "<tr><th>slot</th><th>of an element</th></tr>"
    return f"<b>{html.escape(title)}</b><table>{head}{rows}</table>"


def _slot_text(slot: tuple[str, list[int], int] | None) -> str:
    if slot is None:
        return "as its file says"
    dtype, dims, levels = slot
    shape = ", ".join("any" if dim < 0 else str(dim) for dim in dims)
    return f"{dtype} [{shape}]" + (f", {levels} level(s) of offsets" if levels else "")


def _kind(value: Any) -> str:
    if isinstance(value, Texts):
        return f"{len(value)} texts" if len(value.offsets) == 1 else f"{len(value)} lists of texts"
    if isinstance(value, Ragged):
        return f"{len(value)} sequences of {value.values.dtype} {list(value.values.shape[1:])}"
    dtype = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    return f"{dtype} {list(value.shape)}" if hasattr(value, "shape") else dtype


def _picture_html(value: Any) -> str:
    images = _images(value)
    if images is None:
        return ""
    image = base64.b64encode(png(_sheet(images))).decode()
    return f'<img src="data:image/png;base64,{image}">'


def _texts_html(value: Any) -> str:
    """The beginnings of the first texts of a slot; nothing if it has no texts."""
    if not isinstance(value, Ragged) or len(value.offsets) != 1:
        return ""
    if value.values.dtype != np.uint8 or value.values.ndim != 1:
        return ""
    texts = []
    offsets = value.offsets[0][: _TEXTS + 1].tolist()
    for begin, end in zip(offsets, offsets[1:]):
        part = value.values[begin : min(end, begin + _TEXT_BYTES)].tobytes()
        try:  # a character may be cut off
            text = codecs.getincrementaldecoder("utf-8")().decode(part, end - begin <= len(part))
        except UnicodeDecodeError:
            return ""
        if not all(character.isprintable() or character in "\t\r\n" for character in text):
            return ""
        texts.append(html.escape(text) + (" ..." if end - begin > len(part) else ""))
    return "<br>".join(texts)


def _images(value: Any) -> npt.NDArray[np.uint8] | None:
    """The first images of an array, uint8 [images, height, width, 1 or 3]; None if it has none."""
    if isinstance(value, Ragged) or getattr(value, "ndim", 0) not in (3, 4):
        return None
    array = _on_host(value[:_PICTURES])
    if array.dtype != np.uint8 and array.dtype.kind != "f":
        return None
    if array.ndim == 3:
        array = array[..., np.newaxis]
    elif array.ndim == 4 and array.shape[-1] not in (1, 3) and array.shape[1] in (1, 3):
        array = array.transpose(0, 2, 3, 1)
    sides = array.shape[1:3] if array.ndim == 4 and array.shape[-1] in (1, 3) else (0, 0)
    if not len(array) or not all(_SMALLEST <= side <= _LARGEST for side in sides):
        return None
    if array.dtype.kind == "f":
        low, high = float(np.nanmin(array)), float(np.nanmax(array))
        if not np.isfinite(high - low):
            return None
        array = (array.astype(np.float32) - low) * (255 / max(high - low, 1e-20))
    return np.nan_to_num(array).astype(np.uint8)


def _on_host(value: Any) -> npt.NDArray[Any]:
    """An array of any library as one of numpy, which has no bfloat16: it is float32 there."""
    if hasattr(value, "detach"):  # of torch: it may need gradients, or be on a GPU
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _sheet(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Images side by side, with white between them."""
    padded = np.pad(images, ((0, 0), (0, 0), (0, _MARGIN), (0, 0)), constant_values=255)
    return np.concatenate(list(padded), axis=1)


def png(image: npt.NDArray[np.uint8]) -> bytes:
    """An image uint8 [height, width, 1 or 3] as a PNG file.

    Source: the PNG specification, third edition.
    """
    height, width, channels = image.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    rows = image.reshape(height, width * channels)
    lines = np.pad(rows, ((0, 0), (1, 0))).tobytes()  # a zero before each row: it is not filtered
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + content
