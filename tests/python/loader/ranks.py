# SPDX-License-Identifier: Apache-2.0
"""A program of one rank: trains on data sets of 0 to 130 samples, and counts who saw which.

Run by ``test_distributed.py`` as ``python ranks.py HOW FOLDER RANKS``. Each rank writes what it has
seen to ``FOLDER/RANK.json``: by size, the numbers of its batches. ``part`` reads a few steps of the
files in FOLDER, from where another number of ranks has stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import millhopper
import torch

SIZES = range(131)
BATCH = 8


def reader_of(size: int) -> millhopper.Reader:
    return millhopper.Reader.create("create_range_reader", count=size, names=["index"])


def loader_of(size: int, of_data_set: bool, **keywords: Any) -> millhopper.DataLoader:
    if not of_data_set:
        return millhopper.DataLoader(reader_of(size), BATCH, **keywords)
    samples = [{"index": number} for number in range(size)]
    return millhopper.DataLoader(samples, BATCH, **keywords)


def numbers(batches: Iterable[Any]) -> list[list[int]]:
    """The numbers of each batch. Ranks meet at every step, so one too many waits for ever."""
    seen = []
    for batch in batches:
        torch.distributed.all_reduce(torch.ones(1))
        seen.append(batch["index"].tolist())
    return seen


def plain() -> dict[str, Any]:
    """Loops of one's own under torchrun."""
    torch.distributed.init_process_group("gloo")
    seen: dict[str, Any] = {}
    for size in SIZES:
        for of_data_set in (False, True):
            for shuffle in (False, True):
                loader = loader_of(size, of_data_set, shuffle=shuffle)
                batches = numbers(loader)
                assert len(loader) == len(batches)
                seen.setdefault(str(size), []).append(batches)
    seen["repr"] = repr(loader)
    torch.distributed.destroy_process_group()
    return seen


def with_accelerate() -> dict[str, Any]:
    """Loops over what Accelerate's prepare makes of a loader."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    seen: dict[str, Any] = {}
    for size in SIZES:
        for of_data_set in (False, True):
            model = torch.nn.Linear(1, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            loader = loader_of(size, of_data_set)
            model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
            seen.setdefault(str(size), []).append(numbers(loader))
    seen["repr"] = repr(loader)
    accelerator.end_training()
    return seen


def with_lightning(ranks: int) -> dict[str, Any]:
    """Trainings of Lightning's, which starts the other ranks itself. Validation runs within."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.trained: list[list[int]] = []
            self.validated: list[list[int]] = []

        def training_step(self, batch: dict[str, Any], at: int) -> Any:
            self.trained.append(batch["index"].flatten().tolist())
            return self.layer(batch["index"].reshape(-1, 1).float()).mean()

        def validation_step(self, batch: dict[str, Any], at: int) -> None:
            self.validated.append(batch["index"].flatten().tolist())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.0)

    seen: dict[str, Any] = {}
    for size in SIZES:
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=ranks,
            strategy="ddp",
            max_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=1,
        )
        module = Module()
        loader = loader_of(size, size % 2 == 0)
        trainer.fit(module, loader, loader)
        seen[str(size)] = [module.trained]
        if size > 0:
            validated = module.validated[1:]  # without that of the sanity check
            assert validated == module.trained, (size, validated, module.trained)
    seen["repr"] = repr(loader)
    return seen


def part(folder: Path) -> dict[str, Any]:
    """Seven steps of a reader with lanes, from and to the state in ``FOLDER/last.pt``."""
    torch.distributed.init_process_group("gloo")
    reader = millhopper.Reader.open_files(str(folder / "numbers-*.recordio"), lanes=12)
    loader = millhopper.DataLoader(
        reader, global_batch=48, shuffle=True, shuffle_buffer=96, seed=5, even="pad"
    )
    saved = folder / "last.pt"
    if saved.exists():
        loader.load_state_dict(torch.load(saved)["loader"])
    batches = [batch["x"].flatten().tolist() for _, batch in zip(range(7), loader)]
    state = millhopper.merge_states(loader.state_dict())
    if torch.distributed.get_rank() == 0:
        torch.save({"loader": state}, saved)
    torch.distributed.barrier()
    seen = {"batches": batches, "repr": repr(loader)}
    torch.distributed.destroy_process_group()
    return seen


def main() -> None:
    how, folder, ranks = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    ways = {
        "plain": plain,
        "part": lambda: part(folder),
        "accelerate": with_accelerate,
        "lightning": lambda: with_lightning(ranks),
    }
    seen = ways[how]()
    found = seen["repr"].split("rank ")[1].split(" ")[0]
    (folder / f"{found}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
