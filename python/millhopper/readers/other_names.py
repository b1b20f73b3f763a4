# SPDX-License-Identifier: Apache-2.0
"""What to type instead of the names that other libraries have for what Reader does."""

from __future__ import annotations

import abc
import difflib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from millhopper.programs.schemas import find_schema

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
_TUPLES = 'to_tuple("image", "label") yields tuples of slots in place of dicts'
_SELECT = 'select("slot", ...) keeps those that it names'
_RENAME = (
    "names=[...] or a dict of fields names slots where the reader is made; later "
    'apply("assign", "old", "new") copies one, and select("new", ...) keeps that'
)
_CAST = 'cast("float32", slot="slot") gives a slot another dtype; fields say it for files'
_COUNT = "len(reader) is the number of elements of a pass, where files tell"
_SLOTS = "slots has dtypes and dims, and a batch is a dict by name"
_THREADS = "millhopper.set_threads(n) says how many threads load"
_NULLS = "missing=skip of a field leaves out records without a value"
_BAD = (
    "ignore_errors() after it leaves out images that cannot be decoded and rows that do not fit "
    "their fields"
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
_FOLDER = 'Reader.open_files("image_folder:photos") reads a folder with a folder for each class'
_PASSES = "each loop over a reader is its next pass; repeat(n) reads n passes as one"
_STATE = "state_dict() is where a loop stands, and load_state_dict(state) goes on from there"
_SIZE = "peek --all FILE shows how large what is read is, stats() what a loop has read"
_GROUPS = (
    "bucket(boundaries, batch_sizes) puts what is of like length together; streams are not grouped"
)
_JOIN = (
    "zip(others) puts readers side by side; polars, DuckDB or pyarrow join what from_arrow reads"
)
_WINDOWS = "window(size, shift=...) makes sliding windows of elements"
_PACK = "pack(length) makes rows of whole documents"
_LOADER = "millhopper.DataLoader(reader, batch_size=64) takes the place of torch's"
_RAY = "Reader.from_iterable(lambda: dataset.iter_batches(), batched=True) reads Ray's"
_NO_HUB = "write(...) makes files, which huggingface_hub and the like upload"
_EVEN = 'shard(even="pad") or "drop" has all processes end at one step'
_STATISTICS = "statistics() has those of numbers; peek --all FILE shows those of each slot"
_SEED = "shuffle(n, seed=...) has a seed, and so has the source, such as open_files(seed=...)"
_BUILD = (
    "a program is built by methods of Reader; print(reader) shows it, reader.to_text() is its text"
)

_PATHS = 'Reader.open_files("image_list:paths.txt") reads files that a list names, with labels'
_WEIGHTS = (
    'balance("label") draws equally many of each class; counts of a pass, with numpy.bincount of '
    "its labels, are what weights of a loss are made of"
)

# What libraries call things that have another name here, by library.
LIBRARIES: dict[str, dict[str, str]] = {
    "tf.data": {
        "as_numpy_iterator": _BATCHES,
        "as_supervised": _TUPLES,
        "assert_cardinality": _COUNT,
        "AUTOTUNE": _THREADS,
        "bucket_by_sequence_length": _BUCKET,
        "cardinality": _COUNT,
        "choose_from_datasets": _MIX,
        "class_weight": _WEIGHTS,
        "concatenate": _CONCAT,
        "copy_to_device": 'layers.double_buffer(reader, place="cuda:0") copies batches there',
        "counter": "Reader.from_dataset(range(n)) counts",
        "CsvDataset": _FILES,
        "decode_jpeg": _DECODE,
        "dense_to_ragged_batch": _BATCH,
        "element_spec": _SLOTS,
        "enumerate": "enumerate(reader) counts",
        "enumerate_dataset": "enumerate(reader) counts",
        "FixedLengthRecordDataset": _FILES,
        "flat_map": _FLAT,
        "from_generator": "Reader.from_iterable(function) reads what a generator function yields",
        "from_tensor_slices": _ARRAYS,
        "from_tensors": _ARRAYS,
        "get_next": _LOOP,
        "get_single_element": "next(iter(reader)) is the first",
        "group_by_window": _BUCKET,
        "image_dataset_from_directory": _FOLDER,
        "interleave": _TURNS,
        "list_files": _WHERE,
        "load": _FILES,
        "make_batched_features_dataset": _FILES,
        "make_csv_dataset": _FILES,
        "make_initializable_iterator": _LOOP,
        "make_one_shot_iterator": _LOOP,
        "map_and_batch": "map(function).batch(batch_size) does both",
        "num_parallel_calls": _THREADS,
        "options": _THREADS,
        "output_shapes": _SLOTS,
        "output_types": _SLOTS,
        "padded": _PADDED,
        "parallel_interleave": _TURNS,
        "parse_example_dataset": _FILES,
        "prefetch": _AHEAD,
        "prefetch_to_device": 'layers.double_buffer(reader, place="cuda:0") copies batches there',
        "ragged_batch": _BATCH,
        "random": "layers.random_data_generator makes random numbers",
        "range": "Reader.from_dataset(range(n)) counts",
        "read_file": _PATHS,
        "rebatch": "unbatch().batch(batch_size) makes other batches",
        "reduce": _REDUCE,
        "rejection_resample": _RESAMPLE,
        "sample_from_datasets": _MIX,
        "save": _SAVE,
        "scan": _MAP,
        "shuffle_and_repeat": _PASSES,
        "snapshot": _CACHE,
        "sparse_batch": _BATCH,
        "take_while": _FILTER,
        "tensorflow": _BATCHES,
        "text_dataset_from_directory": _WHERE,
        "TextLineDataset": 'Reader.open_files("text:lines.txt", names=["line"]) reads lines',
        "tf": _BATCHES,
        "TFRecordDataset": _FILES,
        "timeseries_dataset_from_array": _WINDOWS,
        "unique": "dedupe() leaves out what came before",
        "with_options": _THREADS,
    },
    "torch and torchdata": {
        "async_map_batches": _BATCH_CALLS,
        "batch_sampler": _BATCH,
        "Batcher": _BATCH,
        "BatchSampler": _BATCH,
        "bucketbatch": _BUCKET,
        "ChainDataset": _CONCAT,
        "collate": _BATCH,
        "collate_fn": "millhopper.DataLoader takes it, and batch(batch_size).map(function)",
        "ConcatDataset": _CONCAT,
        "cpu": _TENSORS,
        "cuda": "jax(device=...) yields arrays on a device; the tensors of torch() have to()",
        "cycle": _PASSES,
        "Dataset": _SAMPLES,
        "dataset": _SAMPLES,
        "default_collate": _BATCH,
        "class_weights": _WEIGHTS,
        "DistributedSampler": _SHARD,
        "drop_last": "batch(batch_size, drop_last=True) leaves a short last batch out",
        "flatmap": _FLAT,
        "fullsync": _EVEN,
        "generator": _SEED,
        "groupby": _GROUPS,
        "header": _STEP,
        "in_batch_shuffle": _WINDOW,
        "in_memory_cache": _CACHE,
        "IterableDataset": "torch() is one; Reader.from_iterable(stream) reads one",
        "IterableWrapper": "Reader.from_iterable(stream) reads what can be iterated over",
        "load_from_tar": _FILES,
        "load_from_zip": _FILES,
        "load_parquet_as_df": _FILES,
        "Loader": _LOADER,
        "loader": _LOADER,
        "Mapper": _MAP,
        "max_token_bucketize": "token_batch(tokens) makes batches of as many tokens",
        "MultiNodeWeightedSampler": _MIX,
        "mux": _TURNS,
        "mux_longest": _TURNS,
        "num_workers": _THREADS,
        "on_disk_cache": _CACHE,
        "ParallelMapper": _MAP,
        "parse_csv": _FILES,
        "parse_csv_as_dict": _FILES,
        "parse_json_files": _FILES,
        "persistent_workers": _THREADS,
        "pin_memory": "millhopper.DataLoader(reader, pin_memory=True) pins them",
        "prefetch_factor": _AHEAD,
        "Prefetcher": _AHEAD,
        "random_split": _PARTS,
        "RandomSampler": _WINDOW,
        "readlines": _FILES,
        "rows2columnar": _BATCH,
        "sample_multiplex": _MIX,
        "sample_multiplexer": _MIX,
        "sampler": "millhopper.DataLoader(dataset, sampler=sampler) takes it, and sampled(sampler)",
        "set_length": _COUNT,
        "set_weights": "mix(others, weights={0: [9, 1], 1000: [1, 1]}) has weights from steps on; "
        "a state goes on with later ones that are others",
        "sharding_filter": _SHARD,
        "sharding_round_robin_dispatch": _SHARD,
        "StackDataset": _JOIN,
        "Subset": "sampled(indices) yields elements by their numbers",
        "TensorDataset": _ARRAYS,
        "thread_map": _MAP,
        "threadpool_map": _MAP,
        "to": "jax(device=...) yields arrays on a device; the tensors of torch() have to()",
        "to_device": "jax(device=...) yields arrays on a device; the tensors of torch() have to()",
        "to_map_datapipe": _LOOP,
        "WeightedRandomSampler": _RESAMPLE,
        "worker_init_fn": _THREADS,
        "zip_longest": _JOIN,
        "zip_with_iter": _JOIN,
        "zip_with_map": _JOIN,
    },
    "Hugging Face datasets": {
        "add_item": _CONCAT,
        "apply_chat_template": (
            "map(function) calls it with tokenize=False, and tokenize() reads the text"
        ),
        "cast_column": _CAST,
        "class_encode_column": 'lookup(words, slot="slot") numbers words',
        "ClassLabel": 'lookup(words, slot="slot") numbers words',
        "column_names": _SLOTS,
        "concatenate_datasets": _CONCAT,
        "data": _ARRAYS,
        "dataset_size": _SIZE,
        "Features": _SLOTS,
        "features": _SLOTS,
        "flatten": 'fields name what lies in records: "name = person.name"',
        "flatten_indices": _LOOP,
        "format": _TENSORS,
        "formatted_as": _TENSORS,
        "from_csv": _FILES,
        "from_dict": _ARRAYS,
        "from_file": _FILES,
        "from_hf": "Reader.from_dataset(dataset) reads one, from_iterable a stream",
        "from_json": _FILES,
        "from_list": "Reader.from_dataset(list) reads it",
        "from_pandas": _FRAMES,
        "from_parquet": _FILES,
        "from_polars": _FRAMES,
        "from_spark": _FRAMES,
        "from_sql": _FRAMES,
        "from_text": _FILES,
        "group_texts": (
            'pack(length, method="concat_then_split") lays texts end to end and cuts them into rows'
        ),
        "info": _SLOTS,
        "interleave_datasets": _MIX,
        "iter": _BATCH,
        "load_dataset": _FILES,
        "load_from_disk": 'Reader.open_files("folder/*.arrow") reads its files',
        "num_columns": _SLOTS,
        "num_rows": _COUNT,
        "peek": "print(next(iter(reader))) shows the first, millhopper-peek FILE what a file has",
        "push_to_hub": _NO_HUB,
        "remove_columns": _SELECT,
        "rename_column": _RENAME,
        "rename_columns": _RENAME,
        "reset_format": _TENSORS,
        "save_to_disk": _SAVE,
        "select_columns": _SELECT,
        "set_format": _TENSORS,
        "set_transform": _MAP,
        "sort": _SORT,
        "split_dataset_by_node": _SHARD,
        "to_csv": _SAVE,
        "to_hf": _SAVE,
        "to_iterable_dataset": _LOOP,
        "to_json": _SAVE,
        "to_list": "list(reader) is all elements",
        "to_parquet": _SAVE,
        "to_polars": "polars.DataFrame(batch) takes a batch whose slots have one axis",
        "to_sql": _SAVE,
        "to_tf_dataset": _BATCHES,
        "train_test_split": _PARTS,
        "with_format": _TENSORS,
        "with_transform": _MAP,
    },
    "webdataset": {
        "batched": _BATCH,
        "cache_dir": _CACHE,
        "compose": _MAP,
        "DataPipeline": _BUILD,
        "ddp_equalize": _EVEN,
        "decode": _DECODE,
        "detshuffle": _WINDOW,
        "extract_keys": _SELECT,
        "handler": _BAD,
        "ignore_and_continue": _BAD,
        "listed": _BATCH,
        "lmdb_cached": _CACHE,
        "log_keys": "print(millhopper.current_record()) in a function of map names each record",
        "map_dict": _MAP,
        "map_tuple": _MAP,
        "mcached": _CACHE,
        "nodesplitter": _SHARD,
        "open": _FILES,
        "RandomMix": _MIX,
        "rename": _RENAME,
        "rename_keys": _RENAME,
        "repeat2": _PASSES,
        "resampled": _PASSES,
        "ResampledShards": _PASSES,
        "RoundRobin": _TURNS,
        "rsample": _MIX,
        "shards": _WHERE,
        "shardshuffle": "open_files(shuffle_chunks=True) mixes the files, shuffle(n) their records",
        "ShardWriter": _SAVE,
        "SimpleShardList": _WHERE,
        "slice": "skip(count).take(count) is a part",
        "split_by_node": _SHARD,
        "split_by_worker": _THREADS,
        "splitby": _SHARD,
        "tarfile_to_samples": _FILES,
        "TarWriter": _SAVE,
        "then": _MAP,
        "to_dict": _LOOP,
        "unbatched": _UNBATCH,
        "unlisted": _UNBATCH,
        "warn_and_continue": _BAD,
        "WebDataset": _FILES,
        "WebLoader": _LOADER,
        "with_epoch": _STEP,
        "with_length": _COUNT,
        "workersplitter": _THREADS,
        "xdecode": _DECODE,
    },
    "Grain": {
        "ArrayRecordDataSource": "ArrayRecord is not read; tfrecord, mds and recordio are",
        "ConcatThenSplitIterDataset": _PACK,
        "device_put": "jax(device=...) yields arrays on a device",
        "filter_fn": _FILTER,
        "FirstFitPackIterDataset": _PACK,
        "from_source": _SAMPLES,
        "IndexSampler": _WINDOW,
        "IterDataset": "Reader.from_iterable(stream) reads what can be iterated over",
        "LimitIterDataset": _STEP,
        "map_with_index": _MAP,
        "MapDataset": _SAMPLES,
        "mp_prefetch": _AHEAD,
        "multithread_prefetch": _AHEAD,
        "random_map": _MAP,
        "ReadOptions": _THREADS,
        "reshuffle": _WINDOW,
        "seed": _SEED,
        "select_from_datasets": _MIX,
        "SequentialSampler": _LOOP,
        "ShardByJaxProcess": _SHARD,
        "ShardOptions": _SHARD,
        "source": _SAMPLES,
        "to_iter_dataset": _LOOP,
        "window_shuffle": _WINDOW,
    },
    "DALI": {
        "as_cpu": _TENSORS,
        "as_tensor": _TENSORS,
        "build": _LOOP,
        "checkpoint": _STATE,
        "crop_mirror_normalize": _NORMALIZE,
        "DALIGenericIterator": _LOOP,
        "decoders": _DECODE,
        "epoch_size": _COUNT,
        "executor_statistics": "stats() counts what each reader has done",
        "external_source": _SAMPLES,
        "feed_input": "millhopper.Executor takes feed={...} for what layers.data declares",
        "fn": _BUILD,
        "gpu": 'layers.double_buffer(reader, place="cuda:0") copies batches there',
        "initial_fill": _WINDOW,
        "num_shards": _SHARD,
        "pad_last_batch": _EVEN,
        "pipeline_def": _BUILD,
        "prefetch_queue_depth": _AHEAD,
        "random_shuffle": _WINDOW,
        "reader_meta": _COUNT,
        "readers": _FILES,
        "reset": _LOOP,
        "run": _LOOP,
        "serialize": _BUILD,
        "set_outputs": _SELECT,
        "shard_id": _SHARD,
    },
    "MosaicML streaming, FFCV, SPDL": {
        "add_sink": _AHEAD,
        "add_source": _SAMPLES,
        "aggregate": _BATCH,
        "batching_method": _MIX,
        "DatasetWriter": _SAVE,
        "disaggregate": _UNBATCH,
        "MDSWriter": _SAVE,
        "num_canonical_nodes": "open_files(lanes=16) has one order for 1, 2, 4, 8 and 16 processes",
        "pipe": _MAP,
        "predownload": _AHEAD,
        "proportion": _MIX,
        "shuffle_block_size": _WINDOW,
        "shuffle_seed": _SEED,
        "Stream": _MIX,
        "StreamingDataLoader": _LOADER,
        "StreamingDataset": 'Reader.open_files("mds:folder/index.json") reads its shards',
    },
    "Ray Data": {
        "add_column": _MAP,
        "copy": "a chain is not changed by methods, which return another one",
        "count": _COUNT,
        "drop_columns": _DROP,
        "explain": _BUILD,
        "from_huggingface": "Reader.from_dataset(dataset) reads one, from_iterable a stream",
        "from_items": "Reader.from_dataset(list) reads it",
        "from_numpy": _ARRAYS,
        "from_ray": _RAY,
        "from_tf": "Reader.from_iterable(stream) reads what a data set of tf.data yields as numpy",
        "from_torch": _SAMPLES,
        "input_files": _WHERE,
        "iter_batches": _BATCH,
        "iter_epochs": _PASSES,
        "iter_rows": _LOOP,
        "iter_tf_batches": _BATCHES,
        "iter_torch_batches": "batch(batch_size).torch() yields torch's tensors",
        "iterator": _LOOP,
        "join": _JOIN,
        "limit": _STEP,
        "map_batches": _BATCH_CALLS,
        "map_groups": _GROUPS,
        "materialize": _CACHE,
        "max": _STATISTICS,
        "mean": _STATISTICS,
        "min": _STATISTICS,
        "num_blocks": _SLOTS,
        "random_sample": _FILTER,
        "randomize_block_order": "open_files(shuffle_chunks=True) reads chunks in a random order",
        "read_binary_files": _FOLDER,
        "read_images": _FOLDER,
        "read_numpy": _FILES,
        "read_text": _FILES,
        "read_tfrecords": _FILES,
        "read_webdataset": _FILES,
        "repartition": "lanes(n) deals the records of any source, open_files(lanes=n) files",
        "schema": _SLOTS,
        "show": "take(count) ends after the first ones; print(next(iter(reader))) shows one",
        "size_bytes": _SIZE,
        "split_at_indices": "skip(count).take(count) is a part",
        "split_proportionately": _PARTS,
        "std": _STATISTICS,
        "streaming_split": _SHARD,
        "streaming_train_test_split": _PARTS,
        "sum": _REDUCE,
        "summary": _STATISTICS,
        "take_all": "list(reader) is all elements",
        "take_batch": "next(iter(reader.batch(n))) is the first batch",
        "to_ray": "ray.data.from_pandas([pandas.DataFrame(batch) for batch in reader.batch(1024)]) "
        "takes a pass",
        "to_tf": _BATCHES,
        "to_torch": "batch(batch_size).torch() yields torch's tensors",
        "union": _CONCAT,
        "with_column": _MAP,
        "write_csv": _SAVE,
        "write_images": _SAVE,
        "write_json": _SAVE,
        "write_numpy": _SAVE,
        "write_parquet": _SAVE,
        "write_sql": _SAVE,
        "write_tfrecords": _SAVE,
        "write_webdataset": _SAVE,
    },
    "pandas and polars": {
        "agg": _REDUCE,
        "assign": _MAP,
        "astype": _CAST,
        "collect": _CACHE,
        "columns": _SLOTS,
        "describe": _STATISTICS,
        "drop": _DROP,
        "drop_duplicates": "dedupe() leaves out what came before",
        "drop_nulls": _NULLS,
        "dropna": _NULLS,
        "fill_null": "default=0 of a field is the value of records that have none",
        "fillna": "default=0 of a field is the value of records that have none",
        "from_dataframe": _FRAMES,
        "from_files": _FILES,
        "group_by": _GROUPS,
        "head": "take(count) ends after the first ones",
        "iloc": "skip(count).take(count) is a part",
        "iterrows": _LOOP,
        "itertuples": _LOOP,
        "lazy": _LOOP,
        "merge": _JOIN,
        "numpy": "a loop over the reader yields numpy arrays",
        "query": _FILTER,
        "read_csv": _FILES,
        "read_feather": _FILES,
        "read_json": _FILES,
        "read_parquet": _FILES,
        "sample": "shuffle(n).take(count) takes some at random",
        "scan_csv": _FILES,
        "scan_ndjson": _FILES,
        "scan_parquet": _FILES,
        "sink_csv": _SAVE,
        "sink_ndjson": _SAVE,
        "sink_parquet": _SAVE,
        "sort_values": _SORT,
        "tail": "skip(count) leaves the first ones out",
        "to_arrow": "a table of pyarrow takes a batch whose slots have one axis",
        "to_jax": _TENSORS,
        "to_numpy": "a loop over the reader yields numpy arrays",
        "to_pandas": "pandas.DataFrame(batch) takes a batch whose slots have one axis",
        "value_counts": _REDUCE,
        "with_columns": _MAP,
    },
}

_NAMES = {name: hint for names in LIBRARIES.values() for name, hint in names.items()}


def _hint(name: str, known: Sequence[str], names: Mapping[str, str] = _NAMES) -> str:
    if name in names:
        return f"; {names[name]}"
    if name[0] == "_":
        return ""
    operator = find_schema(name)
    if operator is not None and operator.input("X") is not None:
        return f'; the operator {name} is run on a slot by apply("{name}", "slot")'
    near = difflib.get_close_matches(name, [word for word in known if word[0] != "_"], 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def answer_for_package(reader: type, known: list[str]) -> None:
    """Has the package answer names that it lacks, as ``Reader`` does.

    Args:
        reader: the class Reader, whose methods may be meant.
        known: the names that the package has.
    """

    def hint(name: str) -> str:
        if name.startswith("_") or name in _NAMES or not hasattr(reader, name):
            return _hint(name, known)
        is_made = name.startswith(("from_", "open_", "create"))
        return f"; it is a method: {'Reader' if is_made else 'reader'}.{name}(...)"

    _answer("millhopper", hint)


def answer_for_module(module: str, known: Sequence[str], names: Mapping[str, str]) -> None:
    """Has a module answer names that it lacks with what to type.

    Args:
        module: its name.
        known: the names that it has.
        names: what to type, by what others call it.
    """
    _answer(module, lambda name: _hint(name, known, names))


def _answer(module: str, hint: Callable[[str], str]) -> None:
    # Checkers of types shall not know of it, so that it is set on the module.
    def answer(name: str) -> NoReturn:
        raise _error(f"module {module!r} has no attribute {name!r}{hint(name)}")

    vars(sys.modules[module])["__getattr__"] = answer


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
