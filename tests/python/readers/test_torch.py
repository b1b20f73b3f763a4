# SPDX-License-Identifier: Apache-2.0
"""Reader.torch(): tensors over the core's own memory."""

from __future__ import annotations

import gc
import pickle
import warnings
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from number_files import open_mixed, open_numbers, write_mixed, write_numbers

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RECORDS = 1000


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    return write_numbers(tmp_path / "numbers.bin", RECORDS)


def test_batches_are_dicts_of_tensors_in_order(numbers: Path) -> None:
    batches = list(open_numbers(numbers).batch(128).torch())
    assert [tuple(batch["row"].shape) for batch in batches] == [(128, 4)] * 7 + [(104, 4)]
    rows = torch.cat([batch["row"] for batch in batches])
    assert rows.dtype == torch.int64
    assert torch.equal(rows.flatten(), torch.arange(4 * RECORDS))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"]
)
def test_dtypes_are_those_of_the_slots(tmp_path: Path, dtype: str) -> None:
    values = np.arange(8).astype(dtype)
    values.tofile(tmp_path / "values.bin")
    reader = millhopper.Reader.open_files(
        f"fixed:{tmp_path}/values.bin", slots={"value": (dtype, [1, 2])}
    )
    (batch,) = reader.batch(4).torch()
    assert batch["value"].dtype == getattr(torch, dtype)
    np.testing.assert_array_equal(batch["value"].numpy().ravel(), values)


def test_bfloat16_is_torchs(tmp_path: Path) -> None:
    reader = open_mixed(write_mixed(tmp_path / "mixed.bin", 100))
    (batch,) = reader.batch(100).torch()
    assert batch["halves"].dtype == torch.bfloat16
    assert batch["pixels"].dtype == torch.float32
    assert torch.equal(batch["halves"].float(), batch["pixels"][:, :2])
    for _ in range(2):  # in every pass, also when another has gone before
        assert next(iter(reader.torch()))["halves"].dtype == torch.bfloat16


def test_tensors_show_the_memory_of_the_arrays(numbers: Path, tmp_path: Path) -> None:
    view = open_numbers(numbers).batch(10).torch()
    array = next(iter(view.reader))["row"]
    assert view._array(array, False).data_ptr() == array.ctypes.data
    array = next(iter(open_mixed(write_mixed(tmp_path / "mixed.bin", 100)).batch(100)))["halves"]
    assert view._array(array, True).data_ptr() == array.ctypes.data


def test_memory_stays_as_it_is_while_tensors_show_it(numbers: Path) -> None:
    view = open_numbers(numbers).batch(100).double_buffer().torch()
    kept = [batch["row"] for batch in view]
    assert len({tensor.data_ptr() for tensor in kept}) == len(kept)
    part = kept[3][10:12]
    expected = [tensor.clone() for tensor in kept]
    for _ in range(5):  # other batches must not take memory that is in use
        list(view)
    del view
    gc.collect()
    assert all(torch.equal(tensor, copy) for tensor, copy in zip_strict(kept, expected))
    del kept
    gc.collect()
    list(open_numbers(numbers).batch(100).torch())
    assert torch.equal(part, expected[3][10:12])


def test_memory_is_used_again(numbers: Path) -> None:
    view = open_numbers(numbers).batch(100).torch()
    assert len({batch["row"].data_ptr() for _ in range(20) for batch in view}) <= 4


