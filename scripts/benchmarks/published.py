"""Runs of ten million agent steps beside what is published, from what is checked in.

    cargo build --release --example learning_curves
    python scripts/benchmarks/published.py

Reads every run `docs/results/*-10m-seed*` and `rust_trainer/src/page/published.json`; writes
`docs/results/published/GAME.png`, each seed's mean raw return of the last 100 games and the
published values as lines, and `table.md`, where they end.
"""

from __future__ import annotations

import csv
import json
import tomllib
from typing import Any

import learning_curves
import matplotlib.pyplot as plt
import numpy as np
from harness import RESULTS, ROOT
from learning_curves import Runs, Summary

STEPS = 10_000_000
FOLDER = RESULTS / "published"
PUBLISHED: list[dict[str, Any]] = json.loads(
    (ROOT / "rust_trainer/src/page/published.json").read_text()
)
# A game, an algorithm, and the precision that it computed in.
Kind = tuple[str, str, str]


def runs() -> tuple[Runs, dict[Kind, list[int]]]:
    """Return the games of all runs, and the seeds of each kind."""
    games: Runs = {}
    seeds: dict[Kind, list[int]] = {}
    for folder in sorted(RESULTS.glob("*-10m-seed*")):
        settings = tomllib.loads((folder / "settings.toml").read_text())
        game = settings["env_id"].removesuffix("NoFrameskip-v4")
        kind = (game, settings["algorithm"].upper(), settings["precision"])
        seed = settings["seed"]
        with (folder / "episodes.csv").open() as file:
            rows = [[row["step"], row["env"], row["raw_return"]] for row in csv.DictReader(file)]
        games[*kind, seed] = np.array(rows, float)
        seeds.setdefault(kind, []).append(seed)
    return games, seeds


def verdict(own: dict[str, float | None], row: dict[str, Any], score: list[float]) -> str:
    """Return a published score, and where ours stands beside it.

    Of several seeds: it overlaps if our interval reaches into the published mean ± its spread.
    One seed has no interval: then the difference is told.
    """
    mean, spread = (*score, 0.0)[:2]
    value, low, high = own["value"], own["low"], own["high"]
    assert value is not None
    place = "above" if value > mean else "below"
    if low is None or high is None:
        place = f"{abs(value - mean):.4g} {place}"
    elif low <= mean + spread and high >= mean - spread:
        place = "overlaps with"
    text = f"{mean:g} ± {spread:g}" if spread else f"{mean:g}"
    return f"{place} {row['label'].partition(', ')[2]} ({text})"


def figure_of(value: float) -> str:
    """Return a score with as many digits as say something."""
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def line(kind: Kind, of: Summary, last: list[float], seeds: list[int]) -> str:
    """Return a line of the table."""
    game, algorithm, precision = kind
    rows = [row for row in PUBLISHED if row["algorithm"] == algorithm.lower()]
    beside = [verdict(of["end"], row, row["scores"][game]) for row in rows if game in row["scores"]]
    scored = zip(map(figure_of, of["ends"]), seeds, strict=True)
    ends = ", ".join(f"{end} ({seed})" for end, seed in scored)
    mean = learning_curves.estimate(of["end"]) if len(seeds) > 1 else "one seed"
    thousand = ", ".join(map(figure_of, last))
    cells = [game, f"{algorithm}, {precision}", ends, mean, thousand, "; ".join(beside)]
    return f"| {' | '.join(cells)} |"


def draw(game: str, curves: dict[str, Summary], algorithms: set[str]) -> None:
    """Draw the runs of a game, and what is published as lines."""
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for label, of in curves.items():
        steps, means, _, _ = np.transpose(of["curve"])
        axis.plot(steps, means, label=label)
    rows = [row for row in PUBLISHED if row["algorithm"] in algorithms and game in row["scores"]]
    for number, row in enumerate(rows):
        mean, spread = (*row["scores"][game], 0.0)[:2]
        style, colour = ["--", "-.", ":", (0, (1, 3))][number % 4], f"{0.25 + 0.1 * number:.2f}"
        axis.axhline(mean, linestyle=style, color=colour, label=row["label"], linewidth=1)
        axis.axhspan(mean - spread, mean + spread, color=colour, alpha=0.08)
    axis.set(title=game, xlabel="agent steps", ylabel="mean raw return of the last 100 games")
    axis.legend(loc="best", fontsize="small")
    figure.savefig(FOLDER / f"{game}.png", dpi=110)
    plt.close(figure)


def main() -> None:
    """Write the pictures and the table."""
    FOLDER.mkdir(exist_ok=True)
    games, seeds = runs()
    summaries = {
        kind: learning_curves.summarize(games, kind, own, STEPS) for kind, own in seeds.items()
    }
    lines = [
        "| game | algorithm | last 100 games (seed) | over seeds, 95 % | last 1,000 | beside |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind, of in summaries.items():
        last = [float(games[*kind, seed][-1000:, 2].mean()) for seed in seeds[kind]]
        lines.append(line(kind, of, last, seeds[kind]))
    (FOLDER / "table.md").write_text("\n".join(lines) + "\n")
    for game in sorted({kind[0] for kind in seeds}):
        kinds = [kind for kind in seeds if kind[0] == game]
        curves = {
            f"{kind[1]}, {kind[2]}, seed {seed}": learning_curves.summarize(
                games, kind, [seed], STEPS
            )
            for kind in kinds
            for seed in seeds[kind]
        }
        draw(game, curves, {kind[1].lower() for kind in kinds})
    print("\n".join(lines))


if __name__ == "__main__":
    main()
