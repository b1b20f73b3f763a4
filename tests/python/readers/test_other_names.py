# SPDX-License-Identifier: Apache-2.0
"""What Reader says to the names that tf.data, Grain, JAX and torch have for what it does."""

from __future__ import annotations

import abc
import builtins
import copy
import functools
import inspect
import pickle
import re
import traceback
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.readers.other_names import _NAMES, LIBRARIES
from millhopper.vision.other_names import OTHER_NAMES

READER = millhopper.Reader.from_arrays({"x": np.arange(6)})


@pytest.mark.parametrize(
    ("owner", "name", "hint"),
    [
        (READER, "prefetch", "; double_buffer() works ahead"),
        (READER, "shufle", "; did you mean 'shuffle'?"),
        (READER, "nothing_like_it", ""),
        (READER, "_repr_png_", ""),
        (READER, "log1p", '; the operator log1p is run on a slot by apply("log1p", "slot")'),
        (READER, "fullsync", '; shard(even="pad") or "drop" has all processes end at one step'),
        (millhopper, "open_files", "; it is a method: Reader.open_files(...)"),
        (millhopper, "take", "; it is a method: reader.take(...)"),
        (millhopper, "Datloader", "; did you mean 'DataLoader'?"),
        (
            millhopper,
            "TensorDataset",
            '; Reader.from_arrays({"x": array, ...}) reads arrays by their rows',
        ),
        (READER, "__jax_array__", ""),
        (
            millhopper.vision,
            "ToDtype",
            "; Normalize(mean, std) makes float32 of 0 to 1, less mean and by std, ToCHW() puts "
            "channels first, and reader.torch() yields tensors",
        ),
        (millhopper.vision, "Resise", "; did you mean 'Resize'?"),
        (
            READER,
            "group_texts",
            '; pack(length, method="concat_then_split") lays texts end to end and cuts them into '
            "rows",
        ),
        (
            millhopper.dataset,
            "ImageFolder",
            "; image_folder(folder) reads images, whose classes are folders",
        ),
        (millhopper.dataset, "minst", "; did you mean 'mnist'?"),
        (millhopper.Reader, "open_file", "; did you mean 'open_files'?"),
        (
            millhopper.Reader,
            "from_tensor_slices",
            '; Reader.from_arrays({"x": array, ...}) reads arrays by their rows',
        ),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_one(owner: Any, name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(owner, name)
    assert str(error.value).endswith(f" no attribute {name!r}{hint}")
    assert not hasattr(owner, name)


def test_what_is_repeated_ends() -> None:
    assert len(READER.repeat(2)) == 12
    with pytest.raises(TypeError, match="^repeat needs a count; .* each loop over a reader is its"):
        READER.repeat()


def test_a_reader_is_no_array() -> None:
    text = r"^a Reader is no array: a loop over it yields batches, .* reader\.keras\("
    with pytest.raises(TypeError, match=text):
        np.asarray(READER)
    with pytest.raises(AttributeError, match=text):
        _ = READER.shape
    assert not hasattr(READER, "shape")


@pytest.mark.parametrize(("owner", "name"), [(READER, "shufle"), (millhopper.Reader, "open_file")])
def test_python_adds_no_guess_of_its_own(owner: Any, name: str) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(owner, name)
    assert getattr(error.value, "name", None) is None
    assert "Did you mean" not in "".join(traceback.format_exception_only(error.type, error.value))


def test_subclasses_may_be_abstract_and_have_properties_that_fail() -> None:
    class Named(millhopper.Reader, abc.ABC):
        @property
        def folder(self) -> str:
            return self.path.lower()  # type: ignore[no-any-return]

        @property
        def path(self) -> Any:
            raise AttributeError("no path is set")

    with pytest.raises(AttributeError, match="^no path is set$"):
        Named.__new__(Named).folder  # noqa: B018


def test_hints_name_what_there_is() -> None:
    for name, hint in _NAMES.items():
        assert not hasattr(millhopper.Reader, name)
        calls = re.findall(r"\b(?:(Reader|first|io|layers|millhopper)\.)?(\w+)\(", hint)
        for owner, method in calls:
            there: Any = millhopper.Reader
            if owner in ("io", "layers"):
                there = getattr(millhopper, owner)
            elif owner == "millhopper":
                there = millhopper
            known = hasattr(there, method) or hasattr(builtins, method)
            # Of tensors, of pandas, of Ray.
            known = known or method in ("to", "DataFrame", "iter_batches", "from_pandas")
            assert known, (name, hint)


def test_hints_of_transforms_name_what_there_is() -> None:
    for name, hint in OTHER_NAMES.items():
        assert not hasattr(millhopper.vision, name)
        for owner, method in re.findall(r"\b(?:(reader)\.)?(\w+)\(", hint):
            assert hasattr(millhopper.Reader if owner else millhopper.vision, method), (name, hint)


def test_a_name_of_two_libraries_has_one_answer() -> None:
    for name, hint in _NAMES.items():
        assert {names.get(name, hint) for names in LIBRARIES.values()} == {hint}


def test_what_flat_map_is_told_to_be_yields_rows() -> None:
    def pair(element: dict[str, Any]) -> dict[str, Any]:
        return {"x": np.concatenate([element["x"], element["x"] + 10])}

    assert "map(function).unbatch()" in _NAMES["flat_map"]
    rows = READER.take(2).map(pair).unbatch()
    assert [batch["x"].tolist() for batch in rows.batch(4)] == [[0, 10, 1, 11]]


@pytest.mark.parametrize(
    ("method", "words", "keyword", "hint"),
    [
        ("batch", (2,), "drop_remainder", "drop_last=True"),
        ("batch", (2,), "num_parallel_calls", "millhopper.set_threads(n)"),
        ("padded_batch", (2,), "drop_remainder", "drop_last=True"),
        ("map", (dict,), "num_parallel_calls", "millhopper.set_threads(n)"),
        ("map", (dict,), "num_workers", "millhopper.set_threads(n)"),
        ("map", (dict,), "batched", "batch(batch_size).map(function)"),
        ("shuffle", (4,), "reshuffle_each_iteration", "reshuffle=False"),
        ("padded_batch", (2,), "padded_shapes", "pad_length=[16, 0]"),
        ("map", (dict,), "num_proc", "millhopper.set_threads(n)"),
        ("jax", (), "sharding", "device=sharding"),
        ("split", ([0.5, 0.5],), "random_state", "seed=..."),
        ("padded_batch", (2,), "pad_id", "pad_values=[-1]"),
        ("pack", (8,), "ignore_index", "labels=-100"),
        ("pack", (8,), "split", 'overlong="split"'),
        ("pack", (), "seq_len", "length=..."),
        ("tokenize", ("x",), "column", 'slot="text"'),
        ("mix", (READER,), "stopping_strategy", "when_exhausted="),
        ("mix", (READER,), "probabilities", "weights=[...]"),
        ("write", ("x.csv",), "force", "overwrite=True"),
    ],
)
def test_a_keyword_of_others_is_answered_with_ours(
    method: str, words: tuple[Any, ...], keyword: str, hint: str
) -> None:
    with pytest.raises(TypeError) as error:
        getattr(READER, method)(*words, **{keyword: 1})
    assert str(error.value).startswith(f"{method}() has no keyword {keyword}; {hint}")
    ours = hint.partition("=")[0]
    assert "." in ours or ours in inspect.signature(getattr(READER, method)).parameters


def test_a_function_of_several_slots_is_told_what_it_gets() -> None:
    pairs = millhopper.Reader.from_arrays({"x": np.arange(6), "y": np.arange(6)})
    text = r"takes 2 arguments, and gets one, .*: lambda e: function\(e\['x'\], e\['y'\]\)"
    for method in (pairs.map, pairs.filter):
        with pytest.raises(TypeError, match=text):
            method(lambda x, y: x + y)  # type: ignore[call-arg, arg-type]
    assert len(list(pairs.map(lambda e, scale=2: {"x": e["x"] * scale}))) == 6

    @functools.wraps(max)  # whose parameters are not those of what is called
    def doubled(*arguments: Any) -> Any:
        return {"x": arguments[0]["x"] * 2}

    doubled.__wrapped__ = lambda x, y: x + y  # type: ignore[attr-defined]
    assert len(list(pairs.map(doubled))) == 6


def test_an_argument_that_is_missing_is_explained() -> None:
    text = r"^shuffle\(\) missing a required argument: 'buffer_size': elements in the window from "
    with pytest.raises(TypeError, match=text):
        READER.shuffle(seed=42)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("x", r"not by 'x': select\('x'\) keeps a slot"),
        (0, r"not by 0: take\(n\), skip\(n\) .*; .* torch's takes reader\.torch\(\)"),
        (slice(3), r"take\(n\)"),
    ],
)
def test_a_reader_has_no_elements_by_number(key: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=f"^a Reader is read by a loop, .*{hint}"):
        READER[key]  # type: ignore[index]


def test_arguments_of_others_are_answered() -> None:
    with pytest.raises(TypeError, match=r"standardize: statistics is 'x'; reader.standardize\(rea"):
        READER.standardize("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"standardize\(\) has no keyword slot; reader.standardize"):
        READER.standardize(slot="x")
    with pytest.raises(TypeError, match=r"cast takes one type: reader.cast\('int8', slot='x'\)$"):
        READER.cast({"x": "int8"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"split\(\) has no keyword stratify; a hash of each rec"):
        READER.split([0.8, 0.2], stratify="x")
    with pytest.raises(millhopper.Error, match=r"normalize is for images, which none of \['x'\]"):
        READER.normalize(0.5, 0.5, slot="x")
    pairs = millhopper.Reader.from_arrays({"x": np.arange(2), "y": np.arange(2)})
    with pytest.raises(millhopper.Error, match="normalize is for images, .* standardize"):
        pairs.normalize()


def test_shares_may_be_given_one_by_one() -> None:
    for some in READER.split(0.5, 0.5), READER.split([0.5, 0.5]):
        parts = [[int(element["x"][0]) for element in part] for part in some]
        assert sorted(sum(parts, [])) == list(range(6))
    for shares in ((0.5,), ([0.5], 0.5)):
        with pytest.raises(TypeError, match="it must be a list of one for each part"):
            READER.split(*shares)  # type: ignore[arg-type]


def test_a_slot_is_renamed_by_a_copy() -> None:
    renamed = READER.apply("assign", "x", "new").select("new")
    assert [element["new"].tolist() for element in renamed] == [[i] for i in range(6)]


def test_slots_are_selected_by_a_list_of_names() -> None:
    pairs = millhopper.Reader.from_arrays({"x": np.arange(2), "y": np.arange(2)})
    assert list(next(iter(pairs.select(["y", "x"])))) == ["y", "x"]
    with pytest.raises(millhopper.Error, match=r"no slot 1 among .*; sampled\(numbers\) chooses"):
        pairs.select([1])  # type: ignore[list-item]


def test_a_keyword_that_nobody_has_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        READER.batch(2, nothing=1)  # type: ignore[call-arg]


def test_readers_are_copied_and_pickled_as_before() -> None:
    lines = millhopper.Reader.open_files("text:" + __file__, names=["line"]).batch(1000)
    for other in copy.copy(lines), pickle.loads(pickle.dumps(lines)):
        assert [len(batch["line"]) for batch in other] == [len(batch["line"]) for batch in lines]
