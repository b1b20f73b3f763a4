# SPDX-License-Identifier: Apache-2.0
"""What notebooks do: show things, run cells again, count, interrupt, and train with Keras."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import numpy.typing as npt
import pytest
from conftest import run_python
from millhopper import layers
from millhopper.readers.display import batch_html
from number_files import open_numbers, write_numbers

IMAGES = np.arange(3 * 8 * 6, dtype=np.uint8).reshape(3, 8, 6)


def pixels(png: bytes) -> npt.NDArray[np.uint8]:
    """Reads a PNG file of one IDAT chunk whose rows are not filtered."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        content = png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size) == (zlib.crc32(kind + content),)
        chunks[kind] = content
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, color = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert depth == 8
    channels = {0: 1, 2: 3}[color]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


def pictures(view: str) -> list[npt.NDArray[np.uint8]]:
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', view)
    return [pixels(base64.b64decode(text)) for text in found]


def test_a_batch_is_shown_with_slots_shapes_and_pictures() -> None:
    reader = millhopper.Reader.from_arrays({"image": IMAGES, "<label>": np.arange(3)})
    (batch,) = reader.batch(3)
    shown = millhopper.show(batch)
    assert repr(shown) == "image    uint8 [3, 8, 6]\n<label>  int64 [3]"
    view = shown._repr_html_()
    assert "<td>&lt;label&gt;</td><td>int64 [3]</td><td></td>" in view
    (sheet,) = pictures(view)
    assert sheet.shape == (8, 3 * (6 + 2), 1)
    for i, image in enumerate(IMAGES):
        np.testing.assert_array_equal(sheet[:, 8 * i : 8 * i + 6, 0], image)


@pytest.mark.parametrize(
    ("shape", "dtype", "sheet"),
    [
        ((2, 8, 6, 3), "uint8", (8, 16, 3)),
        ((2, 3, 8, 6), "float32", (8, 16, 3)),
        ((2, 1, 8, 6), "uint8", (8, 16, 1)),
        ((2, 8, 6), "float64", (8, 16, 1)),
        ((20, 8, 6), "uint8", (8, 96, 1)),
        ((2, 8, 6), "int64", None),
        ((2, 64), "float32", None),
        ((2, 2, 2), "uint8", None),
        ((0, 8, 6), "uint8", None),
        ((2, 8, 6, 5), "uint8", None),
    ],
)
def test_what_looks_like_images(shape: Any, dtype: str, sheet: Any) -> None:
    values = np.random.default_rng(0).integers(0, 255, shape).astype(dtype)
    found = pictures(millhopper.show({"x": values})._repr_html_())
    assert [picture.shape for picture in found] == ([] if sheet is None else [sheet])


def test_ragged_slots_are_shown() -> None:
    ragged = millhopper.Ragged(np.arange(5), (np.array([0, 2, 5]),))
    assert repr(millhopper.show({"x": ragged})) == "x  2 sequences of int64 []"
    with pytest.raises(TypeError, match="show takes a batch, which is a dict by slot name"):
        millhopper.show([1])  # type: ignore[arg-type]


def test_a_reader_is_shown_with_its_slots(tmp_path: Path) -> None:
    reader = open_numbers(write_numbers(tmp_path / "numbers.bin", 3)).batch(2)
    view = reader._repr_html_()
    assert "<td>row</td><td>int64 [any, 4]</td>" in view
    assert "create_batch_reader" in view
    missing = open_numbers(tmp_path / "missing.bin")
    assert "missing.bin: No such file or directory" in missing._repr_html_()

    def never(element: Any) -> Any:
        raise AssertionError("a function is called for a view")

    assert "create_python_map_reader" in reader.map(never)._repr_html_()


def test_the_extension_shows_dicts_of_arrays_only() -> None:
    assert batch_html({"x": IMAGES}) == millhopper.show({"x": IMAGES})._repr_html_()
    for other in {}, {"x": 1}, {1: IMAGES}, {"x": IMAGES, "y": "text"}:
        assert batch_html(other) is None


def test_the_extension_is_one_of_ipythons() -> None:
    pytest.importorskip("IPython", reason="IPython is not installed")
    ran = run_python(
        """
        import numpy as np
        from IPython.core.interactiveshell import InteractiveShell

        shell = InteractiveShell()
        batch = {"image": np.zeros((2, 8, 8), np.uint8)}
        for magic, wanted in ("load_ext", True), ("unload_ext", False):
            shell.run_line_magic(magic, "millhopper")
            shown, _ = shell.display_formatter.format(batch)
            assert ("data:image/png" in shown.get("text/html", "")) == wanted
            assert "text/html" not in shell.display_formatter.format({"x": 1})[0]
        """
    )
    assert ran.returncode == 0, ran.stderr


CELL = """
numbers = layers.random_data_generator(0.0, 1.0, shapes=[[1, 3]], count=5, name="numbers")
batch = layers.read_file(layers.batch(numbers, 2, name="batches"))
weight = layers.fc(batch, size=2)
executor = millhopper.Executor()
executor.run(millhopper.default_startup_program())
result = executor.run(fetch_list=[weight])[0]
"""


