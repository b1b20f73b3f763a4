# SPDX-License-Identifier: Apache-2.0
"""Reader's methods that combine readers (concat, zip, mix), and those that take a part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.framework import VarType
from number_files import open_numbers, write_numbers


def first_numbers(reader: millhopper.Reader) -> list[int]:
    """The first number of each record, divided by 4: the record's index in its file."""
    return [int(batch["row"][0, 0]) // 4 for batch in reader]


@pytest.fixture
def few(tmp_path: Path) -> millhopper.Reader:
    return open_numbers(write_numbers(tmp_path / "few", 5))


@pytest.fixture
def many(tmp_path: Path) -> millhopper.Reader:
    return open_numbers(write_numbers(tmp_path / "many", 100))


def test_take_skip_and_fake(many: millhopper.Reader) -> None:
    assert first_numbers(many.take(3)) == [0, 1, 2]
    assert first_numbers(many.skip(97)) == [97, 98, 99]
    assert first_numbers(many.skip(7).fake(4)) == [7] * 4
    assert (len(many.take(3)), len(many.skip(97)), len(many.fake(1000))) == (3, 3, 1000)
    with pytest.raises(millhopper.Error, match="'count' is -1"):
        many.take(-1)


@pytest.mark.parametrize("method", ["concat", "chain"])
def test_concat_yields_one_reader_after_another(
    few: millhopper.Reader, many: millhopper.Reader, method: str
) -> None:
    joined = getattr(few, method)(many.take(3), few)
    assert first_numbers(joined) == [0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 4]
    assert len(joined) == 13
    assert joined.stats().kind == f"create_{method}_reader"  # which positions are compared by


def test_zip_joins_slots(few: millhopper.Reader, many: millhopper.Reader) -> None:
    zipped = few.zip(many.skip(10), check_alignment=False, names=["a", "b"])
    assert [(int(x["a"][0, 0]), int(x["b"][0, 0])) for x in zipped] == [
        (4 * i, 4 * i + 40) for i in range(5)
    ]
    with pytest.raises(millhopper.Error, match="the readers are not aligned"):
        list(few.zip(many, names=["a", "b"]))
    with pytest.raises(ValueError, match=r"two slots have one name: \['row', 'row'\]"):
        few.zip(many)


def test_mix_keeps_the_shares_after_any_number_of_elements(tmp_path: Path) -> None:
    weights = [7, 2, 1]
    readers = [
        open_numbers(write_numbers(tmp_path / f"part{k}", 1000)).map(
            lambda e, k=k: {"part": np.int64(k)}, slots={"part": ("int64", [1])}
        )
        for k in range(3)
    ]
    mixed = readers[0].mix(*readers[1:], weights=weights)
    order = [int(batch["part"][0]) for batch in mixed]
    counts = np.cumsum(np.eye(3)[order], axis=0)
    shares = np.arange(1, len(order) + 1)[:, None] * np.array(weights) / sum(weights)
    assert np.abs(counts - shares).max() < 1
    assert len(order) > 1400


def test_mix_ends_as_told(few: millhopper.Reader, many: millhopper.Reader) -> None:
    # The sixth turn of the reader with five elements is the eleventh or twelfth of all.
    assert len(list(few.mix(many))) in (10, 11)
    everything = first_numbers(few.mix(many, weights=[1, 3], when_exhausted="continue"))
    assert sorted(everything) == sorted([*range(5), *range(100)])
    repeated = first_numbers(few.mix(many, weights=[1, 1], when_exhausted="repeat").batch(1))
    assert repeated.count(99) == 1
    # The reader of 5 has had 100 or 101 turns, and the other one has a 4, too.
    assert repeated.count(4) == 21
    with pytest.raises(millhopper.Error, match="'when_exhausted' is 'wait'; it must be one of"):
        few.mix(many, when_exhausted="wait")
    with pytest.raises(millhopper.Error, match="attribute 'weights' has 1 values for 2 readers"):
        list(few.mix(many, weights=[1]))


def test_the_order_depends_on_seeds_and_weights_alone(
    few: millhopper.Reader, many: millhopper.Reader
) -> None:
    def mixed(seed: int) -> list[int]:
        return first_numbers(many.mix(many, few, weights=[1, 1, 1], seed=seed))

    assert mixed(1) == mixed(1)
    assert mixed(1) != mixed(2)


def test_readers_of_one_chain_become_two(many: millhopper.Reader) -> None:
    shuffled = many.shuffle(50)
    mixed = shuffled.mix(shuffled.map(lambda e: e, slots={"row": ("int64", [1, 4])}))
    counts = np.bincount(first_numbers(mixed), minlength=100)
    # It ends at the 101st turn of one of them, when the other has had 100 turns, or 101.
    assert set(counts) == {2}
    assert "files_2.shuffle" not in mixed.to_text()
    for name in ("files_2", "files.shuffle_2"):
        assert f'arguments: "{name}"' in mixed.to_text()


def test_functions_of_all_readers_live_as_long_as_the_mix(
    few: millhopper.Reader, many: millhopper.Reader
) -> None:
    left = few.map(lambda e: {"row": e["row"] + 400})
    right = many.map(lambda e: {"row": e["row"]})
    both = left.concat(right)
    del left, right
    assert first_numbers(both) == [100, 101, 102, 103, 104, *range(100)]


def test_what_cannot_be_combined(
    tmp_path: Path, few: millhopper.Reader, many: millhopper.Reader
) -> None:
    with pytest.raises(TypeError, match="is no Reader"):
        few.concat([many])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name is 3; it must be a text"):
        few.concat(many, name=3)  # type: ignore[arg-type]
    other = millhopper.Reader.open_files(
        f"fixed:{tmp_path / 'few'}", slots={"values": ("int64", [1, 4])}
    )
    with pytest.raises(ValueError, match=r"call their slots \['row'\] and \['values'\]"):
        few.mix(other)
    seeded = open_numbers(tmp_path / "few", seed=3)
    with pytest.raises(ValueError, match="the readers have seeds 0 and 3"):
        few.concat(seeded)
    narrow = millhopper.Reader.open_files(
        f"fixed:{tmp_path / 'few'}", slots={"row": ("int64", [1, 2])}
    )
    with pytest.raises(millhopper.Error, match="slot 0"):
        list(few.concat(narrow))


def test_combined_readers_decorated_in_a_program(tmp_path: Path) -> None:
    layers = millhopper.layers
    startup, main = millhopper.Program(), millhopper.Program()
    with millhopper.program_guard(main, startup):
        readers = [
            layers.open_files(
                [f"fixed:{write_numbers(tmp_path / name, 6)}"],
                shapes=[[1, 4]],
                dtypes=["int64"],
                lod_levels=[0],
            )
            for name in ("a", "b")
        ]
        mixed = layers.create_mix_reader(readers, weights=[2.0, 1.0])
        layers.read_file(layers.batch(mixed, 3))
        with pytest.raises(TypeError, match="is no reader"):
            layers.create_concat_reader([readers[0], 3])
    assert [op.type for op in startup.global_block().ops][-2:] == [
        "create_mix_reader",
        "create_batch_reader",
    ]


def numbers_of_program(path: Path, records: int) -> Any:
    """The reader of a program."""
    return millhopper.layers.open_files(
        [f"fixed:{write_numbers(path, records)}"],
        shapes=[[1, 4]],
        dtypes=["int64"],
        lod_levels=[0],
    )


def equal_weights(startup: millhopper.Program) -> Any:
    """A variable of two weights, which the startup program makes equal."""
    block = startup.global_block()
    weights = block.create_var("weights", shape=[2], dtype="float64", persistable=True)
    ones = {"shape": [2], "value": 1.0, "dtype": VarType.FP64}
    block.append_op("fill_constant", outputs={"Out": weights}, attrs=ones)
    return weights


def test_weights_in_a_variable_are_read_at_each_pass(tmp_path: Path) -> None:
    layers = millhopper.layers
    startup, main = millhopper.Program(), millhopper.Program()
    with millhopper.program_guard(main, startup):
        readers = [
            numbers_of_program(tmp_path / name, records) for name, records in (("a", 6), ("b", 9))
        ]
        weights = equal_weights(startup)
        mixed = layers.batch(
            layers.create_mix_reader(readers, weights_tensor=weights, when_exhausted="continue"), 99
        )
        row = layers.read_file(mixed)
    executor = millhopper.Executor(millhopper.CPUPlace())
    executor.run(startup)
    lengths = []
    for share in ([1, 0], [0, 1], [2, 1]):
        millhopper.global_scope().find_var("weights").get_tensor().set(np.array(share, np.float64))
        lengths.append(len(executor.run(main, fetch_list=[row])[0]))
        mixed.reset()
    assert lengths == [6, 9, 15]


def test_weights_in_a_variable_are_read_before_each_element(tmp_path: Path) -> None:
    layers = millhopper.layers
    startup, main = millhopper.Program(), millhopper.Program()
    with millhopper.program_guard(main, startup):
        readers = [
            layers.batch(numbers_of_program(tmp_path / name, records), 3)
            for name, records in (("a", 30), ("b", 300))
        ]
        weights = equal_weights(startup)
        mixed = layers.create_mix_reader(readers, weights_tensor=weights, weights_read="element")
        row = layers.read_file(mixed)
    executor = millhopper.Executor(millhopper.CPUPlace())
    scope = millhopper.Scope()  # the files are open as long as it lives
    with millhopper.scope_guard(scope):
        executor.run(startup)
        firsts = []
        for share in ([1, 0], [0, 1], [0, 1], [1, 0]):
            scope.find_var("weights").get_tensor().set(np.array(share, np.float64))
            firsts.append(int(np.asarray(executor.run(main, fetch_list=[row])[0])[0, 0]))
    assert firsts == [0, 0, 12, 12]


def test_columns_of_an_appended_program_keep_their_blocks(
    few: millhopper.Reader, many: millhopper.Reader
) -> None:
    def scaled(reader: millhopper.Reader, by: float) -> millhopper.Reader:
        return reader.apply("scale", "row", scale=by)

    both = scaled(few, 2.0).concat(scaled(many.take(2), 3.0))
    assert [int(batch["row"][0, 1]) for batch in both] == [2, 10, 18, 26, 34, 3, 15]


@pytest.mark.parametrize("method", ["concat", "mix"])
def test_readers_of_one_type_are_joined_whichever_of_them_knows_its_dims(
    method: str, tmp_path: Path, threads: int
) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.arange(30).reshape(10, 3))

    def joined(mapped: str) -> millhopper.Reader:
        readers = []
        for name in ("a", "b"):
            files = millhopper.Reader.open_files(tmp_path / f"{name}.npy", names=["x"])
            readers.append(files.map(lambda element: element) if name in mapped else files)
        joined: millhopper.Reader = getattr(readers[0], method)(readers[1])
        return joined

    for mapped in ("a", "b", "ab", ""):
        whole = [element["x"].tolist() for element in joined(mapped)]
        assert len(whole) == 20
        for first in range(0, 20, 3):
            reader = joined(mapped)
            loop = iter(reader)
            for _ in range(first):
                next(loop)
            state = reader.state_dict()
            again = joined(mapped)
            again.load_state_dict(state)
            assert [element["x"].tolist() for element in again] == whole[first:]


