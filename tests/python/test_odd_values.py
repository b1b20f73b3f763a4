# SPDX-License-Identifier: Apache-2.0
"""Invalid values: each is an error that says what is wrong, and no value is cut off."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import _core, layers

SLOTS = {"x": ("float32", [1, 2])}
ROWS = np.arange(6, dtype=np.float32).reshape(6, 1)
WORDS = {"words": ("float32", [-1, 1], 1)}


def numbers(count: int = 4) -> millhopper.Reader:
    return millhopper.Reader.create("create_random_data_generator", slots=SLOTS, count=count)


# ---- Offsets and lengths ----

NO_INTEGERS = "they are integers from 0"
NO_LIST = "they are a list of integers"
WRONG_LEVELS: list[tuple[Any, str]] = [
    ([-1, 6], f"value 0 is -1; {NO_INTEGERS}"),
    (np.array([0, 3, -6]), f"value 2 is -6; {NO_INTEGERS}"),
    (np.array([0, -6], np.int8), f"value 1 is -6; {NO_INTEGERS}"),
    ([0.0, 6.0], f"are float64; {NO_INTEGERS}"),
    ([0, 2.5, 6], f"are float64; {NO_INTEGERS}"),
    ([0, float("nan"), 6], f"are float64; {NO_INTEGERS}"),
    ([0, float("inf")], f"are float64; {NO_INTEGERS}"),
    (["0", "6"], f"are <U1; {NO_INTEGERS}"),
    ([b"0", b"6"], rf"are \|S1; {NO_INTEGERS}"),
    ([None, 6], f"are object; {NO_INTEGERS}"),
    ([0, 2**70], f"are object; {NO_INTEGERS}"),
    ([Decimal(0), Decimal(6)], f"are object; {NO_INTEGERS}"),
    ([False, True], f"are bool; {NO_INTEGERS}"),
    ([0j, 6j], f"are complex128; {NO_INTEGERS}"),
    (np.array([0, 6], "m8[s]"), rf"are timedelta64\[s\]; {NO_INTEGERS}"),
    ([[0, 6]], f"have 2 axes; {NO_LIST}"),
    (6, f"are of type 'int'; {NO_LIST}"),
    (None, f"are of type 'NoneType'; {NO_LIST}"),
    ("06", f"are of type 'str'; {NO_LIST}"),
    ([[0], [1, 2]], "numpy has raised ValueError"),
]


def map_to_ragged(offsets: Any) -> object:
    return list(numbers().map(lambda _: millhopper.Ragged(ROWS, offsets), slots=WORDS))


def learn_ragged(offsets: Any) -> object:
    return list(numbers().map(lambda _: {"words": millhopper.Ragged(ROWS, offsets)}))


def push_ragged(offsets: Any) -> object:
    queue = _core.Queue(3, [("float32", [-1, 1], 1)])
    return queue.push((millhopper.Ragged(ROWS, offsets),))


def set_lod(offsets: Any) -> object:
    return millhopper.LoDTensor().set_lod(offsets)


def make_tensor(lengths: Any) -> object:
    return millhopper.LoDTensor(lengths)


def set_lengths(lengths: Any) -> object:
    return millhopper.LoDTensor().set_recursive_sequence_lengths(lengths)


USES = [map_to_ragged, learn_ragged, push_ragged, set_lod, make_tensor, set_lengths]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(("level", "text"), WRONG_LEVELS)
def test_levels_that_are_none_are_named(
    use: Callable[[Any], object], level: Any, text: str
) -> None:
    what = "offsets" if use in USES[:4] else "lengths"
    with pytest.raises(millhopper.Error, match=f"the {what} of level 0.*{text}") as failed:
        use((level,))
    assert failed.value.code == "invalid argument"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("levels", "kind"), [(5, "int"), (None, "NoneType"), ("06", "str"), (2.5, "float")]
)
def test_what_is_no_list_of_levels_is_named(
    use: Callable[[Any], object], levels: Any, kind: str
) -> None:
    with pytest.raises(millhopper.Error, match=f"are of type '{kind}'; they are a list of levels"):
        use(levels)


@pytest.mark.parametrize(
    "level",
    [
        [0, 6],
        (0, 6),
        np.array([0, 6]),
        np.array([0, 6], np.uint8),
        np.array([0, 6], np.uint64),
        np.array([0, 6], ">i4"),
        np.array([0, 1, 6, 2])[::2],
        range(0, 7, 6),
        [np.int16(0), np.uint32(6)],
    ],
)
def test_integers_of_every_kind_are_levels(level: Any) -> None:
    (first, *_) = numbers().map(lambda _: millhopper.Ragged(ROWS, [level]), slots=WORDS)
    assert first["words"].offsets[0].tolist() == [0, 6]
    tensor = millhopper.LoDTensor()
    tensor.set_lod([level])
    assert tensor.lod() == [[0, 6]]


def test_offsets_that_fit_nothing_are_named() -> None:
    for offsets, text in [
        ([0, 7], "ends at 7 but there are 6 rows"),
        ([1, 6], "begins at 1 instead of 0"),
        ([0, 5, 3, 6], "descends from 5 to 3"),
        ([], "has 0 offsets"),
        (np.array([0, 2**64 - 1], np.uint64), "ends at 18446744073709551615"),
    ]:
        with pytest.raises(millhopper.Error, match=text):
            map_to_ragged([offsets])


def test_values_that_are_no_tensor_are_named() -> None:
    for values in "text", object(), None, [[1, 2], [3]], np.array([1, "a"], object):
        with pytest.raises((millhopper.Error, ValueError)):
            millhopper.LoDTensor().set(values)
        with pytest.raises(millhopper.Error, match="slot 'words'|has raised ValueError"):
            list(numbers().map(lambda _, v=values: millhopper.Ragged(v, ([0, 1],)), slots=WORDS))
    with pytest.raises(TypeError, match="a place is CPUPlace"):
        millhopper.LoDTensor().set(ROWS, "cpu")  # type: ignore[arg-type]


# ---- Numbers ----

NO_NUMBERS: list[Any] = [2.5, float("nan"), float("inf"), "2", b"2", [2], np.float32(2.5)]
NO_NUMBERS += [Decimal("2.5"), Fraction(5, 2), 2j, np.array([2, 3]), object()]
HUGE = [2**63, -(2**63) - 1, 2**70, -(2**70)]


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("batch_size", lambda value: numbers().batch(value)),
        ("buffer_size", lambda value: numbers().shuffle(value)),
        ("seed", lambda value: numbers().shuffle(4, seed=value)),
        ("pass_num", lambda value: numbers().multi_pass(value)),
        ("depth", lambda value: numbers().double_buffer(value)),
        ("num_shards", lambda value: numbers().shard(value, 0)),
        ("index", lambda value: numbers().shard(2, value)),
        ("count", lambda value: numbers(value)),
    ],
)
def test_attributes_take_integers_only(name: str, use: Callable[[Any], object]) -> None:
    for value in NO_NUMBERS:
        with pytest.raises(
            millhopper.Error, match=f"attribute '{name}' is of type (INT|LONG), not"
        ):
            use(value)
    for value in HUGE:
        text = rf"attribute '{name}' is of type (INT|LONG), not {value}; its values are -\d+ to \d+"
        with pytest.raises(millhopper.Error, match=text):
            use(value)
    use(np.int64(1))
    use(np.array(1))


def test_attributes_of_other_types_are_not_guessed() -> None:
    for value in 2, -1, 0.5, float("nan"), "yes", [True], object():
        with pytest.raises(millhopper.Error, match="'discard_leftover' is of type BOOLEAN, not"):
            numbers().batch(2, drop_last=value)  # type: ignore[arg-type]
    for value in True, 1, np.bool_(True):
        assert len(list(numbers(3).batch(2, drop_last=value))) == 1  # type: ignore[arg-type]
    for value in 1e300, -1e300, 10**400, "1", 1j, None.__class__:
        with pytest.raises(millhopper.Error, match="'high' is of type FLOAT, not"):
            millhopper.Reader.create("create_random_data_generator", slots=SLOTS, high=value)


INTEGERS: list[tuple[str, Callable[[Any], object]]] = [
    ("seed", lambda value: millhopper.Reader.open_files("text:x", seed=value)),
    ("epoch", lambda value: numbers().set_epoch(value)),
    ("threads", lambda value: millhopper.set_threads(value)),
    ("device_id", lambda value: millhopper.CUDAPlace(value)),
    ("device_count", lambda value: millhopper.cpu_places(value)),
    ("capacity", lambda value: layers.py_reader(value, [(-1, 1)], ["float32"])),
    ("lod_level", lambda value: layers.py_reader(2, [(-1, 1)], ["float32"], [value])),
    ("buf_size", lambda value: millhopper.reader.shuffle(list, value)),
    ("n", lambda value: millhopper.reader.firstn(list, value)),
    ("size", lambda value: millhopper.reader.buffered(list, value)),
    ("process_num", lambda value: millhopper.reader.xmap_readers(str, list, value, 1)),
    ("buffer_size", lambda value: millhopper.reader.xmap_readers(str, list, 1, value)),
    ("queue_size", lambda value: millhopper.reader.multiprocess_reader([list], queue_size=value)),
    ("bufsize", lambda value: millhopper.reader.PipeReader("true", value)),
]


@pytest.mark.usefixtures("fresh_programs")
@pytest.mark.parametrize(("name", "use"), INTEGERS)
def test_arguments_take_integers_only(name: str, use: Callable[[Any], object]) -> None:
    for value in NO_NUMBERS:
        with pytest.raises(TypeError, match=f"{name} is .*; it must be an integer"):
            use(value)


@pytest.mark.usefixtures("fresh_programs")
def test_integers_without_bounds_are_refused() -> None:
    for value in HUGE:
        for name, use in INTEGERS[:2] + INTEGERS[3:5] + INTEGERS[6:7]:
            if name != "seed" or value < 0 or value > 2**64 - 1:
                with pytest.raises(ValueError, match=rf"{name} {value} is not 0 to \d+"):
                    use(value)
        with pytest.raises(millhopper.Error, match=f"a pool of {value} threads; there can be 0 to"):
            millhopper.set_threads(value)
        with pytest.raises(ValueError, match=f"a dim {value} is not"):
            millhopper.Reader.create(
                "create_random_data_generator", slots={"x": ("int64", [value])}
            )
        with pytest.raises(ValueError, match=f"a dim {value} is not"):
            layers.py_reader(2, [(-1, value)], ["float32"])
        with pytest.raises(ValueError, match=f"the number of levels {value} is not"):
            numbers().map(lambda e: e, slots={"x": ("float32", [1, 2], value)})
    for value in -1, 2**64, 2.5, True, "1":
        with pytest.raises(ValueError, match="a random_seed is an integer from 0 to"):
            millhopper.Program().random_seed = value  # type: ignore[assignment]


def test_batches_of_no_size_are_refused() -> None:
    for value in 0.5, 2.5, float("nan"), float("inf"), "x", None, 0, -1, 2j:
        with pytest.raises(ValueError, match="batch: batch_size is .*, it must be a positive"):
            millhopper.batch(list, value)  # type: ignore[arg-type]


def test_names_are_texts() -> None:
    program = numbers().to_text()
    for value in 3, 2.5, None, b"x", ["x"]:
        for name, use in [
            ("name", lambda v: numbers().batch(2, name=v)),
            ("a slot's name", lambda v: millhopper.Reader(program, names=[v])),
            ("variable", lambda v: millhopper.Reader(program, variable=v)),
            ("setting 'a'", lambda v: millhopper.Reader(program, settings={"a": v})),
            ("operator", lambda v: numbers().decorate(v)),
            ("operator", lambda v: millhopper.Reader.create(v)),
        ]:
            if name != "name" or value is not None:
                with pytest.raises(TypeError, match=f"{name} is .*; it must be a text"):
                    use(value)
    with pytest.raises(ValueError, match="surrogates not allowed"):
        numbers().batch(2, name="\udcff")
    with pytest.raises(TypeError, match="program is 3; it must be protobuf text or bytes"):
        millhopper.Reader(3)  # type: ignore[arg-type]


# ---- Exceptions in unexpected places ----


class NoText:
    def __repr__(self) -> str:
        raise ZeroDivisionError


def test_errors_within_errors_reach_the_loop_as_they_are() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    class Coded(millhopper.Error):
        @property
        def code(self) -> str:  # type: ignore[override]
            raise ZeroDivisionError

        @code.setter
        def code(self, value: str) -> None:
            pass

    for raised in Broken(), Coded("x"), Exception(NoText()), OSError(NoText()):

        def function(element: Any, raised: Exception = raised) -> Any:
            raise raised

        with pytest.raises(millhopper.Error) as failed:
            list(numbers().map(function, slots=SLOTS).batch(2).double_buffer())
        assert failed.value.__cause__ is raised
        assert "error_already_set" not in str(failed.value)
