# SPDX-License-Identifier: Apache-2.0
"""Where the files of a data set are."""

from __future__ import annotations

import itertools
import os
import pathlib

from millhopper.base.paths import Path

VARIABLE = "MILLHOPPER_DATA"


def find(
    what: str, folder: Path | None, names: tuple[str, ...], choices: tuple[tuple[str, ...], ...]
) -> list[pathlib.Path]:
    """The files of the first choice that is complete.

    Args:
        what: the data set, as error texts call it.
        folder: where they are, or None: where ``MILLHOPPER_DATA`` says, there or in a folder of it.
        names: what such a folder of it may be called.
        choices: names or patterns of files that belong together; each may end in ``.gz``, too.

    Raises:
        FileNotFoundError: there are none; the text says what was looked for, and where.
    """
    named = folder if folder is not None else os.environ.get(VARIABLE)
    files = ", or ".join(" with ".join(choice) for choice in choices)
    wanted = f"{what}: {files} (plain or .gz)"
    advice = f"give the folder, {what}(folder), or set {VARIABLE}; nothing is downloaded"
    if not named:
        raise FileNotFoundError(f"{wanted} are looked for in no folder: {advice}")
    root = pathlib.Path(named)
    places = [root, *(root / name for name in names if folder is None)]
    for place in places:
        for choice in choices:
            found = [_matches(place, name) for name in choice]
            if all(found):
                return list(itertools.chain.from_iterable(found))
    raise FileNotFoundError(f"{wanted} are not in {', or '.join(map(str, places))}: {advice}")


def _matches(folder: pathlib.Path, name: str) -> list[pathlib.Path]:
    return sorted(folder.glob(name)) or sorted(folder.glob(name + ".gz"))