def test_a_cell_of_layers_runs_again(fresh_programs: None) -> None:
    names: dict[str, Any] = {"millhopper": millhopper, "layers": layers}
    exec(CELL, names)
    with pytest.raises(ValueError) as caught:
        exec(CELL, names)
    assert str(caught.value) == (
        "create_random_data_generator: there is a variable 'numbers' already; give another name, "
        "or, if this is a cell of a notebook that runs again, begin it with "
        "millhopper.new_programs()"
    )
    results = []
    for _ in range(3):
        exec("startup, main = millhopper.new_programs()\n" + CELL, names)
        assert names["main"] is millhopper.default_main_program()
        assert names["startup"] is millhopper.default_startup_program()
        assert len(names["main"].global_block().ops) == 3
        results.append(names["result"].tolist())
    assert results[0] == results[1] == results[2]


def test_tqdm_knows_the_total(tmp_path: Path) -> None:
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed").tqdm
    tqdm.monitor_interval = 0  # it would start a thread
    reader = open_numbers(write_numbers(tmp_path / "numbers.bin", 100)).batch(8)
    (tmp_path / "lines").write_text("a\nb\n")
    unknown = millhopper.Reader.open_files(f"text:{tmp_path / 'lines'}")
    for source, total, count in (reader, 13, 13), (unknown, None, 2):
        with open(tmp_path / "bar", "w") as file, tqdm(source, file=file) as bar:
            assert bar.total == total
            assert len(list(bar)) == count


def test_arrays_of_other_libraries_are_shown() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    images = torch.rand(2, 8, 8, 3)
    kinds = {
        "bfloat16": images.bfloat16(),
        "float32": images.clone().requires_grad_(),
        "uint8": (images * 255).byte(),
    }
    for dtype, tensor in kinds.items():
        view = millhopper.show({"x": tensor})._repr_html_()
        assert f"{dtype} [2, 8, 8, 3]" in view and "data:image/png" in view


def test_what_has_no_pictures_is_shown_without() -> None:
    batch = {"loss": np.array(0.5), "step": np.float32(3), "empty": np.zeros((0, 8, 8))}
    view = millhopper.show(batch)._repr_html_()
    assert "float64 []" in view and "float32 []" in view and "<img" not in view
    assert batch_html({"loss": np.array(0.5)}) is not None


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(TypeError, match="^show takes a batch; 3 is no name of a slot"):
        millhopper.show({3: np.zeros(2)})  # type: ignore[dict-item]
    assert batch_html({3: np.zeros(2)}) is None
    program = millhopper.Reader.create("create_range_reader", count=2).to_text()
    view = millhopper.Reader(program, names=["a", "b"])._repr_html_()
    assert "2 names for a reader of 1 slots" in view and "create_range_reader" in view