@pytest.mark.parametrize("method", ["concat", "mix"])
def test_readers_of_other_types_yield_nothing(method: str, tmp_path: Path, threads: int) -> None:
    np.save(tmp_path / "a.npy", np.arange(30).reshape(10, 3))
    np.save(tmp_path / "b.npy", np.arange(30.0).reshape(10, 3))
    a, b = (
        millhopper.Reader.open_files(tmp_path / f"{name}.npy", names=["x"]) for name in ("a", "b")
    )
    for reader in (getattr(a, method)(b), getattr(a.batch(2), method)(b.batch(2))):
        with pytest.raises(millhopper.Error, match="only if they have the same slots"):
            next(iter(reader))


def test_a_part_for_validation_stays_one(many: millhopper.Reader, tmp_path: Path) -> None:
    shuffled = many.shuffle(30, seed=3, reshuffle=False)
    validation, training = shuffled.take(20), shuffled.skip(20).shuffle(10)
    held_back = first_numbers(validation)
    assert sorted(held_back) != list(range(20))
    orders = []
    for _ in range(3):
        assert first_numbers(validation) == held_back
        orders.append(first_numbers(training))
        assert sorted(held_back + orders[-1]) == list(range(100))
    assert orders[0] != orders[1] != orders[2]
    # Names do not count, so that both parts may be in one program.
    both = millhopper.Reader.open_files(
        f"fixed:{write_numbers(tmp_path / 'again', 100)}", slots={"row": ("int64", [1, 4])}
    )
    other = both.shuffle(30, seed=3, reshuffle=False, name="other").take(20)
    assert first_numbers(other) == held_back
    # Whole passes in a random order have it, too.
    arrays = {"x": np.arange(100)}
    for make in (
        lambda: millhopper.Reader.from_arrays(arrays, shuffle=True, reshuffle=False),
        lambda: millhopper.Reader.from_dataset(range(100), shuffle=True, reshuffle=False),
        lambda: millhopper.Reader.open_files(
            f"fixed:{tmp_path / 'again'}",
            slots={"row": ("int64", [1, 4])},
            shuffle_records=True,
            reshuffle=False,
        ),
    ):
        part, rest = make().take(20), make().skip(20)
        name = part._slot_names()[0] if part._names else "slot0"
        for _ in range(2):
            values = [np.ravel(element[name])[0] for reader in (part, rest) for element in reader]
            assert len(set(values)) == 100
            assert values != sorted(values)


