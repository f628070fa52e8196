"""The results of all cells, in a file of the cluster's state folder, and the table made of them.

    python -m tests.faults.results --state DIR

writes the table into docs/reliability.md. A cell that was not run says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.faults.cells import CELLS, NOT_IN_CLUSTER
from tests.faults.faults import FAULTS
from tests.faults.parts import PARTS
from tests.paths import CHECKOUT

PAGE = CHECKOUT / "docs/reliability.md"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->"
NOT_RUN = "not run"
BRIEF_S = 3.0  # a fault that lasts longer shows its length


@dataclass(frozen=True)
class Result:
    """What one fault did to one part. `problems` is empty if everything held.

    `commit` is empty outside a Git repository.
    """

    cell: str
    date: str
    lasted_s: float
    truth_s: float
    refused: int
    problems: list[str]
    commit: str = ""

    def summarize(self) -> str:
        if self.problems:
            return "**fails**, see below"
        return f"right after {self.truth_s:.0f} s" + (
            f" ({self.lasted_s:.0f} s)" if self.lasted_s > BRIEF_S else ""
        )


def results_file(state: Path) -> Path:
    return state / "faults.json"


def load_results(state: Path) -> dict[str, Result]:
    file = results_file(state)
    entries = json.loads(file.read_text()) if file.exists() else {}
    return {name: Result(**entry) for name, entry in entries.items()}


def save_result(state: Path, result: Result) -> None:
    """Add a result at once, so that an interrupted run goes on after it."""
    entries = {**load_results(state), result.cell: result}
    file = results_file(state)
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps({name: asdict(one) for name, one in entries.items()}, indent=1))
    fresh.rename(file)


def read_commit() -> str:
    """Return the checkout's commit, and whether files differ from it."""
    argv = ["git", "describe", "--always", "--exclude=*", "--dirty= with changes"]
    done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def render(results: Mapping[str, Result]) -> str:
    """Return the tables and the failures as Markdown."""
    shown = {
        str(cell): results[str(cell)].summarize() if str(cell) in results else NOT_RUN
        for cell in CELLS
    }
    lines = ["| part | " + " | ".join(FAULTS) + " |", "|---" * (len(FAULTS) + 1) + "|"]
    for part in PARTS:
        texts = [shown[f"{part}/{fault}"] for fault in FAULTS]
        lines.append(f"| {part} | " + " | ".join(texts) + " |")
    others = [cell for cell in CELLS if cell.part not in PARTS]
    lines += ["", "| surroundings | fault | result |", "|---|---|---|"]
    lines += [f"| {cell.part} | {cell.fault} | {shown[str(cell)]} |" for cell in others]
    run = [results[name] for name in shown if name in results]
    lines += ["", f"{len(run)} of {len(shown)} cells were run. {NOT_IN_CLUSTER}"]
    lines += ["", *_count_runs(run)]
    if failures := [one for one in run if one.problems]:
        lines += ["", "### Failures", ""]
        lines += [f"- {one.cell}: {'; '.join(map(_quote, one.problems))}" for one in failures]
    return "\n".join(lines) + "\n"


def _count_runs(run: Iterable[Result]) -> list[str]:
    """Return how many cells were run on which day, at which commit."""
    runs = Counter((one.date, one.commit or "unknown") for one in run)
    return [
        f"- {date}, commit {commit}: {number}" for (date, commit), number in sorted(runs.items())
    ]


def _quote(text: str) -> str:
    return f"`{' '.join(text.replace('`', '').split())[:240]}`"


def write_table(page: str, results: Mapping[str, Result]) -> str:
    """Return the page with its table replaced."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{render(results)}{END}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="the cluster's state folder")
    results = load_results(parser.parse_args().state)
    PAGE.write_text(write_table(PAGE.read_text(), results))
    print(f"{PAGE.name}: {len(results)} results")


if __name__ == "__main__":
    main()
