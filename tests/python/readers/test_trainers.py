# SPDX-License-Identifier: Apache-2.0
"""Trainers of others over ``reader.torch()``: they see each record of a pass once, and resume."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

RECORDS = 256


@pytest.fixture
def reader() -> millhopper.Reader:
    """Points of the plane y = 2 x0 - x1 + 0.5, and what number each has."""
    numbers = np.arange(RECORDS, dtype=np.int64)
    draw = np.random.default_rng(1)
    x = draw.standard_normal((RECORDS, 2), dtype=np.float32)
    y = (x @ np.array([2, -1], np.float32) + 0.5).astype(np.float32)
    arrays = {"x": x, "labels": y, "number": numbers}
    return millhopper.Reader.from_arrays(arrays).shuffle(RECORDS, seed=3)


class Plane(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A linear model that notes which records it was given, as Hugging Face's models are called."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 1)
        self.seen: list[list[int]] = []

    def forward(self, x: Any, labels: Any, number: Any) -> dict[str, Any]:
        self.seen.append(number.flatten().tolist())
        predicted = self.linear(x.reshape(-1, 2))[:, 0]
        return {"loss": torch.mean((predicted - labels.flatten()) ** 2), "logits": predicted}


def passes(reader: millhopper.Reader, epochs: range) -> list[int]:
    """The numbers of the records in the order of these passes."""
    read = []
    for epoch in epochs:
        reader.set_epoch(epoch)
        read += [int(n) for batch in reader for n in batch["number"].ravel()]
    reader.set_epoch(0)
    assert sorted(read) == sorted([*range(RECORDS)] * len(epochs))
    return read


def learned(model: Plane) -> bool:
    weights = model.linear.weight[0].tolist()
    return max(abs(weights[0] - 2), abs(weights[1] + 1)) < 0.1


@pytest.mark.parametrize("batches", [False, True])
def test_transformers(reader: millhopper.Reader, tmp_path: Path, batches: bool) -> None:
    """Its Trainer makes batches of elements, or takes those of the reader; and resumes."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    if batches:
        reader = reader.batch(8)
    expected = passes(reader, range(2))

    class StopsAt(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
        def __init__(self, step: int) -> None:
            self.step = step

        def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop = state.global_step == self.step

    def train(stops_at: int, resumes: bool) -> Plane:
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=1 if batches else 8,
            max_steps=2 * RECORDS // 8,
            learning_rate=0.1,
            lr_scheduler_type="constant",
            use_cpu=True,
            report_to=[],
            save_strategy="steps",
            save_steps=5,
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        collate = {"data_collator": lambda elements: elements[0]} if batches else {}
        model = Plane()
        reader.set_epoch(0)
        trainer = transformers.Trainer(
            model=model,
            args=arguments,
            train_dataset=reader.torch(),
            callbacks=[StopsAt(stops_at)],
            **collate,
        )
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.train(resume_from_checkpoint=resumes)
        assert all(len(numbers) == 8 for numbers in model.seen)
        return model

    first = train(stops_at=45, resumes=False)
    rest = train(stops_at=-1, resumes=True)
    assert [n for numbers in first.seen + rest.seen for n in numbers] == expected
    assert learned(rest)


def test_lightning(reader: millhopper.Reader, tmp_path: Path) -> None:
    """It takes ``reader.torch()`` as its loader, and keeps its state in checkpoints."""
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.plane = Plane()

        def training_step(self, batch: dict[str, Any], _: int) -> Any:
            return self.plane(**batch)["loss"]

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=0.1)

    def fit(loader: Any, checkpoint: str | None = None, **limits: int) -> Module:
        module = Module()
        saves = lightning.pytorch.callbacks.ModelCheckpoint(
            dirpath=tmp_path, filename="{step}", every_n_train_steps=5, save_top_k=-1
        )
        trainer = lightning.Trainer(
            accelerator="cpu",
            logger=False,
            callbacks=[saves],
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
            **limits,
        )
        trainer.fit(module, loader, ckpt_path=checkpoint)
        return module

    def seen(*modules: Module) -> list[int]:
        return [n for module in modules for numbers in module.plane.seen for n in numbers]

    # It calls iter() once before it trains, which begins a pass.
    expected = passes(reader, range(1, 3))
    batches = reader.batch(8)
    first = fit(batches.torch(), max_steps=45)
    again = fit(reader.batch(8).torch(), str(tmp_path / "step=45.ckpt"), max_epochs=2)
    assert seen(first, again) == expected
    assert learned(again.plane)
    # torch's loader makes batches of elements.
    reader.set_epoch(0)
    single = fit(torch.utils.data.DataLoader(reader.torch(), batch_size=8), max_epochs=1)
    assert seen(single) == passes(reader, range(1))
