# SPDX-License-Identifier: Apache-2.0
"""What to type instead of the names that other libraries have for what Reader does."""

from __future__ import annotations

import abc
import difflib
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])

_FRAMES = (
    "Reader.from_arrow(frame) reads what pandas, polars and DuckDB hold, and "
    "Reader.from_arrays(dict(frame)) a pandas.DataFrame without pyarrow"
)
_FILES = 'Reader.open_files("x.csv", fields={...}) reads files of all formats'
_BATCHES = "a loop over the reader yields numpy arrays, which tf.convert_to_tensor takes"

# What tf.data, Grain, torch and webdataset call things that have another name here.
_NAMES = {
    "as_numpy_iterator": _BATCHES,
    "batched": "batch(batch_size) makes batches",
    "concatenate": "first.concat(second) yields one reader after another",
    "decode": 'decode_image("slot") decodes images',
    "enumerate": "enumerate(reader) counts",
    "filter_fn": "filter(function) leaves elements out",
    "from_csv": _FILES,
    "from_dataframe": _FRAMES,
    "from_files": _FILES,
    "from_generator": "io.PyReader and layers.py_reader take what a generator yields; "
    "Reader.from_dataset reads what has __len__ and __getitem__",
    "from_json": _FILES,
    "from_list": "Reader.from_dataset(list) reads it",
    "from_pandas": _FRAMES,
    "from_parquet": _FILES,
    "from_polars": _FRAMES,
    "from_source": "Reader.from_dataset(source) reads what has __len__ and __getitem__",
    "from_tensor_slices": 'Reader.from_arrays({"x": array, ...}) reads arrays by their rows',
    "head": "take(count) ends after the first ones",
    "interleave": "mix(others) takes elements by turns; open_files does so with its files",
    "iter_batches": "batch(batch_size) makes batches",
    "map_batches": "batch(batch_size).map(function) calls it with batches",
    "mp_prefetch": "double_buffer() works ahead",
    "padded": "padded_batch(batch_size) pads to the longest",
    "prefetch": "double_buffer() works ahead",
    "random_map": "map(function) calls it; millhopper.current_record() tells pass and sample",
    "read_csv": _FILES,
    "read_json": _FILES,
    "read_parquet": _FILES,
    "remove_columns": 'select("slot", ...) keeps those that it names',
    "rename": "names=[...] or a dict of fields names slots where the reader is made",
    "seed": "shuffle(n, seed=...) has a seed, and so has the source, such as open_files(seed=...)",
    "sample_from_datasets": "first.mix(second, weights=[...]) draws by weight",
    "select_columns": 'select("slot", ...) keeps those that it names',
    "slice": "skip(count).take(count) is a part",
    "source": "Reader.from_dataset(source) reads what has __len__ and __getitem__",
    "tensorflow": _BATCHES,
    "tf": _BATCHES,
    "to": "jax(device=...) yields arrays on a device; the tensors of torch() have to()",
    "to_iter_dataset": "a reader is iterated over as it is",
    "to_tuple": 'select("slot", ...) keeps those that it names, in that order',
    "with_epoch": "take(n) ends a pass after n elements",
}


def _hint(name: str, known: list[str]) -> str:
    if name in _NAMES:
        return f"; {_NAMES[name]}"
    if name[0] == "_":
        return ""
    near = difflib.get_close_matches(name, [word for word in known if word[0] != "_"], 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _error(text: str) -> AttributeError:
    error = AttributeError(text)
    # Python 3.10 and later append a guess of their own to an error that has the name.
    error.name = None  # type: ignore[assignment]  # novm
    return error


class OtherNames(abc.ABCMeta):
    """The type of a class that tells what it calls a thing that it is asked for by another name."""

    if not TYPE_CHECKING:  # checkers of types know the names that there are

        def __getattr__(cls, name: str) -> NoReturn:
            raise _error(f"{cls.__name__} has no attribute {name!r}{_hint(name, dir(cls))}")


def no_attribute(owner: object, name: str) -> AttributeError:
    """The error that an object has no such attribute, saying what to type if that is known."""
    called = type(owner).__name__
    return _error(f"{called!r} object has no attribute {name!r}{_hint(name, dir(owner))}")


def other_keywords(**meant: str) -> Callable[[_Method], _Method]:
    """Decorates a method: a keyword of another library is an error that says what to write.

    Args:
        meant: what is written here, by the keyword.
    """

    def decorate(method: _Method) -> _Method:
        @functools.wraps(method)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for keyword in kwargs.keys() & meant.keys():
                raise TypeError(f"{method.__name__}() has no keyword {keyword}; {meant[keyword]}")
            return method(*args, **kwargs)

        return cast(_Method, checked)

    return decorate
