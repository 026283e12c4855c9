"""A model card's table of metrics: written once after a training, read by every evaluation since."""

from dataclasses import dataclass
from pathlib import Path
import re

START = "<!-- metrics: written by the evaluation, read by zoo/evaluate_all.py -->"
END = "<!-- end of metrics -->"


@dataclass(frozen=True)
class Metric:
    """`at_least`/`at_most` is the bar that must hold anywhere, `slack` how far a machine may stray from the card."""

    name: str
    value: float
    slack: float
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def bar(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return f"≤ {self.at_most:g}" if self.at_most is not None else "–"


def table(metrics: list) -> str:
    lines = [START, "| metric | value | bar | |", "|---|---|---|---|"]
    lines += [f"| {metric.name} | {metric.value:.4f} | {metric.bar} | {metric.note} |" for metric in metrics]
    return "\n".join([*lines, END])


def write_table(card: Path, metrics: list) -> None:
    text = card.read_text()
    pattern = re.escape(START) + ".*?" + re.escape(END)
    if not re.search(pattern, text, re.S):
        raise ValueError(f"{card} has no table of metrics; put the two marker comments where it belongs")
    card.write_text(re.sub(pattern, lambda _: table(metrics), text, count=1, flags=re.S))


def read_table(card: Path) -> dict:
    text = card.read_text()
    block = text.split(START, 1)[1].split(END, 1)[0]
    rows = [line.split("|") for line in block.splitlines() if line.startswith("|")][2:]
    return {row[1].strip(): float(row[2]) for row in rows}


def problem_with(metric: Metric, card: dict) -> str | None:
    """What is wrong with a measured value, or None."""
    if metric.at_least is not None and metric.value < metric.at_least:
        return f"below its bar of {metric.at_least:g}"
    if metric.at_most is not None and metric.value > metric.at_most:
        return f"above its bar of {metric.at_most:g}"
    if metric.name not in card:
        return "not on the model card"
    stated = card[metric.name]
    if abs(metric.value - stated) > metric.slack:
        return f"the card states {stated:.4f}, more than {metric.slack:g} away"
    return None