def test_a_part_that_changes_from_pass_to_pass_is_a_warning(
    few: millhopper.Reader, recwarn: pytest.WarningsRecorder
) -> None:
    leaks = "from the second pass on a training part .* give it reshuffle: false"
    with pytest.warns(UserWarning, match=leaks) as caught:
        few.shuffle(4).skip(2)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=leaks):
        few.shuffle(4).map(lambda element: element).batch(2).double_buffer().skip(1)
    with pytest.warns(UserWarning, match=leaks):
        few.shuffle(4).multi_pass(2).decorate("create_skip_reader", count=2)
    with pytest.warns(UserWarning, match=leaks):
        few.concat(few.shuffle(4)).skip(2)
    with pytest.warns(UserWarning, match=leaks):
        millhopper.Reader.from_dataset(range(5), shuffle=True).skip(1)
    with pytest.warns(UserWarning, match=leaks):
        text = few.shuffle(4).to_text().replace("take", "skip")
        millhopper.Reader(millhopper.Reader(text).skip(2).to_text())
    with pytest.warns(UserWarning, match="give it deterministic: true"):
        millhopper.Reader.open_files("text:LICENSE", deterministic=False).skip(1)
    recwarn.clear()
    few.shuffle(4).take(3)  # to have a look at it
    few.shuffle(4).skip(0)
    few.skip(2).shuffle(4)
    few.shuffle(4, reshuffle=False).skip(2)
    few.shuffle(4).cache(1 << 20).skip(2)
    # A warning belongs to what is built, and not to what is built on it.
    with pytest.warns(UserWarning, match=leaks):
        training = few.shuffle(4).skip(2)
    recwarn.clear()
    training.batch(2).zip(training.batch(2), names=["a", "b"])
    assert not recwarn.list


