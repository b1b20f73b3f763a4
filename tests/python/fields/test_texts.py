# SPDX-License-Identifier: Apache-2.0
"""Fields of texts: what batches show as ``str``."""

from __future__ import annotations

import importlib
import json
import pickle
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from field_tables import FORMATS, OF_ARROW, Format, row_of
from millhopper import Reader, Texts

WORDS = ["Zürich", "", "日本", "a b", "😀"]


def lines(path: Path, texts: list[Any] = WORDS) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture
def batch(tmp_path: Path) -> Any:
    (whole,) = Reader.open_files(lines(tmp_path / "a.jsonl"), fields={"text": "str"}).batch(10)
    return whole["text"]


def test_texts_are_a_sequence_of_str(batch: Texts) -> None:
    assert type(batch) is Texts
    assert len(batch) == 5
    assert batch[0] == "Zürich"
    assert batch[-1] == "😀"
    assert batch[1:3] == ["", "日本"]
    assert batch[::-1] == WORDS[::-1]
    assert list(batch) == batch.tolist() == WORDS
    assert ", ".join(batch) == ", ".join(WORDS)
    assert batch == WORDS
    assert batch == tuple(WORDS)
    assert batch != WORDS[1:]
    assert "日本" in batch
    assert repr(batch) == f"Texts([{', '.join(map(repr, WORDS))}])"
    assert pickle.loads(pickle.dumps(batch)) == WORDS
    with pytest.raises(IndexError, match="sequence 5 of 5"):
        batch[5]
    with pytest.raises(AttributeError, match="'Texts' object has no attribute 'lower'; decode"):
        batch.lower()


def test_a_text_is_compared_with_each(batch: Texts) -> None:
    for equal in (batch == "Zürich", batch == "Zürich".encode()):
        assert equal.dtype == np.bool_
        assert equal.tolist() == [word == "Zürich" for word in WORDS]
    assert (batch != "Zürich").tolist() == [word != "Zürich" for word in WORDS]
    assert (batch == "Rome").tolist() == [False] * len(WORDS)
    assert np.array(WORDS)[batch != ""].tolist() == [word for word in WORDS if word]
    array = np.array([*WORDS[:-1], "Rome"])
    assert (batch == array).tolist() == (array == batch).tolist() == [True] * 4 + [False]
    assert (batch != array).tolist() == [False] * 4 + [True]
    with pytest.raises(TypeError, match="cannot be compared with 3"):
        batch == 3  # noqa: B015


def test_a_function_of_filter_compares_texts(tmp_path: Path) -> None:
    for kind, other in (("str", "日本"), ("bytes", "日本".encode())):
        reader = Reader.open_files(lines(tmp_path / "a.jsonl"), fields={"text": kind})
        (kept,) = reader.filter(lambda e, other=other: e["text"] == other).batch(10)
        assert kept["text"].to_bytes() == ["日本".encode()]
        (kept,) = reader.filter(lambda e, other=other: e["text"] != other).batch(10)
        assert kept["text"].to_bytes() == [word.encode() for word in WORDS if word != "日本"]
    with pytest.raises(millhopper.Error, match="bytes are compared with b'...'"):
        list(reader.filter(lambda e: e["text"] == "日本"))


def test_lists_of_texts_are_no_text(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [["a", "b"], []])
    (whole,) = Reader.open_files(path, fields={"text": "str[-1]"}).batch(10)
    assert whole["text"] == [["a", "b"], []]
    with pytest.raises(TypeError, match=r"has lists of texts, which are not 'a': 'a' in texts"):
        whole["text"] == "a"  # noqa: B015


def test_bytes_and_offsets_are_there_too(batch: Texts) -> None:
    assert batch.to_bytes() == [word.encode() for word in WORDS]
    assert batch.offsets[0].tolist() == np.cumsum([0, *map(len, batch.to_bytes())]).tolist()
    assert batch.values.dtype == np.uint8
    assert batch.lengths().tolist() == [7, 0, 6, 3, 4]


def test_numpy_makes_objects(batch: Texts) -> None:
    array = np.asarray(batch)
    assert array.dtype == object
    assert array.tolist() == WORDS
    assert np.asarray(batch, "U").dtype.kind == "U"
    with pytest.raises(ValueError, match="an array of texts is a copy"):
        batch.__array__(copy=False)


