"""PPO on CartPole with one detail at a time off or changed: what does it cost?

Each variant is a `rust_trainer seeds` in a folder of its own. Writes `runs.csv`, a row for each
run, and `table.md`: means over seeds, and differences from the baseline with their 95 % interval by
the bootstrap, which draws the seeds of both anew.
"""

from __future__ import annotations

import argparse
import csv
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import TRAINER, markdown, options

PROGRAM = TRAINER
GAMES = 100
RESAMPLES = 20_000

# CleanRL's ppo.py, whose published run has 500,000 steps; CartPole is solved by then, with most of
# the details off too, so the budget here is a tenth.
BASELINE = {
    "algorithm": "ppo", "env_id": "CartPole-v1", "num_envs": 4, "num_steps": 128,
    "learning_rate": 2.5e-4, "anneal_lr": "true", "gamma": 0.99, "gae_lambda": 0.95,
    "num_minibatches": 4, "update_epochs": 4, "norm_adv": "true", "clip_coef": 0.2,
    "clip_vloss": "true", "ent_coef": 0.01, "vf_coef": 0.5, "max_grad_norm": 0.5, "adam_eps": 1e-5,
    "torch_threads": 1, "env_threads": 1,
}  # fmt: skip
OFF = 1e9  # a bound that is never reached

VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    "baseline": ("all details on", {}),
    "constant-lr": ("learning rate not annealed", {"anneal_lr": "false"}),
    "raw-advantages": ("advantages not normalized", {"norm_adv": "false"}),
    "no-value-clipping": ("value loss not clipped", {"clip_vloss": "false"}),
    "no-ratio-clipping": ("ratio not clipped, nor the value", {"clip_coef": OFF}),
    "lambda-1": ("λ = 1: no GAE, Monte Carlo to the rollout's end", {"gae_lambda": 1.0}),
    "lambda-0": ("λ = 0: one-step advantages", {"gae_lambda": 0.0}),
    "no-grad-clipping": ("gradient's norm not bounded", {"max_grad_norm": OFF}),
    "adam-eps-1e-8": ("Adam's ε 1e-8, PyTorch's default", {"adam_eps": 1e-8}),
    "no-entropy-bonus": ("no entropy bonus", {"ent_coef": 0.0}),
    "one-epoch": ("1 epoch instead of 4", {"update_epochs": 1}),
    "one-minibatch": ("1 minibatch instead of 4", {"num_minibatches": 1}),
    "uniform-init": (
        "weights not orthogonal but uniform, PyTorch's default",
        {"init": "uniform"},
    ),
    "norm-obs": ("observations normalized (off in the baseline)", {"norm_obs": "true"}),
    "norm-reward": ("rewards scaled (off in the baseline)", {"norm_reward": "true"}),
}


def train(folder: Path, name: str, settings: dict[str, object], how: list[str]) -> None:
    """Train all seeds of a variant, or go on with them."""
    found = folder / name / "plan.toml"
    if found.exists():
        plan = tomllib.loads(found.read_text())
        if plan["seeds"] != seeds_of(how[1]) or not agree(plan["settings"], settings):
            sys.exit(f"error: {found} has other seeds or settings; choose another folder")
        words = ["--resume", str(folder / name), *how[2:]]
    else:
        place = {"runs_dir": folder, "run_name": name, "keep_checkpoints": 1}
        words = [*how, *options(settings | place)]
    print(f"== {name}", flush=True)
    # Ctrl-C goes to the program too: it stops its runs, and each leaves a checkpoint. Here it is
    # only noted: an exception could come while the program starts.
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    status = subprocess.run([PROGRAM, "seeds", *map(str, words)], check=False).returncode
    signal.signal(signal.SIGINT, before)
    if asked:
        status = status or 130
    if status != 0:
        sys.exit(status)


def seeds_of(text: str) -> list[int]:
    """Return the seeds that `1-3` or `1,5,9` names."""
    spans = [part.split("-") for part in text.split(",")]
    return [seed for span in spans for seed in range(int(span[0]), int(span[-1]) + 1)]


def agree(found: dict[str, object], named: dict[str, object]) -> bool:
    """Whether settings as a file holds them are those that are named as the command line does."""
    values = {"true": True, "false": False}
    return all(found[key] == values.get(str(value), value) for key, value in named.items())


def scores(run: Path, steps: int) -> tuple[float, float]:
    """Return the area under the curve, as a mean over the run's steps, and the curve's end.

    The curve is the mean raw return of the last 100 games, looked at after each hundredth of the
    run; before the first game has ended it is 0.
    """
    with (run / "episodes.csv").open() as table:
        games = [(int(row["step"]), float(row["raw_return"])) for row in csv.DictReader(table)]
    ends = np.array([step for step, _ in games])
    returns = np.array([value for _, value in games])
    curve = []
    for step in np.linspace(0, steps, 101)[1:]:
        ended = returns[: np.searchsorted(ends, step, side="right")]
        curve.append(ended[-GAMES:].mean() if len(ended) else 0.0)
    return float(np.mean(curve)), float(returns[-GAMES:].mean())


def interval(
    samples: list[np.ndarray], statistic: Callable[..., np.ndarray]
) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of a statistic of the samples' means."""
    random = np.random.default_rng(0)
    means = [random.choice(sample, (RESAMPLES, len(sample))).mean(axis=1) for sample in samples]
    low, high = np.quantile(statistic(*means), [0.025, 0.975])
    return float(low), float(high)


def table(found: dict[str, np.ndarray]) -> str:
    """Return the table in Markdown; `found` has a row (area, end) for each seed of a variant."""
    rows = []
    for name, runs in found.items():
        cells = [VARIANTS[name][0]]
        for column in (0, 1):
            ours, base = runs[:, column], found["baseline"][:, column]
            low, high = interval([ours], lambda mean: mean)
            cells.append(f"{ours.mean():.1f} ({low:.1f} to {high:.1f})")
            if name == "baseline":
                cells.append("")
                continue
            low, high = interval([ours, base], lambda one, other: one - other)
            text = f"{ours.mean() - base.mean():+.1f} ({low:+.1f} to {high:+.1f})"
            cells.append(f"**{text}**" if low > 0 or high < 0 else text)
        rows.append(cells)
    header = "variant | area under the curve | from the baseline | at the end | from the baseline"
    return markdown(header, rows) + "\n"


def main() -> None:
    """Train all variants and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder of the runs and the tables")
    parser.add_argument("--seeds", default="1-5", help="as `rust_trainer seeds` takes them")
    parser.add_argument("--steps", type=int, default=51_200, help="agent steps of a run")
    parser.add_argument("--variants", nargs="+", default=[*VARIANTS], choices=[*VARIANTS])
    parser.add_argument("--jobs", help="runs at a time; as many as the cores carry")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    how = ["--seeds", arguments.seeds]
    how += ["--jobs", arguments.jobs] if arguments.jobs else []
    found, rows = {}, []
    for name in dict.fromkeys(["baseline", *arguments.variants]):
        changes = VARIANTS[name][1]
        train(out, name, {**BASELINE, "total_steps": arguments.steps, **changes}, how)
        runs = sorted(out.glob(f"{name}/*-seed*/"), key=lambda run: int(run.name.split("seed")[1]))
        found[name] = np.array([scores(run, arguments.steps) for run in runs])
        for run, (area, end) in zip(runs, found[name], strict=True):
            rows.append([name, run.name.split("seed")[1], f"{area:.3f}", f"{end:.3f}"])
    with (out / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["variant", "seed", "area_under_curve", "last_100_games"])
        writer.writerows(rows)
    text = table(found)
    (out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