def parts_of(reader: millhopper.Reader) -> list[int]:
    """The source of each element of a mix of ``numbered``."""
    return [int(element["part"][0]) for element in reader]


def numbered(readers: int, records: int, step: int = 1) -> list[millhopper.Reader]:
    """Sources of many records, each of which tells its source; some have several."""
    return [
        millhopper.Reader.from_arrays(
            {"part": np.full(records, k), "number": np.arange(records) * step}, name=f"part{k}"
        )
        for k in range(readers)
    ]


def worst_stretch(parts: list[int], weights: list[float]) -> float:
    """How far numbers of elements are from their shares over any stretch."""
    shares = np.array(weights) / np.sum(weights)
    leads = np.cumsum(np.eye(len(weights))[parts] - shares, axis=0)
    leads = np.vstack([np.zeros(len(weights)), leads])
    worst: float = (leads.max(axis=0) - leads.min(axis=0)).max()
    return worst


@pytest.mark.parametrize("weights", [[0.5, 0.3, 0.15, 0.05], [0.9, 0.1], [1, 1, 1], [7, 2, 1]])
def test_shares_hold_on_every_rank(weights: list[float], threads: int) -> None:
    for ranks in (1, 2, 3, 4, 8):
        first, *others = numbered(len(weights), 2000)
        mixed = first.mix(*others, weights=weights)
        whole = []
        for rank in range(ranks):
            parts = parts_of(mixed.shard(ranks, rank))
            assert worst_stretch(parts, weights) < 2 + 1e-6
            whole.append(parts)
        assert sum(map(len, whole)) > 2000
    # Batches that are divided.
    for rank in range(2):
        parts = [
            int(part) for batch in mixed.batch(10).shard(2, rank) for part in batch["part"].ravel()
        ]
        assert worst_stretch(parts, weights) < 2 + 1e-6


