"""Trains with several seeds and several settings on a Ray cluster, and reports on all of it.

    ./scripts/ray_sweep --name rates --seeds 1-3 --vary learning-rate=1e-4,2.5e-4 -- ppo-cartpole
    ./scripts/ray_sweep --name nets --seeds 1-5 --vary num-envs=8,32 --vary gamma=0.9,1 -- ppo-atari

Every combination of the settings to vary is what `seeds` makes: a folder with a plan, a run for
each seed and environment, and their statistics and mean curves. Each run is a task of Ray's, so as
many are at work as the cluster has places. `sweep.csv` and the table at the end compare the
combinations, best first. The same command goes on with what is not finished. Ctrl-C stops all runs
with a checkpoint. The cluster is the one that RAY_ADDRESS names, else one on this machine alone;
its machines need the project and the folder at the same paths.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# Read when Ray is imported: on this machine alone it listens to the loopback interface only.
if "RAY_ADDRESS" not in os.environ:
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import ray

PROGRAM = Path(__file__).resolve().parents[2] / "target/release/rust_trainer"


def train(words: list[str], folder: str, plan: str) -> tuple[int, str]:
    """Run the trainer with these words in `folder`; return its exit status and where its log is."""
    name = Path(words[words.index("--config" if "--config" in words else "--resume") + 1])
    log = name.with_name(name.name.removesuffix(".toml") + ".log")
    if not (Path(folder) / plan / "plan.toml").is_file():
        here = socket.gethostname()
        return 1, f"{plan} is not to be seen at {here}: all machines need the folder at its path"
    environment = os.environ | {"VIRTUAL_ENV": sys.prefix}
    with (Path(folder) / log).open("ab") as out:
        command = [str(PROGRAM), *words]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        try:
            # By turns, for ray.cancel interrupts Python code and no system call.
            while process.poll() is None:
                time.sleep(0.1)
        except KeyboardInterrupt:
            process.terminate()
        status = process.wait()
    if status == 0 and "--config" in words:
        (Path(folder) / name).unlink(missing_ok=True)
    return status, str(log)


class Variant:
    """One combination of the settings, and the folder of its runs."""

    def __init__(self, runs: Path, options: argparse.Namespace, values: tuple[str, ...]) -> None:
        self.values = dict(zip((name for name, _ in options.vary), values, strict=True))
        name = "_".join(f"{name}-{value}" for name, value in self.values.items()) or "all"
        self.name = name.replace("/", "-")
        self.folder = runs / self.name
        self.options = options

    def commands(self) -> list[list[str]]:
        """Return the commands of the runs that are not finished; the trainer plans them."""
        words = ["seeds", "--print-commands"]
        if (self.folder / "plan.toml").is_file():
            words += ["--resume", str(self.folder)]
        else:
            cores = str(max(1, int(self.options.cpus)))
            words += [*self.options.arguments, "--seeds", self.options.seeds]
            words += itertools.chain(*((f"--{name}", value) for name, value in self.values.items()))
            given = {word.partition("=")[0] for word in words}
            for name in ("--torch-threads", "--env-threads"):
                words += [] if name in given else [name, cores]
            words += ["--runs-dir", str(self.folder.parent), "--run-name", self.name]
        environment = os.environ | {"VIRTUAL_ENV": sys.prefix}
        made = subprocess.run([str(PROGRAM), *words], env=environment, stdout=subprocess.PIPE)
        if made.returncode != 0:
            sys.exit(made.returncode)
        return [json.loads(line) for line in made.stdout.splitlines()]

    def rows(self) -> list[dict[str, Any]]:
        """Return what its finished runs came to, a row for each environment."""
        results = self.folder / "results.json"
        if not results.is_file():
            return []
        envs = json.loads(results.read_text())["envs"]
        of_env = ({"env_id": env["env_id"], "seeds": env["seeds"]} | env["mean"] for env in envs)
        return [{"variant": self.name, **self.values, **row} for row in of_env]


def report(runs: Path, variants: list[Variant]) -> None:
    """Write `sweep.csv` and print its rows: for each environment the best mean first."""
    rows = [row for variant in variants for row in variant.rows()]
    if not rows:
        print("no run is finished")
        return
    rows.sort(key=lambda row: (row["env_id"], -row["value"]))
    with (runs / "sweep.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    width = max(len(row["variant"]) for row in rows)
    print(
        "mean raw return of the last 100 games of each run; 95 % interval over seeds by bootstrap"
    )
    for row in rows:
        known = row["low"] is not None
        interval = f"{row['low']:.2f} to {row['high']:.2f}" if known else "none of a single seed"
        start = f"{row['env_id']}  {row['variant']:{width}}  {row['seeds']} seeds"
        print(f"{start}  {row['value']:10.2f}  {interval}")
    print(f"{runs / 'sweep.csv'}; mean curves: {runs}/*/curve-*.png")


def run_all(commands: list[tuple[Variant, list[str]]], options: argparse.Namespace) -> bool:
    """Run all tasks to their end; whether Ctrl-C stopped them."""
    task = ray.remote(num_cpus=options.cpus, num_gpus=options.gpus, max_retries=0)(train)
    folder = str(Path.cwd())
    at_work = {
        task.remote(words, folder, str(variant.folder)): variant for variant, words in commands
    }
    stopped = False
    while at_work:
        try:
            (ended, *_), _ = ray.wait(list(at_work))
        except KeyboardInterrupt:
            stopped = True
            for reference in at_work:
                ray.cancel(reference)
            continue
        variant = at_work.pop(ended)
        try:
            status, log = ray.get(ended)
        except ray.exceptions.RayError as error:
            status, log = 1, str(error).splitlines()[0]
        if not stopped:
            word = "done" if status == 0 else f"failed with status {status}"
            print(f"{variant.name}: {word} ({log}); {len(at_work)} more", flush=True)
    return stopped


def setting(text: str) -> tuple[str, list[str]]:
    """Read `name=value,value`."""
    name, _, values = text.partition("=")
    if not name or not all(values.split(",")):
        raise argparse.ArgumentTypeError(f"`{text}` is not name=value,value")
    return name, values.split(",")


def check_same(runs: Path, options: argparse.Namespace) -> bool:
    """Refuse to go on with a sweep of that name that was another one; whether there was none."""
    vary = [f"{name}={','.join(values)}" for name, values in options.vary]
    asked = {"seeds": options.seeds, "vary": vary, "arguments": options.arguments}
    path = runs / "sweep.json"
    if not path.is_file():
        if runs.exists():
            sys.exit(f"error: {runs} is there and is no sweep: choose another --name")
        runs.mkdir(parents=True)
        path.write_text(json.dumps(asked, indent=2) + "\n")
        return True
    before = json.loads(path.read_text())
    for name, value in asked.items():
        if before[name] != value:
            sys.exit(
                f"error: {runs} is a sweep with {name} = {before[name]}, and not {value}: "
                "go on with the same command, or choose another --name"
            )
    return False


def main() -> int:
    """Plan the runs of all combinations, run them as tasks, report."""
    parser = argparse.ArgumentParser(
        "ray_sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", required=True, help="of the sweep: its folder is runs/NAME")
    parser.add_argument("--seeds", required=True, help="such as 1-3 or 1,5,9")
    parser.add_argument("--vary", type=setting, action="append", default=[], help="NAME=VALUE,…")
    parser.add_argument("--cpus", type=float, default=1, help="cores of each run (default 1)")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each run (default 0)")
    parser.add_argument("--max-restarts", type=int, default=0, help="of runs that failed")
    parser.add_argument("arguments", nargs="*", help="of `rust_trainer seeds`, behind --")
    options = parser.parse_args()

    runs = Path("runs") / options.name
    values = itertools.product(*(values for _, values in options.vary))
    variants = [Variant(runs, options, of_variant) for of_variant in values]
    is_new = check_same(runs, options)

    def plan() -> list[tuple[Variant, list[str]]]:
        return [(variant, words) for variant in variants for words in variant.commands()]

    try:
        commands = plan()
    except SystemExit:
        if is_new:
            shutil.rmtree(runs)  # nothing but plans, of a command that is wrong
        raise
    ray.init(include_dashboard=False, configure_logging=False, log_to_driver=False)
    for _ in range(options.max_restarts + 1):
        if not commands:
            break
        print(f"{len(commands)} runs to do in {runs}", flush=True)
        if run_all(commands, options):
            print("stopped; the same command goes on", file=sys.stderr)
            return 130
        commands = plan()
    report(runs, variants)
    if commands:
        print(f"{len(commands)} runs are not finished; the same command goes on", file=sys.stderr)
    return 1 if commands else 0


if __name__ == "__main__":
    sys.exit(main())