def test_tensors_may_be_written_and_torch_warns_of_nothing(numbers: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    readers = [
        open_numbers(numbers).shuffle(64, seed=1).batch(10).double_buffer(),
        millhopper.Reader.open_files(f"text:{tmp_path}/notes.txt", names=["row"]).batch(2),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for reader in readers:
            for batch in reader.torch():
                row = batch["row"]
                (row if isinstance(row, torch.Tensor) else row.values).add_(1)
    rows = torch.cat([batch["row"] for batch in open_numbers(numbers).batch(10).torch()])
    assert torch.equal(rows.flatten(), torch.arange(4 * RECORDS))  # the files have no part in it


def test_what_may_only_be_read_is_copied(numbers: Path) -> None:
    view = open_numbers(numbers).torch()
    array = np.arange(3)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = view._array(array, False)
    tensor.add_(1)
    assert array.tolist() == [0, 1, 2]


def test_ragged_slots_are_values_and_offsets(tmp_path: Path) -> None:
    lines = [b"one", b"", "zwölf".encode(), b"four"]
    (tmp_path / "notes.txt").write_bytes(b"\n".join(lines))
    reader = millhopper.Reader.open_files(f"text:{tmp_path}/notes.txt", names=["line"]).batch(10)
    (batch,) = reader.torch()
    line = batch["line"]
    assert line.values.dtype == torch.uint8
    assert line.offsets[0].tolist() == [0, 3, 3, 9, 13]
    assert line.offsets[0].dtype == torch.int64
    assert bytes(line.values) == b"".join(lines)
    if hasattr(torch.nested, "nested_tensor_from_jagged"):
        nested = torch.nested.nested_tensor_from_jagged(line.values, line.offsets[0])
        assert [bytes(sequence) for sequence in nested.unbind()] == lines
        assert nested.values().data_ptr() == line.values.data_ptr()
    moved = line.to("cpu", dtype=torch.int32)
    assert [part.dtype for part in (moved.values, *moved.offsets)] == [torch.int32] * 2
    assert moved.values.tolist() == list(b"".join(lines))


def test_a_ragged_slot_is_a_sequence_of_tensors(tmp_path: Path) -> None:
    rows = [[[1, 2], [3, 4]], [], [[5, 6]]]
    lists = [np.array(row, np.float32).reshape(-1, 2) for row in rows]
    reader = millhopper.Reader.from_dataset(
        [{"boxes": boxes, "labels": np.arange(len(boxes))} for boxes in lists],
        slots={"boxes": ("float32", [-1, 2], 1), "labels": ("int64", [-1], 1)},
    )
    (batch,) = reader.batch(3).torch()
    boxes, labels = batch["boxes"], batch["labels"]
    pairs = list(zip_strict(boxes, labels))
    assert len(boxes) == len(pairs) == 3
    assert [one.tolist() for one, _ in pairs] == rows
    assert [one.tolist() for _, one in pairs] == [[0, 1], [], [0]]
    assert all(torch.is_tensor(part) for pair in pairs for part in pair)
    assert boxes[0].data_ptr() == boxes.values.data_ptr()
    assert boxes[-1].tolist() == rows[-1]
    assert [part.tolist() for part in boxes[1:]] == rows[1:]
    assert torch.equal(boxes.lengths(), torch.tensor([2, 0, 1]))
    assert [one.tolist() for one in pickle.loads(pickle.dumps(boxes))] == rows
    with pytest.raises(IndexError, match="sequence 3 of 3"):
        boxes[3]
    with pytest.raises(AttributeError, match="no attribute 'float'; its values are an array"):
        boxes.float()
    with pytest.raises(TypeError, match="interpreted as an integer"):
        boxes["a"]


def test_sequences_of_sequences_are_ragged_in_turn(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"words": ["ab", "c"]}\n{"words": []}\n')
    fields = {"words": "bytes[-1]"}
    (batch,) = millhopper.Reader.open_files(tmp_path / "a.jsonl", fields=fields).batch(2).torch()
    first, second = batch["words"]
    assert [bytes(word.tolist()) for word in first] == [b"ab", b"c"] == first.to_bytes()
    assert len(second) == 0


def test_epochs_and_lengths_are_the_readers(numbers: Path) -> None:
    view = open_numbers(numbers).shuffle(100, seed=7).batch(64).torch()
    assert len(view) == 16
    assert view
    first = torch.cat([batch["row"] for batch in view])
    second = torch.cat([batch["row"] for batch in view])
    assert not torch.equal(first, second)
    view.set_epoch(0)
    assert torch.equal(first, torch.cat([batch["row"] for batch in view]))


def test_leaving_a_loop_early_or_by_an_error_gives_everything_back(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "numbers.bin", 500_000)
    view = open_numbers(path).batch(10).torch()
    for _ in view:
        break
    with pytest.raises(ZeroDivisionError):
        for _ in view:
            raise ZeroDivisionError
    with open(path, "ab") as file:
        file.write(b"tail")
    with pytest.raises(millhopper.Error, match="the file ends at byte"):
        for _ in view:
            pass


def test_a_training_step_takes_them(tmp_path: Path) -> None:
    reader = open_mixed(write_mixed(tmp_path / "mixed.bin", 64)).batch(16)
    layer = torch.nn.Linear(3, 1)
    for batch in reader.torch():
        layer.zero_grad()
        layer(batch["pixels"] / 64).square().mean().backward()
        assert layer.weight.grad.abs().sum() > 0
