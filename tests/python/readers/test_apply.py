# SPDX-License-Identifier: Apache-2.0
"""Reader.apply: operators on slots of every element."""

from __future__ import annotations

import pickle
from pathlib import Path

import millhopper
import numpy as np
import pytest

RECORDS = 100
ROWS = np.arange(4 * RECORDS, dtype=np.float32).reshape(RECORDS, 4)


@pytest.fixture
def numbers(tmp_path: Path) -> millhopper.Reader:
    """RECORDS records: float32 [1, 4], of which record i holds 4 * i up to 4 * i + 3."""
    path = tmp_path / "numbers.bin"
    ROWS.tofile(path)
    return millhopper.Reader.open_files(f"fixed:{path}", slots={"row": ("float32", [1, 4])})


def column(reader: millhopper.Reader, slot: str) -> np.ndarray:
    return np.concatenate([element[slot] for element in reader])


def test_an_operator_takes_the_place_of_its_slot(numbers: millhopper.Reader, threads: int) -> None:
    for reader in (numbers, numbers.batch(8)):
        doubled = reader.apply("scale", "row", scale=2.0).double_buffer()
        for _ in range(2):
            np.testing.assert_array_equal(column(doubled, "row"), 2 * ROWS)


def test_other_slots_are_passed_on_and_new_ones_stand_behind_them(
    numbers: millhopper.Reader, threads: int
) -> None:
    reader = (
        numbers.apply("scale", "row", "tenfold", scale=10.0)
        .apply("top_k", output={"Indices": "where", "Out": "best"}, k=2)
        .apply("elementwise_add", {"X": "row", "Y": "tenfold"}, "sum")
    )
    assert list(next(iter(reader))) == ["row", "tenfold", "where", "best", "sum"]
    batch = next(iter(reader.batch(RECORDS)))
    np.testing.assert_array_equal(batch["row"], ROWS)
    np.testing.assert_array_equal(batch["tenfold"], 10 * ROWS)
    np.testing.assert_array_equal(batch["best"], 10 * ROWS[:, [3, 2]])
    np.testing.assert_array_equal(batch["where"], np.tile([[3, 2]], (RECORDS, 1)))
    np.testing.assert_array_equal(batch["sum"], 11 * ROWS)


def test_calls_one_after_another_are_one_reader(numbers: millhopper.Reader) -> None:
    first = numbers.apply("scale", scale=2.0)
    both = first.apply("scale", bias=1.0)
    assert both.to_text().count("create_custom_reader") == 1
    np.testing.assert_array_equal(column(both, "row"), 2 * ROWS + 1)
    np.testing.assert_array_equal(column(first, "row"), 2 * ROWS)
    apart = first.batch(10).apply("scale", "row", bias=1.0)
    assert apart.to_text().count("create_custom_reader") == 2
    np.testing.assert_array_equal(column(apart, "row"), 2 * ROWS + 1)


def test_a_name_that_is_taken_is_refused(numbers: millhopper.Reader) -> None:
    """The second step of a name would overwrite what the first one has made."""
    pair = numbers.apply("scale", "row", "other", scale=10.0)
    first = pair.apply("scale", "row", name="s", scale=2.0)
    taken = "another step or reader has the name '{}'; give another"
    refused = [
        lambda: first.apply("scale", "other", name="s", scale=3.0),
        lambda: first.apply("top_k", "other", name="s", k=2),
        lambda: first.cast("float64", slot="other", name="s"),
        # Steps between them, and readers in whose block the step is hidden.
        lambda: first.apply("scale", "other").apply("scale", "row", name="s"),
        lambda: first.apply("scale", "other").shuffle(9).apply("scale", "row", name="s"),
        lambda: first.shuffle(9).batch(2).apply("scale", "row", name="s"),
    ]
    for make in refused:
        with pytest.raises(millhopper.Error, match=taken.format("s")):
            make()
    with pytest.raises(millhopper.Error, match=taken.format("files")):
        numbers.apply("scale", name="files")
    # A default that is taken gets a number.
    named = numbers.apply("scale", "row", "other", name="s.scale").apply("scale", name="s")
    (third,) = named.apply("scale", "row", scale=2.0).batch(RECORDS)
    np.testing.assert_array_equal(third["row"], 2 * ROWS)
    (both,) = first.apply("scale", "other", name="t", scale=3.0).batch(RECORDS)
    np.testing.assert_array_equal(both["row"], 2 * ROWS)
    np.testing.assert_array_equal(both["other"], 30 * ROWS)