def parts_within(reader: millhopper.Reader) -> list[int]:
    """As parts_of, of elements that are several."""
    return [int(part) for element in reader for part in np.asarray(element["part"]).ravel()]


@pytest.mark.parametrize("weights", [[0.5, 0.3, 0.15, 0.05], [1, 1], [7, 2, 1]])
def test_shares_hold_on_every_rank_below_what_changes_places(weights: list[float]) -> None:
    shares = np.array(weights) / np.sum(weights)
    ranks = 2
    *parts, other = numbered(len(weights) + 1, 4000)
    mixed = parts[0].mix(*parts[1:], weights=weights)
    for rank in range(ranks):
        # These take as many elements as they say.
        for exact in (mixed.padded_batch(10), mixed.window(10), mixed.window(6, shift=2)):
            assert worst_stretch(parts_within(exact.shard(ranks, rank)), weights) < 4
        # These do not, but for these data: each rank would get every second element.
        for drawn in (
            mixed.filter("part >= 0"),
            mixed.batch(1).unbatch(),
            mixed.select("part").pack(1),
            mixed.mix(other, weights=[1, 1]),
        ):
            counts = np.bincount(parts_within(drawn.shard(ranks, rank)), minlength=len(weights))
            counts = counts[: len(weights)]  # without `other`
            lead = counts - counts.sum() * shares
            assert counts.sum() > 1000
            assert np.all(np.abs(lead) < 5 * np.sqrt(counts.sum() * shares * (1 - shares)))


def test_weights_change_at_steps(threads: int) -> None:
    first, second = numbered(2, 5000)
    steps = {0: [1, 0], 100: [1, 3], 500: [0, 1]}
    mixed = first.mix(second, weights=steps)
    parts = parts_of(mixed)
    assert sum(parts[:100]) == 0
    assert abs(sum(parts[100:500]) - 300) <= 1
    assert set(parts[500:]) == {1}
    both = list(mixed.take(700).batch(7))
    for cut in (0, 1, 13, 14, 15, 71, 72, 99):
        reader = mixed.take(700).batch(7)
        loop = iter(reader)
        for _ in range(cut):
            next(loop)
        again = mixed.take(700).batch(7)
        again.load_state_dict(reader.state_dict())
        rest = list(again)
        assert len(rest) == len(both) - cut
        for left, right in zip(rest, both[cut:]):
            assert np.array_equal(left["number"], right["number"])
    with pytest.raises(millhopper.Error, match="'steps' begins with 3; the first weights hold"):
        first.mix(second, weights={3: [1, 1]})