def test_long_and_many_texts_are_cut_in_repr(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", ["x" * 100] * 9)
    (whole,) = Reader.open_files(path).batch(10)
    assert repr(whole["text"]) == f"Texts([{', '.join([repr('x' * 60 + '...')] * 6)}, ... 3 more])"
    assert repr(millhopper.show(whole)) == "text  9 texts"
    assert "xxx" in millhopper.show(whole)._repr_html_()


def test_lists_of_texts(tmp_path: Path) -> None:
    lists = [["a", "ü"], [], ["日本"]]
    path = lines(tmp_path / "a.jsonl", lists)
    for reader in (Reader.open_files(path, fields=["text str[-1]"]), Reader.open_files(path)):
        (whole,) = reader.batch(10)
        texts = whole["text"]
        assert texts.tolist() == [list(part) for part in texts] == lists
        assert texts[0][1] == "ü"
        assert texts[1:] == lists[1:]
        assert repr(texts) == "Texts([['a', 'ü'], [], ['日本']])"
        assert np.asarray(texts).tolist() == lists
        assert repr(millhopper.show(whole)) == "text  3 lists of texts"


def texts_of(reader: Any, slot: str = "text") -> list[str]:
    return [text for batch in reader for text in batch[slot]]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.tag)
def test_every_format_has_them(form: Format, tmp_path: Path) -> None:
    if form.tag != "npz":  # which has no texts
        check_format(form, tmp_path)


@pytest.mark.parametrize("form", OF_ARROW, ids=lambda form: form.tag)
def test_columns_have_them(form: Format, tmp_path: Path, parquet_plugin: Path) -> None:
    millhopper.load_plugin(parquet_plugin)
    check_format(form, tmp_path)


def check_format(form: Format, folder: Path) -> None:
    rows = [row_of(n) for n in range(100)]
    form.write(folder / f"a.{form.tag}", rows)
    reader = Reader.open_files(f"{form.tag}:{folder / 'a'}.{form.tag}", fields=["text str"])
    assert texts_of(reader.batch(7)) == [row["text"] for row in rows]


def check_no_utf8(name: str, where: str) -> None:
    path = name.split(":")[1]
    no_text = r'it is no text in UTF-8: byte 2 of it begins "\\xff'
    with pytest.raises(millhopper.Error, match=no_text) as raised:
        list(Reader.open_files(name, fields=["text str"]))
    assert where in raised.value.message
    assert "bytes in place of str reads it as it is" in raised.value.message
    assert raised.value.file == path
    (batch,) = Reader.open_files(name, fields=["text bytes"]).batch(10)
    assert batch["text"].to_bytes()[1] == b"ab\xffdef1"


@pytest.mark.parametrize(
    ("tag", "where"),
    [("csv", "column #4 'text'"), ("tsv", "column #4 'text'"), ("tar", "field 'text'")],
)
def test_what_is_no_utf8_is_an_error_at_its_place(tag: str, where: str, tmp_path: Path) -> None:
    (form,) = (form for form in FORMATS if form.tag == tag)
    path = tmp_path / f"a.{tag}"
    form.write(path, [{**row_of(n), "text": f"abcdef{n}"} for n in range(3)])
    path.write_bytes(path.read_bytes().replace(b"abcdef1", b"ab\xffdef1"))
    check_no_utf8(f"{tag}:{path}", where)


@pytest.mark.parametrize("tag", ["parquet", "arrow"])
def test_columns_that_are_no_utf8_are_an_error(
    tag: str, tmp_path: Path, parquet_plugin: Path
) -> None:
    millhopper.load_plugin(parquet_plugin)
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values = [b"abcdef0", b"ab\xffdef1", b"abcdef2"]
    texts = pa.array(values, pa.binary()).view(pa.string())
    table = pa.table({"text": texts, "list": pa.ListArray.from_arrays([0, 1, 2, 3], texts)})
    path = tmp_path / f"a.{tag}"
    if tag == "parquet":
        importlib.import_module("pyarrow.parquet").write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    check_no_utf8(f"{tag}:{path}", "'text'")
    with pytest.raises(millhopper.Error, match="'list': it is no text in UTF-8"):
        list(Reader.open_files(path, fields=["list str[-1]"]))
    with pytest.raises(millhopper.Error, match="row 1: column 'list': it is no text in UTF-8"):
        list(Reader.from_arrow(table, fields=["list str[-1]"]))


def test_a_null_is_empty_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": null}\n')
    (whole,) = Reader.open_files(path).batch(10)
    assert whole["text"] == ["a", ""]
    assert whole["text.valid"].tolist() == [True, False]
    with pytest.raises(millhopper.Error, match="field 'text': it is null"):
        list(Reader.open_files(path, fields={"text": "str"}))