def test_readers_of_a_name_that_is_taken_are_refused(numbers: millhopper.Reader) -> None:
    decorated = numbers.apply("scale", name="s", scale=2.0)
    makers = [
        lambda name: decorated.shuffle(9, name=name),
        lambda name: decorated.batch(2, name=name),
        lambda name: decorated.map(lambda element: element, name=name),
        lambda name: decorated.filter(lambda element: True, name=name),
        lambda name: decorated.select("row", name=name),
        lambda name: decorated.decorate("create_take_reader", name=name, count=1),
        lambda name: decorated.mix(numbers, name=name),
        lambda name: decorated.zip(numbers, names=["a", "b"], name=name),
    ]
    for make in makers:
        for name in ("files", "s"):
            with pytest.raises(millhopper.Error, match=f"there is a variable '{name}' already"):
                make(name)


def test_slots_without_names_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("ab\nc\n")
    lines = millhopper.Reader.open_files(f"text:{path}")
    made = lines.apply("cast", in_dtype=20, out_dtype=3, output="codes")
    assert [element["codes"][0].tolist() for element in made] == [[97, 98], [99]]
    assert list(next(iter(made))) == ["slot0", "codes"]
    mapped = lines.map(lambda element: {"length": len(element["slot0"][0])})
    floats = mapped.apply("cast", "length", in_dtype=3, out_dtype=5)
    assert column(floats, "length").tolist() == [2.0, 1.0]


def test_a_slot_of_any_type_is_cast(tmp_path: Path) -> None:
    np.save(tmp_path / "tokens.npy", np.array([7, 65535], np.uint16))
    stored = millhopper.Reader.open_files(
        tmp_path / "tokens.npy", slots={"tokens": ("uint16", [1])}
    )
    held = millhopper.Reader.from_arrays({"tokens": np.array([7.9, 65535.0])})
    mapped = held.map(lambda element: {"tokens": element["tokens"].astype(np.int32)})
    for reader in (stored, held, mapped):
        (batch,) = reader.cast("int64").batch(2)
        assert batch["tokens"].dtype == np.int64
        assert batch["tokens"].tolist() == [7, 65535]
    undeclared = millhopper.Reader.open_files(tmp_path / "tokens.npy", names=["tokens"])
    with pytest.raises(millhopper.Error, match='^the slots .* are not known: pass slots={"name"'):
        next(iter(undeclared.cast("int64")))
    (batch,) = held.cast("float32", slot="tokens", output="floats").batch(2)
    assert {name: values.dtype for name, values in batch.items()} == {
        "tokens": np.float64,
        "floats": np.float32,
    }