def test_shares_of_lengths(threads: int) -> None:
    rng = np.random.default_rng(1)
    readers = []
    for k, longest in enumerate((10, 100, 1000)):
        rows = [np.full(rng.integers(1, longest), k) for _ in range(600)]
        readers.append(
            millhopper.Reader.from_dataset(
                [{"tokens": row} for row in rows],
                slots={"tokens": ("int64", [-1], 1)},
                name=f"part{k}",
            )
        )
    weights = np.array([0.2, 0.3, 0.5])
    for by in ("tokens", "bytes", 0):
        mixed = readers[0].mix(*readers[1:], weights=weights, by=by, when_exhausted="stop")
        lengths = np.zeros(3)
        for element in mixed:
            values = element["tokens"].values
            lengths[values[0]] += len(values)
            assert np.abs(lengths - lengths.sum() * weights).max() < 1000
        assert lengths.sum() > 10_000
    with pytest.raises(ValueError, match="no slot is called 'words'"):
        readers[0].mix(*readers[1:], by="words")


def test_classes_are_balanced(threads: int) -> None:
    labels = np.array([0] * 700 + [1] * 200 + [2] * 100)
    reader = millhopper.Reader.from_arrays({"label": labels, "number": np.arange(1000)})
    balanced = reader.balance("label").shuffle(500)
    for _ in range(2):
        seen = [int(element["label"][0]) for element in balanced]
        assert np.abs(np.bincount(seen) - 1000 / 3).max() <= 1
    given = reader.balance("label", counts={0: 700, 1: 200, 2: 100})
    assert np.abs(np.bincount([int(e["label"][0]) for e in given]) - 1000 / 3).max() <= 1
    weighed = reader.resample({0: 0, 1: 0.5}, key="label", others=3)
    counts = np.bincount([int(element["label"][0]) for element in weighed])
    assert abs(counts[1] - 100) <= 1
    assert (counts[0], counts[2]) == (0, 300)
    own = millhopper.Reader.from_arrays({"weight": np.arange(4.0)}).resample("weight")
    assert [float(element["weight"][0]) for element in own] == [1, 2, 2, 3, 3, 3]
    with pytest.raises(TypeError, match="weights of classes need key"):
        reader.resample({0: 1})
    with pytest.raises(TypeError, match="1.5 is no class"):
        reader.resample({1.5: 1}, key="label")
    with pytest.raises(ValueError, match="at least one element for each class"):
        reader.balance("label", counts={0: 0})


def test_classes_that_are_texts_are_balanced(tmp_path: Path) -> None:
    path = tmp_path / "animals.csv"
    path.write_text("name,number\n" + "cat,1\n" * 30 + "dog,2\n" * 10)
    reader = millhopper.Reader.open_files(path)
    seen = [element["name"][0] for element in reader.balance("name")]
    assert (seen.count("cat"), seen.count("dog")) == (20, 20)


def test_weights_and_counts_that_mean_nothing() -> None:
    reader = millhopper.Reader.from_arrays({"label": np.arange(12) % 4})
    with pytest.raises(ValueError, match="the weight of one class at least"):
        reader.resample({}, key="label", others=0.5)
    with pytest.raises(ValueError, match="class 0 has 1 of 200001 elements"):
        reader.balance("label", counts={0: 1, 1: 200_000})
    with pytest.raises(ValueError, match="no slot is called 'zz'"):
        reader.balance("zz")


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "bool"])
def test_classes_and_weights_of_any_integer(dtype: str) -> None:
    labels = (np.arange(120) % 3 == 0).astype(dtype)
    reader = millhopper.Reader.from_arrays({"label": labels})
    balanced = [int(np.asarray(element["label"]).item()) for element in reader.balance("label")]
    assert abs(balanced.count(0) - balanced.count(1)) <= 2
    weighed = [int(np.asarray(element["label"]).item()) for element in reader.resample("label")]
    assert set(weighed) == {1}
