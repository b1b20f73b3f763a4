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
_TENSORS = "torch() yields torch's tensors, jax() JAX's arrays, and a loop numpy's"
_SAMPLES = "Reader.from_dataset(source) reads what has __len__ and __getitem__"
_ARRAYS = 'Reader.from_arrays({"x": array, ...}) reads arrays by their rows'
_AHEAD = "double_buffer() works ahead"
_BATCH = "batch(batch_size) makes batches"
_UNBATCH = "unbatch() makes elements of batches"
_FLAT = "map(function).unbatch() yields the rows of what a function returns, one by one"
_BATCH_CALLS = "batch(batch_size).map(function) calls it with batches"
_CONCAT = "first.concat(second) yields one reader after another"
_MIX = "first.mix(second, weights=[...]) draws by weight"
_RESAMPLE = 'balance("label") yields equally many of each class; resample(weights) by weights'
_TURNS = "mix(others) takes elements by turns; open_files does so with its files"
_PADDED = "padded_batch(batch_size) pads to the longest"
_BUCKET = "bucket(boundaries, batch_sizes) makes batches of similar lengths"
_CACHE = (
    "cache(memory_bytes) keeps a pass in memory, cache(directory=..., disk_bytes=...) on a disk"
)
_PARTS = "train, validation = reader.split([0.9, 0.1]) divides elements by a hash of their records"
_SELECT = 'select("slot", ...) keeps those that it names'
_RENAME = "names=[...] or a dict of fields names slots where the reader is made"
_CAST = 'cast("float32", slot="slot") gives a slot another dtype; fields say it for files'
_COUNT = "len(reader) is the number of elements of a pass, where files tell"
_SLOTS = "slots has dtypes and dims, and a batch is a dict by name"
_THREADS = "millhopper.set_threads(n) says how many threads load"
_BAD = (
    "missing=skip of a field leaves records without a value out, decode_image(partial=True) takes "
    "what can be read of an image; all else that is wrong is an error, which names its record"
)
_SHARD = "shard() gives each process its part, as torchrun, Slurm, Open MPI or JAX count them"
_WINDOW = (
    "shuffle(n) has a window of n elements; open_files(shuffle_chunks=True) mixes the files, too"
)
_MAP = "map(function) calls it; millhopper.current_record() tells pass and sample"
_DECODE = 'decode_image("slot") decodes images'
_SAVE = (
    'write("rows-{shard:05}.tfrecord", shard_size="256MB") writes files of many formats, and '
    "cache(directory=...) keeps a pass"
)
_REDUCE = "a loop over the reader reduces it, and stats() counts"
_SORT = "streams are not sorted: polars, DuckDB or pyarrow sort what from_arrow(table) reads"
_DROP = 'open_files(exclude=["column"]) leaves columns out, select("slot", ...) slots'
_NORMALIZE = "normalize(mean, std), random_horizontal_flip() and crop(size) are steps"
_STEP = "take(n) ends a pass after n elements"
_EPOCH = "set_epoch(n) says which pass is next"
_LOOP = "a reader is iterated over as it is"
_FILTER = "filter('label >= 3') or filter(function) leaves elements out"
_WHERE = 'open_files("data/**/*.tar") finds files by patterns and ranges {000..127}'