def test_slots_are_selected(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("ab\nc\n")
    lines = millhopper.Reader.open_files(f"text:{tmp_path / 'lines.txt'}", names=["text"])
    tokens = lines.tokenize(output="tokens")
    (batch,) = tokens.select("tokens").batch(2)
    assert list(batch) == ["tokens"]
    assert [row.tolist() for row in batch["tokens"]] == [[97, 98], [99]]
    (packed,) = tokens.select("tokens").pack(4)
    assert packed["tokens"].tolist() == [[97, 98, 99, 0]]
    (batch,) = tokens.select("tokens", "text").batch(2)
    assert list(batch) == ["tokens", "text"]
    assert batch["text"].to_bytes() == [b"ab", b"c"]
    with pytest.raises(millhopper.Error, match="are not different slots of"):
        tokens.select("text", "text")


def test_levels_of_slots_that_are_not_declared_are_found(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("ab\nc\n")
    codes = millhopper.Reader.open_files(f"text:{path}").apply("cast", in_dtype=20, out_dtype=3)
    columns = codes.apply("reshape", shape=[0, 1])
    assert columns.slots() == [("int64", [-1, 1], 1)]
    (batch,) = columns.batch(2)
    assert [row.tolist() for row in batch["slot0"]] == [[[97], [98]], [[99]]]


def test_a_pickled_reader_can_be_applied_to(numbers: millhopper.Reader) -> None:
    reader = pickle.loads(pickle.dumps(numbers.apply("scale", scale=2.0)))
    np.testing.assert_array_equal(column(reader.apply("scale", bias=1.0), "row"), 2 * ROWS + 1)


@pytest.mark.parametrize(
    ("arguments", "attributes", "text"),
    [
        (("scales",), {}, "Operator \"scales\" has not been registered; did you mean 'scale'"),
        (("read", "row"), {}, "operator 'read' does not make tensors of tensors"),
        (("print", "row"), {}, "operator 'print' does not make tensors of tensors"),
        (("scale", "rows"), {}, "operator 'scale': there is no slot 'rows'; did you mean 'row'"),
        (("scale", "label"), {}, "there is no slot 'label'; there are 'row'"),
        (("scale", {"Y": "row"}), {}, "operator 'scale' has no input 'Y'"),
        (("scale", {}), {}, "slot is {}, which names no slot"),
        (("scale", "row", {}), {}, "output is {}; each output is one slot"),
        (("scale", "row", {"Outs": "a"}), {}, "operator 'scale' has no output 'Outs'"),
        (("top_k", "row", {"Out": "a", "Indices": "a"}), {}, "in which two outputs are one slot"),
        (("scale", "row"), {"scales": 2.0}, "has no attribute 'scales'|no attribute 'scales'"),
        (("scale", "row"), {"scale": "much"}, "attribute 'scale'"),
        (("top_k", "row"), {"k": 5}, "rows of at least k = 5 values are needed"),
    ],
)
def test_what_cannot_be_applied_is_refused_at_once(
    numbers: millhopper.Reader,
    arguments: tuple[str, ...],
    attributes: dict[str, object],
    text: str,
) -> None:
    with pytest.raises(millhopper.Error, match=text):
        numbers.apply(*arguments, **attributes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments", [(3,), ("scale", 3), ("scale", {"X": [3]}), ("scale", "row", 3)]
)
def test_arguments_of_other_types_are_type_errors(
    numbers: millhopper.Reader, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(TypeError):
        numbers.apply(*arguments)  # type: ignore[arg-type]


def test_of_several_slots_one_is_named(tmp_path: Path) -> None:
    reader = millhopper.Reader.create(
        "create_random_data_generator",
        slots={"a": ("float32", [1, 2]), "b": ("float32", [1, 2])},
        count=2,
    )
    with pytest.raises(millhopper.Error, match="slot is not given; it must be one of"):
        reader.apply("scale")
    with pytest.raises(TypeError, match="takes|slot"):
        reader.apply("scale", ["a"])  # type: ignore[arg-type]


def test_types_have_names() -> None:
    reader = millhopper.Reader.from_arrays({"x": np.arange(3)})
    for dtype in ["float32", np.float32, 5]:
        (batch,) = reader.apply("cast", "x", out_dtype=dtype).batch(3)
        assert batch["x"].dtype == np.float32
    with pytest.raises(
        millhopper.Error, match="'out_dtype' values cannot be of type 'float23'; did"
    ):
        reader.apply("cast", "x", out_dtype="float23")


@pytest.mark.parametrize("number", [1, 2])
def test_a_block_of_another_program_is_refused(numbers: millhopper.Reader, number: int) -> None:
    other = millhopper.Program()
    for _ in range(number):
        other.create_block(0)
    slots = {"source_var_names": ["row"], "sink_var_names": ["row"]}
    with pytest.raises(millhopper.Error, match=f"there is no block {number} within block 0"):
        numbers.decorate("create_custom_reader", sub_block=other.block(number), **slots)
