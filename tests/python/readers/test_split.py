# SPDX-License-Identifier: Apache-2.0
"""Reader.split: parts for training and for validation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Callable

import millhopper
import numpy
import pytest
from millhopper import Reader

SHARES = [0.7, 0.2, 0.1]
RECORDS = 3000


def numbers_of(reader: Reader) -> list[int]:
    """The values of the first slot, one an element."""
    return [int(numpy.asarray(next(iter(element.values()))).ravel()[0]) for element in reader]


def lines(path: Path, first: int, count: int) -> str:
    path.write_text("n\n" + "".join(f"{number}\n" for number in range(first, first + count)))
    return str(path)


def csv(*paths: str, **options: object) -> Reader:
    return Reader.open_files(list(paths), fields=["n int64[]"], **options)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return lines(tmp_path / "a.csv", 0, RECORDS)


def parts_of(reader: Reader, **options: object) -> list[set[int]]:
    """What is in each part, which must be disjoint."""
    read = [numbers_of(part) for part in reader.split(SHARES, **options)]
    assert max(Counter(sum(read, [])).values()) == 1
    return [set(numbers) for numbers in read]


def test_parts_have_their_shares_and_together_all(table: str) -> None:
    parts = parts_of(csv(table))
    assert set.union(*parts) == set(range(RECORDS))
    for part, share in zip(parts, SHARES):
        assert abs(len(part) / RECORDS - share) < 0.04
    assert parts_of(csv(table), seed=1) != parts


@pytest.mark.parametrize(
    "change",
    [
        lambda reader: reader.shuffle(100),
        lambda reader: reader.shuffle(100).cache(memory_bytes=1 << 20),
        lambda reader: reader.map(lambda n: n),
        lambda reader: reader.filter(lambda n: True),
        lambda reader: reader.double_buffer(),
    ],
)
def test_what_stands_below_changes_no_part(table: str, change: Callable[[Reader], Reader]) -> None:
    assert parts_of(change(csv(table))) == parts_of(csv(table))


def test_each_pass_has_the_same_part(table: str) -> None:
    train = csv(table).shuffle(500).split(SHARES)[0]
    first, second = numbers_of(train), numbers_of(train)
    assert first != second
    assert set(first) == set(second)


@pytest.mark.parametrize("lanes", [3, 16])
def test_lanes_and_ranks_change_no_part(table: str, tmp_path: Path, lanes: int) -> None:
    more = lines(tmp_path / "b.csv", RECORDS, RECORDS)
    parts = parts_of(csv(table, more))
    assert parts_of(csv(table, more, lanes=lanes).shuffle(100)) == parts
    of_ranks = [numbers_of(csv(table, more).split(SHARES)[1].shard(3, rank)) for rank in range(3)]
    assert Counter(sum(of_ranks, [])) == Counter(parts[1])


def test_a_file_that_is_added_moves_nothing(table: str, tmp_path: Path) -> None:
    more = lines(tmp_path / "0.csv", RECORDS, 100)
    for part, larger in zip(parts_of(csv(table)), parts_of(csv(more, table))):
        assert {number for number in larger if number < RECORDS} == part


def test_a_folder_that_is_moved_moves_nothing(table: str, tmp_path: Path) -> None:
    parts = parts_of(csv(table))
    (tmp_path / "other").mkdir()
    moved = tmp_path / "other" / "a.csv"
    Path(table).rename(moved)
    assert parts_of(csv(str(moved))) == parts


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = []
    for number in range(300):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(lines(folder / "one.csv", number, 1))
    assert all(parts_of(csv(*paths)))


def test_equal_keys_are_in_one_part(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    rows = "".join(f"{number},u{number % 50}\n" for number in range(1000))
    path.write_text(f"n,user\n{rows}")
    reader = Reader.open_files(str(path), fields=["n int64[]", "user bytes"])
    for key in ("user", 1):
        parts = parts_of(reader, key=key)
        users = [{number % 50 for number in part} for part in parts]
        assert sum(map(len, users)) == 50
        assert all(users)


def test_a_file_of_another_name_moves_nothing_of_two_alike(tmp_path: Path) -> None:
    paths = []
    for number, name in enumerate(["a/x.csv", "b/x.csv", "b/y.csv"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        paths.append(lines(tmp_path / name, 1000 * number, 1000))
    two, three = parts_of(csv(*paths[:2])), parts_of(csv(*paths))
    assert [{n for n in part if n < 2000} for part in three] == two
    (tmp_path / "moved").mkdir()
    for folder in "a", "b":
        (tmp_path / folder).rename(tmp_path / "moved" / folder)
    moved = [path.replace(str(tmp_path), str(tmp_path / "moved")) for path in paths]
    assert parts_of(csv(*moved)) == three


def test_images_of_a_folder_are_told_by_their_names(tmp_path: Path) -> None:
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for number in range(100):
            (tmp_path / label / f"{number:03}.png").write_bytes(bytes([number]))
    reader = Reader.open_files(f"image_folder:{tmp_path}")

    def first(slot: object) -> int:
        return int(numpy.asarray(slot).ravel()[0])

    def names() -> list[set[tuple[int, ...]]]:
        return [
            {tuple(map(first, element.values())) for element in part}
            for part in reader.split(SHARES)
        ]

    before = names()
    assert sum(map(len, before)) == 200
    (tmp_path / "cat" / "000a.png").write_bytes(bytes([250]))
    (tmp_path / "dog" / "050.png").unlink()
    for part, changed in zip(before, names()):
        assert changed - {(250, 0)} == part - {(50, 1)}


def test_a_cache_on_a_disk_changes_no_part(tmp_path: Path) -> None:
    (tmp_path / "images" / "cat").mkdir(parents=True)
    for number in range(100):
        (tmp_path / "images" / "cat" / f"{number}.png").write_bytes(bytes([number]))
    images = Reader.open_files(f"image_folder:{tmp_path / 'images'}")
    cached = images.cache(directory=str(tmp_path / "cache"), disk_bytes=1 << 20)
    for _ in range(2):  # that writes it, and that reads from it
        assert parts_of(cached) == parts_of(images)


def test_shuffled_records_are_those_in_order(tmp_path: Path) -> None:
    numpy.save(tmp_path / "n.npy", numpy.arange(200000))
    path = str(tmp_path / "n.npy")
    in_order = parts_of(Reader.open_files(path))
    assert parts_of(Reader.open_files(path, shuffle_records=True)) == in_order


def test_shuffled_records_that_are_kept_are_told_apart(tmp_path: Path) -> None:
    numpy.save(tmp_path / "n.npy", numpy.arange(2000))
    records = Reader.open_files(str(tmp_path / "n.npy"), shuffle_records=True)
    for cached in (
        records.cache(memory_bytes=1 << 20),
        records.cache(directory=str(tmp_path / "cache"), disk_bytes=1 << 20),
    ):
        part = cached.split(SHARES)[1]
        assert set(numbers_of(part)) == set(numbers_of(part)) == parts_of(records)[1]
    kept = records.multi_pass(50).filter(lambda n: True).split(SHARES)[1]
    assert set(numbers_of(kept)) == parts_of(records)[1]


def test_an_index_changes_no_part(tmp_path: Path) -> None:
    path = tmp_path / "n.jsonl"
    path.write_text("".join(f'{{"n": {number}}}\n' for number in range(200000)))
    reader = Reader.open_files(str(path), fields=["n int64[]"])
    parts = parts_of(reader)
    millhopper.set_index()
    try:
        for _ in reader:
            pass
        assert (tmp_path / "n.jsonl.mhi").exists()
        assert parts_of(reader) == parts
    finally:
        millhopper.set_index(False)


def test_arrays_are_told_by_their_rows() -> None:
    rows = numpy.arange(1000)
    parts = parts_of(Reader.from_arrays({"n": rows}))
    assert set.union(*parts) == set(range(1000))
    assert parts_of(Reader.from_arrays({"n": rows}, shuffle=True)) == parts


def test_a_part_is_resumed(table: str) -> None:
    def train() -> Reader:
        return csv(table).shuffle(200).split([0.8, 0.2])[0].batch(7)

    whole = [batch["n"].tolist() for batch in train()]
    reader = train()
    iterator = iter(reader)
    head = [next(iterator)["n"].tolist() for _ in range(11)]
    state = reader.state_dict()
    resumed = train()
    resumed.load_state_dict(state)
    assert head + [batch["n"].tolist() for batch in resumed] == whole
    other = csv(table).shuffle(200).split([0.8, 0.2])[1].batch(7)
    with pytest.raises(millhopper.Error, match="part 1 of 0.8 0.2, seed 0"):
        other.load_state_dict(state)
        next(iter(other))


def test_what_cannot_be_split_says_so(table: str) -> None:
    reader = csv(table)
    with pytest.raises(millhopper.Error, match="the sum of the shares is"):
        list(reader.split([0.5, 0.4])[0])
    for key in None, "n":
        with pytest.raises(millhopper.Error, match="divide the records below it"):
            list(reader.batch(4).split([0.5, 0.5], key=key)[0])
    fed = Reader.from_iterable(lambda: range(10))
    with pytest.raises(millhopper.Error, match="give a key"):
        list(fed.split([0.5, 0.5])[0])
    assert sum(len(numbers_of(part)) for part in fed.split([0.5, 0.5], key=0)) == 10
    with pytest.raises(ValueError, match="shares is empty"):
        reader.split([])
    with pytest.raises(millhopper.Error, match="divide the records below it"):
        list(reader.batch(4).split([0.5, 0.5])[0])
    with pytest.raises(TypeError, match="0.9"):
        reader.split(0.9)  # type: ignore[arg-type]