# What libraries call things that have another name here, by library.
LIBRARIES: dict[str, dict[str, str]] = {
    "tf.data": {
        "as_numpy_iterator": _BATCHES,
        "bucket_by_sequence_length": _BUCKET,
        "cardinality": _COUNT,
        "choose_from_datasets": _MIX,
        "concatenate": _CONCAT,
        "dense_to_ragged_batch": _BATCH,
        "element_spec": _SLOTS,
        "enumerate": "enumerate(reader) counts",
        "flat_map": _FLAT,
        "from_generator": "Reader.from_iterable(function) reads what a generator function yields",
        "from_tensor_slices": _ARRAYS,
        "from_tensors": _ARRAYS,
        "get_single_element": "next(iter(reader)) is the first",
        "group_by_window": _BUCKET,
        "ignore_errors": _BAD,
        "interleave": _TURNS,
        "list_files": _WHERE,
        "make_csv_dataset": _FILES,
        "options": _THREADS,
        "padded": _PADDED,
        "parallel_interleave": _TURNS,
        "prefetch": _AHEAD,
        "prefetch_to_device": 'layers.double_buffer(reader, place="cuda:0") copies batches there',
        "ragged_batch": _BATCH,
        "random": "layers.random_data_generator makes random numbers",
        "range": "Reader.from_dataset(range(n)) counts",
        "rebatch": "unbatch().batch(batch_size) makes other batches",
        "reduce": _REDUCE,
        "rejection_resample": _RESAMPLE,
        "sample_from_datasets": _MIX,
        "save": _SAVE,
        "scan": _MAP,
        "snapshot": _CACHE,
        "sparse_batch": _BATCH,
        "take_while": _FILTER,
        "tensorflow": _BATCHES,
        "tf": _BATCHES,
        "unique": "dedupe() leaves out what came before",
        "with_options": _THREADS,
    },
    "torch and torchdata": {
        "collate": _BATCH,
        "collate_fn": "millhopper.DataLoader takes it, and batch(batch_size).map(function)",
        "cycle": "repeat(n) reads n passes as one; each loop is the next pass",
        "dataset": _SAMPLES,
        "flatmap": _FLAT,
        "in_memory_cache": _CACHE,
        "loader": "millhopper.DataLoader(reader, batch_size=64) takes the place of torch's",
        "max_token_bucketize": "token_batch(tokens) makes batches of as many tokens",
        "mux": _TURNS,
        "num_workers": _THREADS,
        "on_disk_cache": _CACHE,
        "pin_memory": "millhopper.DataLoader(reader, pin_memory=True) pins them",
        "random_split": _PARTS,
        "sample_multiplexer": _MIX,
        "sampler": "millhopper.DataLoader(dataset, sampler=sampler) takes it, and sampled(sampler)",
        "sharding_filter": _SHARD,
        "to": "jax(device=...) yields arrays on a device; the tensors of torch() have to()",
        "to_device": "jax(device=...) yields arrays on a device; the tensors of torch() have to()",
        "to_map_datapipe": _LOOP,
    },
    "Hugging Face datasets": {
        "cast_column": _CAST,
        "class_encode_column": 'lookup(words, slot="slot") numbers words',
        "column_names": _SLOTS,
        "concatenate_datasets": _CONCAT,
        "features": _SLOTS,
        "from_csv": _FILES,
        "from_dict": _ARRAYS,
        "from_json": _FILES,
        "from_list": "Reader.from_dataset(list) reads it",
        "from_pandas": _FRAMES,
        "from_parquet": _FILES,
        "from_polars": _FRAMES,
        "from_text": _FILES,
        "interleave_datasets": _MIX,
        "iter": _BATCH,
        "load_dataset": _FILES,
        "load_from_disk": 'Reader.open_files("folder/*.arrow") reads its files',
        "num_rows": _COUNT,
        "remove_columns": _SELECT,
        "rename_column": _RENAME,
        "rename_columns": _RENAME,
        "save_to_disk": _SAVE,
        "select_columns": _SELECT,
        "set_format": _TENSORS,
        "set_transform": _MAP,
        "sort": _SORT,
        "split_dataset_by_node": _SHARD,
        "to_csv": _SAVE,
        "to_iterable_dataset": _LOOP,
        "to_json": _SAVE,
        "to_parquet": _SAVE,
        "to_tf_dataset": _BATCHES,
        "train_test_split": _PARTS,
        "with_format": _TENSORS,
        "with_transform": _MAP,
    },
    "webdataset": {
        "batched": _BATCH,
        "decode": _DECODE,
        "detshuffle": _WINDOW,
        "extract_keys": _SELECT,
        "listed": _BATCH,
        "map_dict": _MAP,
        "map_tuple": _MAP,
        "rename": _RENAME,
        "rename_keys": _RENAME,
        "rsample": _MIX,
        "slice": "skip(count).take(count) is a part",
        "split_by_node": _SHARD,
        "split_by_worker": _THREADS,
        "to_dict": _LOOP,
        "to_tuple": 'select("slot", ...) keeps those that it names, in that order',
        "unbatched": _UNBATCH,
        "unlisted": _UNBATCH,
        "with_epoch": _STEP,
        "with_length": _COUNT,
        "xdecode": _DECODE,
    },
    "Grain": {
        "filter_fn": _FILTER,
        "from_source": _SAMPLES,
        "map_with_index": _MAP,
        "mp_prefetch": _AHEAD,
        "random_map": _MAP,
        "seed": "shuffle(n, seed=...) has a seed, and so has the source, such as "
        "open_files(seed=...)",
        "source": _SAMPLES,
        "to_iter_dataset": _LOOP,
        "window_shuffle": _WINDOW,
    },
    "DALI": {
        "build": _LOOP,
        "crop_mirror_normalize": _NORMALIZE,
        "epoch_size": _COUNT,
        "external_source": _SAMPLES,
        "feed_input": "millhopper.Executor takes feed={...} for what layers.data declares",
        "random_shuffle": _WINDOW,
        "run": _LOOP,
        "set_outputs": _SELECT,
    },
    "MosaicML streaming, FFCV, SPDL": {
        "add_sink": _AHEAD,
        "add_source": _SAMPLES,
        "aggregate": _BATCH,
        "disaggregate": _UNBATCH,
        "pipe": _MAP,
    },
    "Ray Data": {
        "add_column": _MAP,
        "drop_columns": _DROP,
        "from_huggingface": "Reader.from_dataset(dataset) reads one, from_iterable a stream",
        "from_items": "Reader.from_dataset(list) reads it",
        "from_numpy": _ARRAYS,
        "iter_batches": _BATCH,
        "iter_rows": _LOOP,
        "iter_torch_batches": "batch(batch_size).torch() yields torch's tensors",
        "limit": _STEP,
        "map_batches": _BATCH_CALLS,
        "materialize": _CACHE,
        "random_sample": _FILTER,
        "randomize_block_order": "open_files(shuffle_chunks=True) reads chunks in a random order",
        "repartition": "lanes(n) deals the records of any source, open_files(lanes=n) files",
        "schema": _SLOTS,
        "streaming_split": _SHARD,
        "take_batch": "next(iter(reader.batch(n))) is the first batch",
        "union": _CONCAT,
        "write_csv": _SAVE,
        "write_json": _SAVE,
        "write_numpy": _SAVE,
        "write_parquet": _SAVE,
        "write_tfrecords": _SAVE,
        "write_webdataset": _SAVE,
    },
    "pandas and polars": {
        "astype": _CAST,
        "columns": _SLOTS,
        "describe": "statistics() has those of numbers; peek --all FILE shows those of each slot",
        "drop": _DROP,
        "drop_duplicates": "dedupe() leaves out what came before",
        "drop_nulls": _BAD,
        "dropna": _BAD,
        "fillna": "default=0 of a field is the value of records that have none",
        "from_dataframe": _FRAMES,
        "from_files": _FILES,
        "head": "take(count) ends after the first ones",
        "query": _FILTER,
        "read_csv": _FILES,
        "read_json": _FILES,
        "read_parquet": _FILES,
        "sample": "shuffle(n).take(count) takes some at random",
        "scan_csv": _FILES,
        "scan_parquet": _FILES,
        "sink_csv": _SAVE,
        "sink_ndjson": _SAVE,
        "sink_parquet": _SAVE,
        "sort_values": _SORT,
        "to_numpy": "a loop over the reader yields numpy arrays",
        "to_pandas": "pandas.DataFrame(batch) takes a batch whose slots have one axis",
        "with_columns": _MAP,
    },
}

_NAMES = {name: hint for names in LIBRARIES.values() for name, hint in names.items()}


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
