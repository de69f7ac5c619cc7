"""Trains for a record and keeps the evidence: `gpu_record.py [--preset ppo-record] …`.

Starts the run, or goes on with it where it is there already, until the mean raw return of its last
100 true games reaches the aim, its steps are done, or the seconds are over; then it is stopped with
a checkpoint, so that the same command goes on. Each call adds itself to `record.json` in the folder
of the evidence, beside the run's own settings, machine, episodes, updates and learning curve.

Runs on a CPU, too: `--device cpu` and small settings behind `--`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import harness
from harness import RESULTS, ROOT

# What Cleanba reaches in 200M frames of SpaceInvaders with sticky actions (Huang et al. 2023).
AIM = 28_800.0
FRAMES_PER_STEP = 4
GAMES = 100
POLL_SECONDS = 2.0
AIM_REACHED = "the aim is reached"
KEPT = ("settings.toml", "machine.json", "updates.csv", "curve.png")


def train(run: Path, arguments: argparse.Namespace) -> str:
    """Start or go on with the run until something ends it; return what."""
    if reached(run, arguments.aim):
        return AIM_REACHED
    if run.exists():
        options = ["train", "--resume", str(run)]
    else:
        place = ["--runs-dir", str(run.parent), "--run-name", run.name]
        options = ["train", arguments.preset, *place, *arguments.settings]
    log = run.with_name(f"{run.name}.log")
    end = time.monotonic() + arguments.seconds
    process = harness.start([*options, "--device", arguments.device], log)
    why = "its steps are done"
    try:
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            if reached(run, arguments.aim):
                why = AIM_REACHED
                break
            if time.monotonic() > end:
                why = "the seconds are over"
                break
    finally:
        harness.stop(process)
    if process.returncode not in (0, 130):
        sys.exit("\n".join(log.read_text(errors="replace").splitlines()[-5:]))
    return why


def games(run: Path) -> list[dict[str, float]]:
    """Return the true games that have ended: agent step, raw return, seconds of training."""
    return harness.table(run / "episodes.csv")


def mean_of_last(games: list[dict[str, float]]) -> float | None:
    """Return the mean raw return of the last 100 games, None where fewer have ended."""
    last = [game["raw_return"] for game in games[-GAMES:]]
    return sum(last) / GAMES if len(last) == GAMES else None


def reached(run: Path, aim: float) -> dict[str, float] | None:
    """Return the first game with which the mean of 100 reached the aim."""
    table = games(run)
    total = 0.0
    for number, game in enumerate(table):
        total += game["raw_return"] - (
            table[number - GAMES]["raw_return"] if number >= GAMES else 0
        )
        if number + 1 >= GAMES and total / GAMES >= aim:
            return game
    return None


def keep(run: Path, out: Path, call: dict[str, Any], aim: float) -> dict[str, Any]:
    """Copy the evidence, and return the record so far."""
    out.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (run / name).exists():
            shutil.copyfile(run / name, out / name)
    episodes = (run / "episodes.csv").read_bytes()
    (out / "episodes.csv.gz").write_bytes(gzip.compress(episodes, mtime=0))
    path = out / "record.json"
    before = json.loads(path.read_text())["calls"] if path.exists() else []
    updates = harness.table(run / "updates.csv")
    last = updates[-1] if updates else {"step": 0.0, "seconds": 0.0}
    first = reached(run, aim)
    record = {
        "aim": aim,
        "agent_steps": last["step"],
        "frames": FRAMES_PER_STEP * last["step"],
        # Starts and checkpoints of earlier calls apart.
        "training_seconds": last["seconds"],
        "games": len(games(run)),
        "mean_return_of_last_100_games": mean_of_last(games(run)),
        "reached_at": first and {name: first[name] for name in ("step", "seconds")},
        "machine": harness.machine_with_gpu(),
        "calls": [*before, call],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="ppo-record", help="ppo-record or pqn-record")
    parser.add_argument("--aim", type=float, default=AIM, help="mean raw return of 100 games")
    parser.add_argument("--seconds", type=float, default=540.0, help="of this call")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu")
    parser.add_argument("--run", type=Path, help="folder of the run [default: runs/<preset>]")
    parser.add_argument("--out", type=Path, help="evidence [default: docs/results/<preset>]")
    parser.add_argument("settings", nargs="*", help="behind `--`: more options of a new run")
    arguments = parser.parse_args()
    run = (arguments.run or ROOT / "runs" / arguments.preset).resolve()
    run.parent.mkdir(parents=True, exist_ok=True)
    started = time.time()
    why = train(run, arguments)
    call = {
        "command": harness.command_line(),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "wall_seconds": round(time.time() - started, 1),
        "ended_because": why,
    }
    record = keep(run, arguments.out or RESULTS / arguments.preset, call, arguments.aim)
    mean = record["mean_return_of_last_100_games"]
    print(
        f"{why}: {record['agent_steps']:.0f} agent steps in {record['training_seconds']:.0f} s, "
        f"{record['games']} games"
        + ("" if mean is None else f", the last {GAMES} with a mean return of {mean:.1f}")
    )


if __name__ == "__main__":
    main()
