# SPDX-License-Identifier: Apache-2.0
"""Columns of tables as features: words, crosses, and statistics."""

from __future__ import annotations

import ast
import collections
import json
import operator
import random
import tracemalloc
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict

pytestmark = pytest.mark.usefixtures("own_cache")

Reader = millhopper.Reader


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("city,hour,fare\nOslo,7,1.5\nRome,7,\n,8,3\nOslo,7,6\nBonn,9,3\n")
    return path


@pytest.mark.usefixtures("threads")
def test_words_have_numbers_as_in_keras(table: Path, tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("Oslo\nBonn\n")
    reader = Reader.open_files(table, fields=["city str", "hour int64[]"])
    cities = tmp_path / "cities.txt"
    (batch,) = reader.lookup(cities, first=2, default=1, null=0, slot="city").batch(5)
    assert batch["city"].tolist() == [2, 1, 0, 2, 3]
    (batch,) = reader.lookup(cities, num_oov_buckets=4, null=-1, slot="city").batch(5)
    (hashes,) = reader.hash_bucket(4, slot="city").batch(5)
    assert batch["city"].tolist() == [0, 2 + hashes["city"][1], -1, 0, 1]


def test_words_are_a_list() -> None:
    words = Reader.from_iterable([{"w": "b"}, {"w": "a"}, {"w": "\u00e9 x"}])
    found = words.lookup(["a", "b", "\u00e9 x"], slot="w", output="n")
    assert [element["n"].tolist() for element in found] == [[1], [0], [2]]
    with pytest.raises(ValueError, match=r"the word 'a\\nb' has more than one line"):
        words.lookup(["a\nb"], slot="w")
    with pytest.raises(TypeError, match="1 in a vocabulary; it is a file, or a list of str"):
        words.lookup([1], slot="w")  # type: ignore[list-item]


def test_columns_are_crossed(table: Path) -> None:
    reader = Reader.open_files(table, fields=["city str", "hour int32[]"])
    (batch,) = reader.cross(["city", "hour"], 1_000_003).batch(5)
    crossed = batch["city_x_hour"]
    assert crossed.dtype == np.int64 and crossed.shape == (5,)
    assert crossed[0] == crossed[3]
    assert len(set(crossed.tolist())) == 4
    # The same by batches, whatever the type of the hours is.
    wide = Reader.open_files(table, fields=["city str", "hour int64[]"])
    (again,) = wide.batch(5).cross(["city", "hour"], 1_000_003, output="hour")
    assert again["hour"].tolist() == crossed.tolist()
    with pytest.raises(millhopper.Error, match="there is no slot 'town'"):
        reader.cross(["town", "hour"], 10)


# A null is no 0, whether batches are made before or after.
@pytest.mark.parametrize("batched", [False, True])
def test_what_is_missing_is_no_number(tmp_path: Path, batched: bool) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,city\n20,Oslo\n,Rome\n0,\n40,Oslo\n")
    reader = Reader.open_files(path)
    statistics = reader.statistics(["age"])
    assert statistics["age"]["nulls"] == 1 and statistics["age"]["mean"] == 20

    def made(method: str, *arguments: Any, **keywords: Any) -> Any:
        chain = getattr(reader.batch(4) if batched else reader, method)(*arguments, **keywords)
        (batch,) = chain if batched else chain.batch(4)
        assert batch["age.valid"].tolist() == [True, False, True, True]
        return batch

    ages = made("standardize", statistics)["age"]
    assert np.isnan(ages).tolist() == [False, True, False, False]
    np.testing.assert_allclose(ages[[0, 2, 3]] * statistics["age"]["std"], [0, -20, 20])
    assert made("bucketize", [1, 30], slot="age")["age"].tolist() == [1, 2, 0, 2]
    assert made("bucketize", [1, 30], null=3, slot="age")["age"].tolist() == [1, 3, 0, 2]
    cities = made("hash_bucket", 5, null=5, slot="city")["city"]
    assert cities[2] == 5 and max(cities[[0, 1, 3]]) < 5
    ages = made("cross", ["age"], 1_000_003)["age"]
    assert len(set(ages.tolist())) == 4
    (zero,) = Reader.from_arrays({"x": np.array([0])}).cross(["x"], 1_000_003)
    assert ages[2] == zero["x"][0]


def test_a_table_is_no_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("word,n\na,1\nb,2\n")
    words = Reader.from_iterable([{"w": "b"}])
    with pytest.raises(ValueError, match="one word a line, and this is a table; list the words"):
        words.lookup(path, slot="w")
    table = Reader.open_files(path, fields=["word str"])
    listed = [word for batch in table.batch(1024) for word in batch["word"]]
    assert next(iter(words.lookup(listed, slot="w")))["w"].tolist() == [1]


def test_fields_of_factorization_machines(tmp_path: Path) -> None:
    (tmp_path / "a.ffm").write_text("1 0:3:0.5 12:40:-2\n0\n")
    first, second = Reader.open_files(tmp_path / "a.ffm")
    assert first["field"][0].tolist() == [0, 12]
    assert first["index"][0].tolist() == [3, 40]
    assert first["value"][0].tolist() == [0.5, -2.0]
    assert second["label"].tolist() == [0.0] and len(second["value"][0]) == 0


@pytest.mark.parametrize("batched", [False, True])
def test_statistics_are_those_of_numpy(tmp_path: Path, batched: bool) -> None:
    random = np.random.default_rng(1)
    x = random.normal(1e6, 3, 5000)
    x[random.random(5000) < 0.1] = np.nan
    y = random.integers(-5, 100, (5000, 3))
    reader = Reader.from_arrays({"x": x, "y": y})
    found = (reader.batch(700) if batched else reader).statistics()
    found = json.loads(json.dumps(found))
    assert found["x"]["count"] == np.isfinite(x).sum()
    assert found["x"]["nulls"] == np.isnan(x).sum()
    assert found["y"]["count"] == [5000] * 3 and found["y"]["nulls"] == [0] * 3
    for slot, values in {"x": x, "y": y}.items():
        for name, function in {"min": np.nanmin, "max": np.nanmax}.items():
            np.testing.assert_array_equal(found[slot][name], function(values, axis=0))
        for name, function in {"mean": np.nanmean, "std": np.nanstd}.items():
            np.testing.assert_allclose(found[slot][name], function(values, axis=0), rtol=1e-12)
    (batch,) = reader.standardize(found).batch(5000)
    assert batch["x"].dtype == np.float32 and batch["y"].shape == (5000, 3)
    expected = (x - np.nanmean(x)) / np.nanstd(x)
    np.testing.assert_allclose(batch["x"], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(batch["y"].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(batch["y"].std(axis=0), 1, rtol=1e-5)


def test_statistics_leave_the_next_loop_as_it_is(table: Path) -> None:
    reader = Reader.open_files(table).shuffle(5, seed=3)
    expected = [batch["hour"].tolist() for batch in Reader.open_files(table).shuffle(5, seed=3)]
    assert set(reader.statistics()) == {"hour", "fare"}
    assert [batch["hour"].tolist() for batch in reader] == expected


def test_statistics_of_sequences_and_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"v": [1, 2]}\n{"v": []}\n{"v": [6]}\n')
    reader = Reader.open_files(tmp_path / "a.jsonl", fields=["v float32[-1]"])
    found = reader.statistics()["v"]
    assert found["count"] == 3 and found["mean"] == 3.0 and found["max"] == 6.0
    (batch,) = reader.standardize({"v": found}).batch(3)
    np.testing.assert_allclose(batch["v"].values, (np.array([1, 2, 6]) - 3) / found["std"])
    assert reader.take(0).statistics()["v"]["count"] == 0


def test_only_booleans_are_masks() -> None:
    values = np.arange(3.0)
    mask = np.array([True, False, True])
    found = Reader.from_arrays({"a": values, "a.valid": 10 * values}).statistics()
    assert found["a"]["nulls"] == 0 and found["a.valid"]["max"] == 20
    found = Reader.from_arrays({"a": values, "a.valid": mask}).statistics()
    assert set(found) == {"a"} and found["a"]["nulls"] == 1
    texts = Reader.from_iterable([{"a": 1.0, "a.valid": "yes"}])
    assert texts.statistics()["a"]["nulls"] == 0


def test_statistics_of_images_take_little_memory() -> None:
    images = np.random.default_rng(1).integers(0, 256, (1200, 64, 64, 3), np.uint8)
    reader = millhopper.Reader.from_arrays({"image": images})
    tracemalloc.start()
    try:
        found = reader.statistics()["image"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.allclose(found["mean"], images.mean(axis=0).ravel())
    assert np.allclose(found["std"], images.std(axis=0).ravel())
    assert peak < images.size * 8 / 2  # less than half of the images as float64


def test_what_has_no_statistics(table: Path) -> None:
    reader = Reader.open_files(table)
    with pytest.raises(ValueError, match="slot 'city' has text or bytes"):
        reader.statistics(["city"])
    with pytest.raises(ValueError, match="no slot is called 'town'"):
        reader.statistics(["town"])
    with pytest.raises(ValueError, match="there are no statistics of 'hour', only of"):
        reader.standardize({"fare": {"mean": 0, "std": 1}}, "hour")


def hours(reader: Reader) -> list[int]:
    return [hour for element in reader for hour in element["hour"].tolist()]


@pytest.mark.usefixtures("threads")
def test_a_filter_is_a_text(table: Path) -> None:
    reader = Reader.open_files(table)
    assert hours(reader.filter("hour >= 8")) == [8, 9]
    assert hours(reader.filter("city == 'Oslo' and fare > 1.5")) == [7]
    assert hours(reader.filter("city != 'Oslo'")) == [7, 9]  # not the row without a city
    assert hours(reader.filter("city is missing or fare is missing")) == [7, 8]
    assert hours(reader.filter("`city.valid`")) == hours(reader.filter("city.valid"))
    assert len(hours(reader.shuffle(5).filter("hour in (7, 9)").filter("not hour == 9"))) == 3
    kept = reader.filter(lambda e: e["hour"][0] >= 8)
    assert hours(reader.filter("hour >= 8")) == hours(kept)


def test_a_filter_without_names_has_slots_by_number(table: Path) -> None:
    reader = Reader.from_arrays({"x": np.arange(10), "y": np.arange(10) % 3})
    (batch,) = reader.filter("x > 3 and y == 0").batch(10)
    assert batch["x"].tolist() == [6, 9]
    generated = Reader.create("create_range_reader", count=5)
    (batch,) = generated.filter("slot0 < 2").batch(5)
    assert batch["slot0"].tolist() == [0, 1]


def test_a_filter_that_is_wrong(table: Path) -> None:
    reader = Reader.open_files(table)
    with pytest.raises(millhopper.Error, match="no slot 'hours'; did you mean 'hour'"):
        reader.filter("hours > 3")
    with pytest.raises(millhopper.Error, match="character 6: == is wanted"):
        reader.filter("hour = 3")
    with pytest.raises(millhopper.Error, match="slot 'city' is text, and '3' is a number"):
        list(reader.filter("city == 3"))
    with pytest.raises(millhopper.Error, match="has 5 values in an element"):
        list(reader.batch(5).filter("hour > 3"))
    with pytest.raises(millhopper.Error, match="there is no slot '__import__'"):
        reader.filter("__import__('os').system('true')")


def test_statistics_leave_out_what_masks_say_is_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,t\n1,1.5,x\n,2.5,\n5,,y\n")
    reader = Reader.open_files(str(tmp_path / "t.csv"))
    found = reader.statistics()
    assert set(found) == {"a", "b"}
    assert found["a"] == {"count": 2, "nulls": 1, "min": 1, "max": 5, "mean": 3, "std": 2}
    assert found["b"]["nulls"] == 1
    reader.standardize(found)
    with pytest.raises(TypeError, match="slots is 'fare'; it is a list"):
        reader.statistics("fare")


def test_a_constant_has_no_deviation() -> None:
    found = Reader.from_arrays({"x": np.full(3000, 0.1)}).statistics()["x"]
    assert (found["mean"], found["std"]) == (0.1, 0)


def test_rows_of_different_widths_have_no_statistics() -> None:
    reader = Reader.from_iterable([{"x": np.zeros(2)}, {"x": np.zeros(3)}])
    with pytest.raises(ValueError, match="slot 'x' has rows of 2 and of 3 values"):
        reader.statistics()


def test_numbers_of_conditions_are_exact() -> None:
    least = -(2**63)
    whole = Reader.from_arrays({"i": np.array([least, 0, 2**53, 2**53 + 1])})

    def kept(condition: str) -> list[int]:
        return [element["i"].item() for element in whole.filter(condition)]

    assert kept(f"i == {least - 1}") == []
    assert kept(f"i > {least - 1}") == [least, 0, 2**53, 2**53 + 1]
    assert kept("i == 9007199254740993.0") == [2**53 + 1]
    assert kept("i >= 9007199254740992.5") == [2**53 + 1]
    floats = Reader.from_arrays({"f": np.array([np.inf, 0.1], np.float32)})
    assert [element["f"].item() for element in floats.filter("f > 1e308")] == [np.inf]
    assert len(list(floats.filter("f == 0.1"))) == 1
    doubles = Reader.from_arrays({"d": np.array([0.1, 0.2])})
    assert len(list(doubles.filter("d == 0.1"))) == 1


class BeyondError(Exception):
    """An integer that 64 bits do not hold."""


def computed(node: ast.expr, row: dict[str, Any]) -> Any:
    """What Python's own operators make of an expression, whose integers have 64 bits."""
    if isinstance(node, ast.Name):
        return row[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        made = -computed(node.operand, row)
    else:
        assert isinstance(node, ast.BinOp)
        left, right = computed(node.left, row), computed(node.right, row)
        if isinstance(node.op, ast.Div):  # Python rounds quotients of large integers once only
            left, right = float(left), float(right)
        made = _OPERATORS[type(node.op)](left, right)
    if isinstance(made, int) and not -(2**63) <= made < 2**64:
        raise BeyondError
    return made


_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
}
_LITERALS = ["0", "1", "2", "3", "7", "10", "0.5", "2.0", "0.1", "1e3", "4294967296", "-5", "-0.25"]


def random_sum(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["i", "j", "u", "f", "g", *_LITERALS])
    if rng.random() < 0.15:
        return f"-{random_sum(rng, depth - 1)}"
    sign = rng.choice([" + ", "-", " *", "/ ", " // ", "%", " % "])
    made = f"{random_sum(rng, depth - 1)}{sign}{random_sum(rng, depth - 1)}"
    return f"({made})" if rng.random() < 0.4 else made


def test_arithmetic_of_conditions_is_pythons() -> None:
    rng = random.Random(7)
    columns = {
        "i": np.array([*range(-6, 7), 2**62, -(2**63), 2**53 + 1] * 2),
        "j": np.array(rng.choices([*range(-9, 10), 2**40], k=32)),
        "u": np.array(rng.choices([0, 1, 2, 3, 2**63, 2**64 - 1], k=32), np.uint64),
        "f": np.array(rng.choices([0.0, -0.5, 2.75, 0.1, -1e300, 1e300, np.inf], k=32)),
        "g": np.array(rng.choices([0.1, 1.5, -3.0, 16777216.0], k=32), np.float32),
    }
    rows = [{name: values[row].item() for name, values in columns.items()} for row in range(32)]
    source = Reader.from_arrays(columns)
    outcomes: collections.Counter[str] = collections.Counter()
    for _ in range(400):
        sign = rng.choice(["==", "!=", "<", ">="])
        text = f"{random_sum(rng, 3)} {sign} {random_sum(rng, 1)}"
        comparison = ast.parse(text, mode="eval").body
        assert isinstance(comparison, ast.Compare)
        compare = _COMPARISONS[type(comparison.ops[0])]
        expected, words = [], ""
        for number, row in enumerate(rows):
            try:
                sides = [computed(side, row) for side in (comparison.left, *comparison.comparators)]
            except ZeroDivisionError:
                words = "' is 0, by which "
            except BeyondError:
                words = "' is an integer beyond 64 bits"
            if words:
                break
            if not any(side != side for side in sides) and compare(*sides):
                expected.append(number)
        got, said = [], ""
        try:
            for element in source.filter(text):
                got.append({name: value.item() for name, value in element.items()})
        except millhopper.Error as error:
            said = str(error)
        assert [rows[number] for number in expected] == got, text
        assert words in said and bool(words) == bool(said), (text, said)
        outcomes[words or "kept"] += 1
    assert min(outcomes.values()) > 20 and len(outcomes) == 3, outcomes


def test_comparisons_one_after_another_are_pythons() -> None:
    rng = random.Random(11)
    rows = [{"a": a, "b": b} for a in range(4) for b in range(-1, 3)]
    columns = {name: np.array([row[name] for row in rows]) for name in ("a", "b")}
    source = Reader.from_arrays(columns)
    kept = 0
    for _ in range(200):
        parts = []
        for _ in range(rng.randint(1, 3)):
            part = rng.choice(["a", "b", "1", "a + b"])
            for _ in range(rng.randint(1, 3)):
                sign = rng.choice(["==", "!=", "<", "<=", ">", ">="])
                part += f" {sign} {rng.choice(['a', 'b', '0', '2', 'b * 2'])}"
            part = rng.choice([part, "a in [0, 3]", "b not in (-1, 2)"])
            parts.append(rng.choice(["", "not "]) + part)
        words = [rng.choice(["and", "or"]) for _ in parts[1:]]
        text = parts[0] + "".join(f" {w} {p}" for w, p in zip_strict(words, parts[1:]))
        signs = text.replace(" and ", " & ").replace(" or ", " | ").replace("not a", "~ a")
        expected = [row for row in rows if eval(text, {}, row)]
        for condition in (text, signs):
            found = [(e["a"].item(), e["b"].item()) for e in source.filter(condition)]
            assert found == [(row["a"], row["b"]) for row in expected], condition
        kept += len(expected)
    assert 800 < kept < 2400


def test_lists_are_missing_by_their_masks(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a":[1,2]}\n{"a":null}\n{"a":[5]}\n')
    reader = Reader.open_files(str(tmp_path / "t.jsonl"))
    assert len(list(reader.filter("a is missing"))) == 1
    assert len(list(reader.filter("not a is missing"))) == 2


def test_a_condition_of_too_many_parts() -> None:
    reader = Reader.from_arrays({"a": np.array([True])})
    with pytest.raises(millhopper.Error, match="it has more than 1000 parts; `in` takes many"):
        reader.filter(" or ".join(["a"] * 600))


def test_a_function_sees_texts(tmp_path: Path) -> None:
    """The example of the docstring of ``filter``."""
    (tmp_path / "t.csv").write_text(f"text,n\n{'x' * 50},1\nshort,2\n")
    reader = Reader.open_files(str(tmp_path / "t.csv"))
    assert len(list(reader.filter(lambda e: len(e["text"][0]) > 20))) == 1