def test_readers_above_keep_them(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", WORDS * 20)
    other = lines(tmp_path / "b.jsonl", WORDS * 20)
    reader = Reader.open_files([path, other], fields={"text": "str"})
    assert sorted(texts_of(reader.shuffle(50, seed=1).batch(7).double_buffer())) == sorted(
        WORDS * 40
    )
    assert texts_of(reader.take(3)) == [WORDS[0], WORDS[0], WORDS[1]]
    assert texts_of(reader.shard(2, 0).skip(1).batch(3).unbatch())[:2] == [WORDS[1], WORDS[2]]
    assert texts_of(reader.cache(memory_bytes=1 << 20).multi_pass(2).take(1)) == [WORDS[0]]
    assert texts_of(reader.filter(lambda e: e["text"][0] == "日本")) == ["日本"] * 40
    zipped = reader.zip(reader, names=["text", "again"])
    assert {type(value) for value in next(iter(zipped)).values()} == {Texts}
    both = reader.concat(Reader.open_files(path, fields={"text": "str"}))
    assert len(texts_of(both.batch(9))) == 300
    mixed = reader.concat(Reader.open_files(path, fields={"text": "bytes"}))
    assert {type(batch["text"]) for batch in mixed} == {millhopper.Ragged}
    again = pickle.loads(pickle.dumps(reader))
    assert texts_of(again.take(1)) == [WORDS[0]]
    program = Reader(reader.to_text(), names=["text"])
    assert texts_of(program.take(1)) == [WORDS[0]]
    assert "fields of files: text str" in str(program)


def test_a_resumed_reader_goes_on_with_texts(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", WORDS)
    reader = Reader.open_files(path).batch(2)
    loop = iter(reader)
    assert next(loop)["text"] == WORDS[:2]
    state = reader.state_dict()
    resumed = Reader.open_files(path).batch(2)
    resumed.load_state_dict(state)
    assert texts_of(resumed) == WORDS[2:]


def test_map_gives_and_takes_texts(tmp_path: Path) -> None:
    reader = Reader.open_files(lines(tmp_path / "a.jsonl"), fields={"text": "str"})
    kept = reader.map(lambda e: {"text": e["text"], "n": len(e["text"][0])}).batch(10)
    (whole,) = kept
    assert whole["text"] == WORDS
    assert whole["n"].tolist() == list(map(len, WORDS))
    assert texts_of(reader.map(lambda e: {"text": e["text"][0].upper()}).batch(2)) == [
        word.upper() for word in WORDS
    ]
    assert texts_of(reader.batch(2).map(lambda e: {"text": [t + "!" for t in e["text"]]})) == [
        word + "!" for word in WORDS
    ]
    declared = reader.map(lambda e: e["text"][0], slots={"text": ("uint8", [-1], 1)}).batch(10)
    assert next(iter(declared))["text"].to_bytes() == [word.encode() for word in WORDS]
    with pytest.raises(millhopper.Error, match="a list of str and of int"):
        list(reader.map(lambda e: {"text": ["a", 1]}))


def test_operators_keep_what_they_do_not_write(tmp_path: Path) -> None:
    reader = Reader.open_files(lines(tmp_path / "a.jsonl"), fields={"text": "str"})
    (whole,) = reader.apply("is_empty", "text", "none").batch(10)
    assert whole["text"] == WORDS
    assert whole["none"].tolist() == [word == "" for word in WORDS]
    (cut,) = reader.truncate(2, slot="text").batch(10)
    assert type(cut["text"]) is millhopper.Ragged
    assert cut["text"].to_bytes() == [word.encode()[:2] for word in WORDS]


def test_from_arrow_has_them() -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {
        "a": pa.array(WORDS),
        "b": pa.array(WORDS, pa.large_string()),
        "c": pa.array(WORDS).dictionary_encode(),
        "d": pa.array([[word] * 2 for word in WORDS]),
        "e": pa.array([word.encode() for word in WORDS]),
    }
    (whole,) = Reader.from_arrow(pa.table(columns)).batch(10)
    assert all(whole[name] == WORDS for name in "abc")
    assert whole["d"].tolist() == [[word] * 2 for word in WORDS]
    assert type(whole["e"]) is millhopper.Ragged
    reader = Reader.from_arrow(pa.table(columns), fields={"e": "str", "d": "bytes[-1]"}).batch(10)
    (whole,) = reader
    assert whole["e"] == WORDS
    assert type(whole["d"]) is millhopper.Ragged


def test_torch_gets_lists(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    reader = Reader.open_files(lines(tmp_path / "a.jsonl"))
    assert [batch["text"] for batch in reader.batch(3).torch()] == [WORDS[:3], WORDS[3:]]
    loader = millhopper.DataLoader(reader, batch_size=3)
    assert [batch["text"] for batch in loader] == [WORDS[:3], WORDS[3:]]
    collated = millhopper.DataLoader(reader, batch_size=3, collate_fn=lambda samples: samples)
    assert [sample["text"] for batch in collated for sample in batch] == [[word] for word in WORDS]


def test_jax_gets_lists_beside_arrays(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    path = tmp_path / "a.jsonl"
    path.write_text('{"n": 1, "text": "a"}\n')
    (whole,) = Reader.open_files(path).batch(2).jax()
    assert whole["text"] == ["a"]
    assert isinstance(whole["n"], jax.Array)


def test_a_function_may_return_no_text(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a b\n\nc\n")
    words = Reader.open_files(f"text:{path}", names=["line"]).map(
        lambda element: {"words": element["line"].decode().split()}
    )
    assert [batch["words"].tolist() for batch in words] == [["a", "b"], [], ["c"]]
