"""Learning curves beside the plain PyTorch PPO, with the same settings.

    .venv/bin/python scripts/benchmarks/curves.py train --results NAME --folder FOLDER --seeds 1-3
    .venv/bin/python scripts/benchmarks/curves.py report --results NAME [--folder FOLDER]

NAME is one of the studies below, `curves` if none is named. `train` leaves out what is done, and
bf16 where the processor has no instructions for it, so that it is emulated.
`report` adds the runs of FOLDER, if one is named, to what is checked in; it writes every game as
`docs/results/NAME/episodes.csv`, and `curves.png` and `curves.txt` beside it: over the seeds that
all contestants there have, the mean of the mean raw return of the last 100 games, and of all, with
its 95 % interval by bootstrap over seeds; the same of all seeds of who has more; and how far each
two are apart, seed by seed, over the seeds that both have, with the standard error.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import learning_curves
import matplotlib.pyplot as plt
import numpy as np
from harness import RESULTS, theirs
from learning_curves import Key, Runs, Summary, Table, draw, estimate, summarize

OURS = "ppo-atari --recipe envpool --episodic-life true --clip-reward true"
OURS += " --backend native --torch-threads 1 --env-threads 1"
# Of `ppo-atari`, what `ppo-cartpole` has otherwise.
CARTPOLE = "ppo-cartpole --num-steps 128 --learning-rate 0.00025 --gamma 0.99 --gae-lambda 0.95"
CARTPOLE += " --num-minibatches 4 --update-epochs 4 --clip-coef 0.1 --clip-vloss true"
CARTPOLE += " --ent-coef 0.01 --vf-coef 0.5 --torch-threads 1"
CONTESTANTS = {
    "ours, fp32": ["--precision", "fp32"],
    "ours, bf16": ["--precision", "bf16"],
    "ours, next-step": ["--precision", "fp32", "--autoreset", "next-step"],
    "PyTorch PPO on EnvPool": ["--envs", "envpool"],
    "PyTorch PPO on native": ["--envs", "ours"],
}
TABLE = Table(RESULTS / "curves", ["contestant", "seed"])
HAS_BF16 = "_bf16" in Path("/proc/cpuinfo").read_text()


@dataclass(frozen=True)
class Study:
    """Who trains for how many steps in which game."""

    peer: str
    game: str = "SpaceInvaders"
    steps: int = 200_000
    ours: str = OURS

    def contestants(self) -> list[str]:
        """Return their names."""
        return [name for name in CONTESTANTS if name.startswith("ours") or name == self.peer]

    def named(self, of_atari: str) -> str:
        """Return the game's name, with an ending where it is one of Atari."""
        return self.game if self.game.startswith("CartPole") else f"{self.game}{of_atari}"


STUDIES = {
    "curves": Study("PyTorch PPO on EnvPool"),
    "curves-amx": Study("PyTorch PPO on EnvPool"),
    "peer-space-invaders": Study("PyTorch PPO on native", steps=500_000),
    "peer-breakout": Study("PyTorch PPO on native", "Breakout", 500_000),
    "peer-cartpole": Study("PyTorch PPO on EnvPool", "CartPole-v1", 24_576, CARTPOLE),
}


def study() -> Study:
    """Return the one that the results are of."""
    name = TABLE.results.name
    if name not in STUDIES:
        sys.exit(f"--results {name}: must be one of {', '.join(STUDIES)}")
    return STUDIES[name]


def run_name(contestant: str) -> str:
    """Return the name of a contestant's runs; that of a file of games ends in its seed."""
    return f"{contestant.replace(', ', '-').replace(' ', '-')}-seed"


def train(folder: Path, seeds: list[int]) -> None:
    """Train what is not there yet."""
    of = study()
    contestants = [name for name in of.contestants() if HAS_BF16 or "bf16" not in name]
    for seed, contestant in itertools.product(seeds, contestants):
        run = folder / f"{run_name(contestant)}{seed}"
        games = run.with_suffix(".csv")
        if games.exists():
            continue
        settings = CONTESTANTS[contestant]
        if contestant == of.peer:
            options = ["--game", of.named("-v5"), "--seed", seed, "--games", games]
            peer = theirs("torch_ppo.py", 1, of.steps, *settings, *options)
            subprocess.run(peer, check=True)
            continue
        shutil.rmtree(run, ignore_errors=True)  # what was interrupted
        # The peer counts whole updates.
        steps = ["--total-steps", str(of.steps // 1024 * 1024), "--checkpoint-every", str(10**12)]
        game = ["--env-id", of.named("NoFrameskip-v4")]
        learning_curves.train(run, seed, [*of.ours.split(), *game, *steps, *settings])
        shutil.copyfile(run / "episodes.csv", games)


def found(folder: Path) -> Iterator[tuple[Key, Path]]:
    """Yield the runs in a folder, with the files of their games."""
    for contestant in study().contestants():
        name = run_name(contestant)
        seeds = sorted(int(games.stem[len(name) :]) for games in folder.glob(f"{name}*.csv"))
        for seed in seeds:
            yield (contestant, seed), folder / f"{name}{seed}.csv"


def common_seeds(runs: Runs, *contestants: str) -> list[int]:
    """Return the seeds that all of them have."""
    seeds = ({seed for of, seed in runs if of == contestant} for contestant in contestants)
    return sorted(set.intersection(*seeds))


def difference(first: list[float], second: list[float]) -> str:
    """Return by how much the first is higher, seed by seed, with its standard error."""
    pairs = np.subtract(first, second)
    if len(pairs) == 1:
        return f"{pairs[0]:+.1f}"
    return f"{np.mean(pairs):+.1f} ± {np.std(pairs, ddof=1) / np.sqrt(len(pairs)):.1f}"


def told(name: str, its: Summary) -> str:
    """Return what seeds came to in a line."""
    ends, wholes = (", ".join(f"{each:.1f}" for each in its[name]) for name in ("ends", "wholes"))
    return (
        f"{name}: {estimate(its['end'])}, over all games {estimate(its['whole'])}; "
        f"seeds {ends}; over all games {wholes}"
    )


def report(runs: Runs) -> None:
    """Draw the curves, and write the table of where they end."""
    of, there = study(), {contestant for contestant, _ in runs}
    contestants = [contestant for contestant in of.contestants() if contestant in there]
    seeds = common_seeds(runs, *contestants)
    of_all = {name: summarize(runs, (name,), seeds, of.steps) for name in contestants}
    lines = [told(contestant, its) for contestant, its in of_all.items()]
    for contestant in contestants:
        own = common_seeds(runs, contestant)
        if own != seeds:
            its = summarize(runs, (contestant,), own, of.steps)
            lines.append(told(f"{contestant}, all {len(own)} seeds", its))
    for pair in itertools.combinations(contestants, 2):
        seeds = common_seeds(runs, *pair)
        first, second = (summarize(runs, (name,), seeds, of.steps) for name in pair)
        lines.append(
            f"{' beside '.join(pair)}, {len(seeds)} {'seed' if len(seeds) == 1 else 'seeds'}: "
            f"{difference(first['ends'], second['ends'])}, "
            f"over all games {difference(first['wholes'], second['wholes'])}"
        )
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    draw(axis, "PPO on " + of.named(", EnvPool's recipe"), of_all)
    TABLE.store(figure, lines)


if __name__ == "__main__":
    learning_curves.main(__doc__, "1-3", TABLE, train, found, report)