@pytest.fixture
def keras(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keras, on PyTorch or JAX."""
    backends = [name for name in ("torch", "jax") if find_spec(name) is not None]
    if not backends:
        pytest.skip("neither PyTorch nor JAX, Keras's backends here, is installed")
    monkeypatch.setenv("KERAS_BACKEND", backends[0])
    return pytest.importorskip("keras", reason="Keras is not installed")


def test_keras_fits_a_reader(keras: Any) -> None:
    x = np.random.default_rng(0).normal(size=(96, 3)).astype(np.float32)
    reader = millhopper.Reader.from_arrays({"x": x, "y": x @ np.float32([[1], [2], [3]])})
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False)])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    batches = reader.batch(16).keras("x", "y")
    assert len(batches) == 6
    history = model.fit(batches, epochs=20, verbose=0)
    assert len(history.history["loss"]) == 20
    assert history.history["loss"][-1] < 1e-3 < history.history["loss"][0]
    np.testing.assert_allclose(model.get_weights()[0].ravel(), [1, 2, 3], atol=0.05)
    assert model.evaluate(batches, verbose=0) < 1e-3
    assert model.predict(reader.batch(16).keras("x"), verbose=0).shape == (96, 1)
    assert reader.batch(16).keras(["x", "y"])[0].keys() == {"x", "y"}


def test_texts_of_a_batch_are_shown(tmp_path: Path) -> None:
    long = "ö" * 80
    lines = tmp_path / "lines.txt"
    lines.write_text(f"a <b>\n{long}\n\nthe fourth\n", encoding="utf-8")
    (batch,) = millhopper.Reader.open_files(f"text:{lines}", names=["line"]).batch(4)
    view = millhopper.show(batch)._repr_html_()
    assert f"<td>a &lt;b&gt;<br>{'ö' * 50} ...<br></td>" in view
    lines.write_bytes(b"ab\xff\n")  # is no text
    (batch,) = millhopper.Reader.open_files(f"text:{lines}", names=["line"]).batch(4)
    assert "<td>1 sequences of uint8 []</td><td></td>" in millhopper.show(batch)._repr_html_()


@pytest.mark.usefixtures("keras")
def test_keras_says_which_slots_there_are() -> None:
    batches = millhopper.Reader.from_arrays({"x": IMAGES, "y": np.arange(3)}).keras("X", "y")
    with pytest.raises(ValueError, match=r"there is no slot 'X'; there are \['x', 'y'\]"):
        batches[0]


@pytest.mark.usefixtures("keras")
def test_an_epoch_of_keras_is_a_pass() -> None:
    reader = millhopper.Reader.from_arrays({"x": np.arange(100)}, shuffle=True).batch(10)
    batches = reader.keras("x")
    for _ in range(2):
        assert len(batches[0]) == len(batches[1]) == 10  # as TensorFlow's backend looks at some
        batches.on_epoch_begin()
        seen = [int(number) for at in range(len(batches)) for number in batches[at]]
        assert sorted(seen) == list(range(100))
        batches.on_epoch_end()


def test_keras_gets_the_batches_of_an_epoch_in_order(keras: Any) -> None:
    if keras.backend.backend() != "torch":
        pytest.skip("a step of Keras's other backends is a function of tensors alone")
    seen: list[int] = []

    class Model(keras.Model):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return x

        def train_step(self, data: Any) -> dict[str, float]:
            seen.extend(int(number) for number in data[0].ravel())
            return {}

    batches = millhopper.Reader.from_arrays({"x": np.arange(60)}).batch(10).keras("x")
    model = Model()
    model.compile()
    for keywords, rows in ({}, 60), ({"steps_per_epoch": 3}, 30):
        assert [len(batches[at]) for at in range(2)] == [10, 10]  # of no epoch
        model.fit(batches, epochs=2, verbose=0, **keywords)
        assert seen == 2 * list(range(rows))
        seen.clear()


@pytest.mark.usefixtures("keras")
def test_keras_is_told_that_a_reader_is_empty() -> None:
    empty = millhopper.Reader.from_arrays({"x": np.arange(0)}).batch(10).keras("x")
    with pytest.raises(IndexError, match="^there is no batch 0: a pass of .* is empty$"):
        empty[0]


def test_keras_is_told_how_many_batches_an_epoch_has(tmp_path: Path, keras: Any) -> None:
    (tmp_path / "rows.csv").write_text("x,y\n" + "1,2\n" * 40)
    fields = {"x": "float32[]", "y": "float32[]"}
    reader = millhopper.Reader.open_files(tmp_path / "rows.csv", fields=fields).batch(10)
    model = keras.Sequential([keras.layers.Lambda(lambda x: x)])
    model.compile(loss="mse")
    with pytest.raises(
        TypeError, match=r"^keras: how long is an epoch\? keras\(\.\.\., steps_per_ep"
    ):
        model.fit(reader.keras("x", "y"), verbose=0)
    batches = reader.keras("x", "y", steps_per_epoch=6)  # of a pass and a half
    assert len(batches) == 6
    history = model.fit(batches, epochs=2, verbose=0)
    assert history.history["loss"] == [1, 1]
    for wrong, kind in (0, ValueError), (1.5, TypeError):
        with pytest.raises(kind, match="^steps_per_epoch "):
            reader.keras("x", steps_per_epoch=wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("keras")
def test_keras_gets_no_sequences_of_different_lengths(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\nthree\n")
    lines = millhopper.Reader.open_files(tmp_path / "lines.txt", names=["line"]).batch(2)
    with pytest.raises(
        ValueError, match=r"^keras: slot 'line' has .* pad_sequence\(length, slot='li"
    ):
        lines.keras("line", steps_per_epoch=1)[0]


def test_keras_says_what_it_takes_instead_of_a_reader(keras: Any) -> None:
    reader = millhopper.Reader.from_arrays({"x": np.zeros((4, 1)), "y": np.zeros(4)}).batch(2)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse")
    with pytest.raises(
        AttributeError, match=r"fit of Keras takes reader.keras\(\"inputs\", \"targ"
    ):
        model.fit(reader)


def test_ctrl_c_in_the_kernel() -> None:
    for module in "ipykernel", "jupyter_client":
        pytest.importorskip(module, reason=f"{module} is not installed")
    ran = run_python(
        """
        import time
        from jupyter_client.manager import start_new_kernel

        CELL = '''
        import millhopper
        numbers = millhopper.Reader.create("create_range_reader", count=10**15)
        print("begun", flush=True)
        for batch in numbers.batch(64).double_buffer():
            pass
        '''

        manager, client = start_new_kernel(kernel_name="python3")
        try:
            for _ in range(2):  # the kernel lives on
                wanted = client.execute(CELL)
                text = ""
                while not text.startswith("begun"):
                    text = client.get_iopub_msg(timeout=10)["content"].get("text", "")
                time.sleep(0.1)  # the loop runs
                manager.interrupt_kernel()
                reply = client.get_shell_msg(timeout=10)
                assert reply["parent_header"]["msg_id"] == wanted
                assert reply["content"]["ename"] == "KeyboardInterrupt"
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        """
    )
    assert ran.returncode == 0, ran.stderr
