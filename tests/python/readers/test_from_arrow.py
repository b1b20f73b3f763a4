# SPDX-License-Identifier: Apache-2.0
"""Tables and streams of other libraries, through Arrow's C stream interface."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import millhopper
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

TABLE = pa.table(
    {
        "n": range(1000),
        "s": [str(i) for i in range(1000)],
        "l": [[i] * (i % 3) for i in range(1000)],
        "w": pa.array(["even", "odd"] * 500).dictionary_encode(),
    }
)


def test_a_table_is_read_pass_after_pass() -> None:
    reader = millhopper.Reader.from_arrow(TABLE).batch(300).double_buffer()
    for _ in range(2):
        batches = list(reader)
        assert [len(batch["n"]) for batch in batches] == [300, 300, 300, 100]
        assert [int(n) for batch in batches for n in batch["n"]] == list(range(1000))
        texts = [text for batch in batches for text in batch["s"].to_bytes()]
        assert texts == [str(i).encode() for i in range(1000)]
        lists = [list(row) for batch in batches for row in batch["l"]]
        assert lists == [[i] * (i % 3) for i in range(1000)]
        assert batches[0]["w"].to_bytes()[:2] == [b"even", b"odd"]


def test_fields_choose_columns() -> None:
    reader = millhopper.Reader.from_arrow(
        TABLE, fields={"x": "n float32[] scale=1/2", "word": "w int64[] hash=1000"}
    )
    (batch,) = reader.batch(1000)
    np.testing.assert_array_equal(batch["x"], np.arange(1000, dtype=np.float32) / 2)
    assert len(set(batch["word"].tolist())) == 2


def test_names_alone_choose_columns() -> None:
    (batch,) = millhopper.Reader.from_arrow(TABLE, fields={"x": "n", "s": None}).take(1).batch(1)
    assert [batch["x"].tolist(), batch["s"].to_bytes()] == [[0], [b"0"]]
    (batch,) = millhopper.Reader.from_arrow(TABLE, fields=["w", "*"]).take(1).batch(1)
    assert list(batch) == ["w", "n", "s", "l"]
    with pytest.raises(millhopper.Error, match="there is no 'rows'; there are 'n', 's'"):
        millhopper.Reader.from_arrow(TABLE, fields=["rows"])


def test_shuffles_are_the_same_each_time() -> None:
    def read() -> list[int]:
        reader = millhopper.Reader.from_arrow(TABLE, fields=["n int64[]"]).shuffle(100, seed=3)
        return [int(n) for batch in reader.batch(10) for n in batch["n"]]

    assert read() == read()
    assert sorted(read()) == list(range(1000))


def test_batches_of_a_generator_are_pulled() -> None:
    threads = set()

    def batches() -> Iterator[object]:
        for batch in TABLE.to_batches(max_chunksize=100):
            threads.add(threading.get_ident())
            yield batch

    source = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    reader = millhopper.Reader.from_arrow(source, fields=["n int64[]"]).batch(64).double_buffer()
    assert [int(n) for batch in reader for n in batch["n"]] == list(range(1000))
    assert threads
    with pytest.raises(millhopper.Error, match="this RecordBatchReader can be read once only"):
        list(reader)


def test_errors_name_batch_row_and_column() -> None:
    reader = millhopper.Reader.from_arrow(TABLE, fields=["n int8[]"])
    with pytest.raises(millhopper.Error, match=r"row 128: column 'n': 128 is no int8"):
        list(reader)
    with pytest.raises(millhopper.Error, match="no column is named 'm'"):
        list(millhopper.Reader.from_arrow(TABLE, fields=["m int8[]"]))
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        millhopper.Reader.from_arrow([1, 2])

    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError("no stream today")

    with pytest.raises(millhopper.Error, match="no stream today") as raised:
        list(millhopper.Reader.from_arrow(Broken(), fields=["n int64[]"]))
    assert isinstance(raised.value.__cause__, RuntimeError)

    class Odd:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return 7

    with pytest.raises(millhopper.Error):
        list(millhopper.Reader.from_arrow(Odd(), fields=["n int64[]"]))


def test_a_generator_that_fails() -> None:
    def batches() -> Iterator[object]:
        yield TABLE.to_batches(max_chunksize=10)[0]
        raise ValueError("the tape is torn")

    source = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    found = []
    with pytest.raises(millhopper.Error, match="the tape is torn"):
        for element in millhopper.Reader.from_arrow(source, fields=["n int64[]"]):
            found += element["n"].tolist()
    assert found == list(range(10))


def nulls_of(source: object) -> dict[str, str]:
    reader = millhopper.Reader.from_arrow(source)
    entries = str(reader).split("fields of arrow: ")[1].splitlines()[0].split(", ")
    return dict(entry.split(" ", 1) for entry in entries)


def test_tables_in_memory_tell_where_nulls_are() -> None:
    table = pa.table(
        {
            "n": [1, None, 3],
            "x": [0.5, None, 1.5],
            "t": ["a", None, "b"],
            "l": [[1], None, []],
            "full": [1, 2, 3],
            "w": pa.array(["a", None, "b"]).dictionary_encode(),
        }
    )
    wanted = {
        "n": "int64[] missing=mask",
        "x": "float64[] default=nan",
        "t": "str missing=mask",
        "l": "int64[-1] missing=mask",
        "full": "int64[]",
        "w": "str missing=mask",
    }
    assert nulls_of(table) == wanted
    assert nulls_of(table.to_batches()[0]) == wanted
    assert nulls_of(pa.concat_tables([table.slice(0, 1), table])) == wanted
    assert nulls_of(table.slice(2, 1))["full"] == "int64[]"
    (batch,) = millhopper.Reader.from_arrow(table).batch(3)
    assert batch["n"].tolist() == [1, 0, 3]
    assert batch["n.valid"].tolist() == [True, False, True]
    assert np.isnan(batch["x"][1])
    assert batch["t"] == ["a", "", "b"]
    (batch,) = millhopper.Reader.from_arrow(table, fields=["n"]).batch(3)
    assert batch["n.valid"].tolist() == [True, False, True]


def test_a_stream_tells_no_nulls_before_it_is_read() -> None:
    table = pa.table({"n": pa.array([1, None, 3])})

    class Stream:
        def __arrow_c_stream__(self, schema: object = None) -> object:
            return table.__arrow_c_stream__()

    assert nulls_of(Stream()) == {"n": "int64[]"}
    with pytest.raises(millhopper.Error, match="row 1: column 'n': it is null.*missing="):
        list(millhopper.Reader.from_arrow(Stream()))


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_data_frames_tell_where_nulls_are(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    frame = module.DataFrame({"t": ["a", None], "full": [1, 2]})
    if not hasattr(frame, "__arrow_c_stream__"):
        pytest.skip(f"this {library} has no Arrow streams")
    assert nulls_of(frame) == {"t": "str missing=mask", "full": "int64[]"}
