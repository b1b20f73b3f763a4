# SPDX-License-Identifier: Apache-2.0
"""What bench_peers has measured, as a table in Markdown and as a chart in SVG."""

from __future__ import annotations

import dataclasses
import datetime
import html
import importlib.metadata
import math
import os
import re
import statistics
import textwrap
from pathlib import Path

# Lines of a page between which the table stands, so that the command can write it anew.
BEGIN = "<!-- written by tools/benchmarks/bench_peers"
END = "<!-- end of what bench_peers has written -->"

# What is installed is not called what is imported.
DISTRIBUTIONS = {
    "tensorflow": ["tensorflow-cpu", "tensorflow"],
    "nvidia.dali": ["nvidia-dali-cuda120", "nvidia-dali-cuda130"],
}
# What people call a library, where that is not what is imported.
NAMES = {"tensorflow": "tf.data", "nvidia.dali": "DALI", "grain": "Grain", "duckdb": "DuckDB"}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What one kind of files gave: rows a second in each round, by reader, ours first."""

    kind: str
    title: str
    rows: int  # of a pass, in which each reader starts and ends
    rates: dict[str, list[float]]

    @property
    def medians(self) -> dict[str, float]:
        return {name: statistics.median(some) for name, some in self.rates.items()}

    @property
    def times(self) -> dict[str, float]:
        """How many times as fast as each peer Millhopper is."""
        ours = self.medians["millhopper"]
        return {
            name: ours / median for name, median in self.medians.items() if name != "millhopper"
        }


@dataclasses.dataclass(frozen=True)
class Conditions:
    """When, where and beside what else a comparison was made."""

    command: str
    date: str
    machine: str
    before: float  # how many processes wanted a processor in the minute before
    after: float


def processor() -> str:
    """The processor's name and how many of its cores this process may use."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    cores = len(os.sched_getaffinity(0))
    return f"{found[1] if found else 'an unknown processor'}, {cores} cores"


def conditions(command: str, before: float) -> Conditions:
    """Of the comparison that has just been made; `before` is the load when it began."""
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return Conditions(command, date, processor(), before, os.getloadavg()[0])


def called(package: str) -> str:
    return NAMES.get(package, package)


def version(package: str) -> str:
    for distribution in DISTRIBUTIONS.get(package, [package]):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of an unknown version"


def amount(rate: float) -> str:
    """Three digits: 1.23 M, 45.6 k, 789, 0.5."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if rate >= size:
            number = rate / size
            return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f} {unit}"
    return f"{rate:.3g}"


def ratio(times: float) -> str:
    return f"{times:.0f}" if times >= 10 else f"{times:.1f}" if times >= 2 else f"{times:.2f}"


def table(comparisons: list[Comparison], measured: Conditions) -> list[str]:
    """The lines of the table, and what it was made by."""
    packages = dict.fromkeys(name for one in comparisons for name in one.rates)
    versions = ", ".join(f"{called(name)} {version(name)}" for name in packages)
    lines = ["| work | rows of a pass | rows a second | times as fast as |", "|---|---|---|---|"]
    for one in comparisons:
        peers = ", ".join(f"{called(name)} {ratio(times)}" for name, times in one.times.items())
        rate = amount(one.medians["millhopper"])
        lines.append(f"| {one.title} | {one.rows} | {rate} | {peers} |")
    made = (
        f"Measured on {measured.date}, {measured.machine}, where {measured.before:.1f} processes "
        f"wanted to run when it began and {measured.after:.1f} when it ended; {versions}:"
    )
    if measured.before > 1:
        made = f"The machine did other work meanwhile: a quiet one has other ratios. {made}"
    return [*lines, "", *textwrap.wrap(made, 120), "", "```sh", measured.command, "```"]


PLACE = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)


def check_markdown(path: Path) -> None:
    """Raises ValueError if there is a page that has no place for the table."""
    if path.exists() and not PLACE.search(path.read_text()):
        raise ValueError(f"{path} has no place for the table: lines {BEGIN!r} and {END!r}")


def write_markdown(path: Path, comparisons: list[Comparison], measured: Conditions) -> None:
    """Writes the table into its place in a page, or a new page. Raises what check_markdown does."""
    check_markdown(path)
    written = "\n".join([f"{BEGIN} -->", *table(comparisons, measured), END])
    path.write_text(
        PLACE.sub(lambda _: written, path.read_text()) if path.exists() else written + "\n"
    )


# ---- The chart ----

ROW = 40  # pixels
LEFT = 250  # where the scale begins
WIDTH = 860
RIGHT = 40
TOP = 56
LETTER = 6.3  # about the width of a letter

STYLE = """
text { font: 12px sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #57606a }
.line { stroke: #d0d7de }
.ours { stroke: #0969da; stroke-width: 2 }
.slower { fill: #8c959f }
.faster { fill: #bc4c00 }
"""


def powers(comparisons: list[Comparison]) -> tuple[int, int]:
    """The powers of ten between which all rates lie, as shares of Millhopper's."""
    shares = [1 / times for one in comparisons for times in one.times.values()]
    lowest, highest = min([*shares, 0.5]), max([*shares, 1.5])
    return math.floor(math.log10(lowest)), math.ceil(math.log10(highest))


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{named}>{html.escape(words)}</text>'
    )


def line(x: float, top: float, bottom: float, kind: str) -> str:
    return f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{top:.0f}" y2="{bottom:.0f}" class="{kind}"/>'


def dots(one: Comparison, middle: float, low: int, scale: float) -> list[str]:
    """A dot for each peer, with names above and below by turns, so that none covers another."""
    lines = []
    free = {True: 0.0, False: 0.0}  # where the next name above, or below, may begin
    above = True
    for name, times in sorted(one.times.items(), key=lambda item: -item[1]):
        x = LEFT + (math.log10(1 / times) - low) * scale
        kind = "slower" if times >= 1 else "faster"
        label = called(name)
        begin = max(x - len(label) * LETTER / 2, free[above])
        free[above] = begin + (len(label) + 1) * LETTER
        lines.append(f'<circle cx="{x:.1f}" cy="{middle:.0f}" r="4.5" class="{kind}"/>')
        lines.append(text(begin, middle + (-8 if above else 16), label, kind="small"))
        above = not above
    return lines


def write_svg(path: Path, comparisons: list[Comparison], measured: Conditions) -> None:
    """Draws the rates of the peers beside Millhopper's, on a scale of powers of ten."""
    low, high = powers(comparisons)
    scale = (WIDTH - LEFT - RIGHT) / (high - low)
    bottom = TOP + ROW * len(comparisons)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" role="img">',
        "<title>Rates of other readers beside Millhopper's</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{bottom + 30}" fill="#ffffff" rx="6"/>',
        text(12, 22, "Rates of others, Millhopper's is 1 (further left: slower)"),
    ]
    for power in range(low, high + 1):
        x = LEFT + (power - low) * scale
        label = f"{10**power:g}" if power >= 0 else f"1/{10**-power:g}"
        lines.append(text(x, TOP - 12, label, anchor="middle", kind="small"))
        lines.append(line(x, TOP - 6, bottom, "ours" if power == 0 else "line"))
    for number, one in enumerate(comparisons):
        middle = TOP + ROW * (number + 0.5)
        words = re.sub(r"[`*]", "", one.title)
        lines.append(text(12, middle + 4, words))
        lines += dots(one, middle, low, scale)
    lines.append(text(12, bottom + 20, f"{measured.date}, {measured.machine}", kind="small"))
    path.write_text("\n".join([*lines, "</svg>", ""]))
