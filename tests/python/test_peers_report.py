# SPDX-License-Identifier: Apache-2.0
"""The table and the chart that tools/benchmarks/bench_peers writes."""

from __future__ import annotations

import dataclasses
import importlib
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "tools" / "benchmarks"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("peers_report")


def measured(report: ModuleType) -> tuple[list[object], object]:
    csv = {"millhopper": [100.0, 120.0, 110.0], "polars": [200.0, 220.0, 240.0]}
    mix = {"millhopper": [1234567.0], "tensorflow": [12345.0], "grain": [600000.0]}
    comparisons = [
        report.Comparison("csv", "CSV", 9, csv),
        report.Comparison("mix", "a <mix>", 8, mix),
    ]
    return comparisons, report.Conditions("bench_peers --rows=1", "2026-01-02", "a CPU", 0.1, 0.2)


def test_the_table_has_medians_and_ratios(report: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    report.write_markdown(page, *measured(report))
    text = page.read_text()
    assert "| CSV | 9 | 110 | polars 0.50 |" in text
    assert "| a <mix> | 8 | 1.23 M | tf.data 100, Grain 2.1 |" in text
    assert "Measured on 2026-01-02, a CPU, where 0.1 processes" in text
    assert "```sh\nbench_peers --rows=1\n```" in text
    assert "other work" not in text


def test_a_machine_that_does_other_work_is_told(report: ModuleType, tmp_path: Path) -> None:
    comparisons, conditions = measured(report)
    busy = dataclasses.replace(conditions, before=7.5)  # type: ignore[type-var]
    report.write_markdown(tmp_path / "page.md", comparisons, busy)
    assert "The machine did other work meanwhile" in (tmp_path / "page.md").read_text()


def test_a_page_that_has_a_place_for_it_keeps_the_rest(report: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN} -->\nold\n{report.END}\nafter\n")
    for _ in range(2):
        report.write_markdown(page, *measured(report))
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert "old" not in text and text.count("| CSV |") == 1


def test_a_page_without_a_place_for_it_is_left_alone(report: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine\n")
    with pytest.raises(ValueError, match="no place for the table"):
        report.write_markdown(page, *measured(report))
    assert page.read_text() == "mine\n"


def test_the_chart_has_a_dot_for_each_peer(report: ModuleType, tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    report.write_svg(chart, *measured(report))
    names = {"svg": "http://www.w3.org/2000/svg"}
    root = ElementTree.parse(chart).getroot()
    places = {
        dot.get("class"): float(dot.get("cx", "0")) for dot in root.findall(".//svg:circle", names)
    }
    (ours,) = (
        float(line.get("x1", "0"))
        for line in root.findall(".//svg:line", names)
        if line.get("class") == "ours"
    )
    assert len(root.findall(".//svg:circle", names)) == 3
    assert places["slower"] < ours < places["faster"]
    words = [text.text for text in root.findall(".//svg:text", names)]
    assert {"CSV", "a <mix>", "polars", "tf.data", "Grain", "1/100", "1", "10"} <= set(words)


def test_readme_and_the_chart_are_of_one_run(report: ModuleType) -> None:
    root = BENCHMARKS.parents[1]
    page = (root / "README.md").read_text()
    rows = re.findall(
        r"^\| (.*?) \| \d+ \| [\d.]+(?: [kM])? \|", page[page.index(report.BEGIN) :], re.M
    )
    chart = ElementTree.parse(root / "tools" / "docs" / "pages" / "peers.svg").getroot()
    words = [text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert rows and set(rows) <= set(words)
