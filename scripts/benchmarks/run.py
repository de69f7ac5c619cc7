"""The benchmarks: every contestant in a fresh process, in turns, medians, raw samples stored.

A contestant prints one JSON object; this adds the peak memory of its process tree, checks that all
did equal work where that can be checked, prints a table, and writes
`docs/results/bench-<part>.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import ale_py
from harness import (
    RESULTS,
    ROOT,
    TRAINER,
    Sample,
    machine,
    markdown,
    speed,
    store,
    table,
    theirs,
    tree_memory,
)

HERE = Path(__file__).parent
FLOORS = ROOT / "target/release/examples/learner_floors"
THROUGHPUT = ROOT / "target/release/examples/throughput"

# A whole training of PPO: as many updates of 8 by 128 steps, of which the first warms up.
UPDATES = 5
TRAINING_STEPS = UPDATES * 1024
MEMORY_SAMPLE_SECONDS = 1.0
EMULATOR_FRAMES = 20_000


@dataclass
class Contestant:
    """A command to measure."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    # Those of one name must do equal work.
    work: str = ""
    # How many cores it may use; 0: all.
    cores: int = 0

    def run(self) -> Sample:
        """Run it; return what it printed and its peak memory."""
        allowed = sorted(os.sched_getaffinity(0))[: self.cores or None]
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as stderr:
            process = subprocess.Popen(
                self.command,
                cwd=folder,
                env=os.environ | self.environment,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                preexec_fn=lambda: os.sched_setaffinity(0, allowed),
            )
            peak = 0
            while process.poll() is None:
                peak = max(peak, tree_memory(process.pid))
                time.sleep(MEMORY_SAMPLE_SECONDS)
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
            if process.returncode:
                stderr.seek(0)
                ended = f"{' '.join(self.command)} ended with status {process.returncode}"
                sys.exit(f"{ended}:\n{stderr.read()[-2000:]}")
            is_ours = self.command[0] == str(TRAINER)
            sample = training_sample(Path(folder)) if is_ours else json.loads(lines[-1])
        return sample | {"peak_memory": peak}


Contestants = dict[str, Contestant]


def training_sample(folder: Path) -> Sample:
    """Read our trainer's own table: everything after the first update, which warms up."""
    rows = table(folder / "runs/bench/updates.csv")
    newest = max((folder / "runs/bench/checkpoints").glob("*.safetensors"))
    with newest.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    algorithm = json.loads(header["__metadata__"]["algorithm"])
    work = {"updates": len(rows), "gradient_steps": algorithm["optimizer_steps"]}
    return speed(rows, warm_up=1) | {"work": work}


def ours(threads: int, *arguments: str, steps: int = TRAINING_STEPS) -> list[str]:
    """Return the command of a short training run of ours."""
    size = ["--total-steps", str(steps)]
    threads_each = ["--torch-threads", str(threads), "--env-threads", str(threads)]
    return [str(TRAINER), "train", "--run-name", "bench", *size, *threads_each, *arguments]


def crossing(_threads: int) -> Contestants:
    """Stepping alone, from Rust: through `VecGymEnv` and without Python, beside ALE's own env."""
    contestants = {}
    for num_envs in (1, 8, 64, 256, 1024):
        work = f"{num_envs} envs"
        size = [str(num_envs), str(max(100, 40_000 // num_envs))]
        # Of Python's backends the crossing is of interest, which these sizes show.
        backends = ("ale", "native") if num_envs in (8, 64) else ()
        for backend in backends:
            command = [str(THROUGHPUT), backend, *size]
            contestants[f"VecGymEnv, {backend}, {work}"] = Contestant(command, work=work)
        contestants[f"native, {work}"] = Contestant([str(THROUGHPUT), "rust", *size], work=work)
        contestants[f"ALE, {work}"] = Contestant(theirs("ale_throughput.py", *size), work=work)
    return contestants


def train(threads: int) -> Contestants:
    """Whole PPO: ours against its peers, same hyper-parameters, envs and threads.

    Peers run as they come. Ours sets up malloc by itself.
    """
    size = (threads, TRAINING_STEPS)
    ale, native, bf16 = ("--backend", "ale"), ("--backend", "native"), ("--precision", "bf16")
    return {
        "ours": Contestant(ours(threads, *ale)),
        "ours, native": Contestant(ours(threads, *native)),
        "ours, bf16": Contestant(ours(threads, *bf16, *ale)),
        "ours, bf16, native": Contestant(ours(threads, *bf16, *native)),
        "PyTorch PPO on EnvPool": Contestant(theirs("torch_ppo.py", *size)),
        "stable-baselines3": Contestant(theirs("sb3.py", "ppo", *size)),
    }


def algorithms(threads: int) -> Contestants:
    """A2C, DQN and PQN in fp32 beside their nearest peers, with the settings of ours."""
    sizes = {"a2c": 48 * 80, "dqn": 2 * 1024, "pqn": 2 * 4096}
    options = {
        "a2c": ["--backend", "native"],
        "dqn": ["--backend", "native", "--learning-starts", "1000", "--replay-capacity", "20000"],
        "pqn": ["--backend", "native"],
    }
    options["dqn"] += ["--steps-per-update", "1024"]
    peers = {
        "a2c": ("stable-baselines3", "sb3.py", "a2c"),
        "dqn": ("stable-baselines3", "sb3.py", "dqn"),
        "pqn": ("PyTorch PQN on EnvPool", "torch_pqn.py"),
    }
    contestants = {}
    for name, steps in sizes.items():
        command = ours(threads, "--algorithm", name, *options[name], steps=steps)
        contestants[f"{name.upper()}: ours, native"] = Contestant(command, work=name)
        peer, script, *of = peers[name]
        command = theirs(script, *of, threads, steps)
        contestants[f"{name.upper()}: {peer}"] = Contestant(command, work=name)
    return contestants


def scaling(threads: int) -> Contestants:
    """PPO in updates of 1024 samples, by cores and environments."""
    contestants = {}
    for cores in sorted({1, threads}):
        for num_envs in (8, 32, 128):
            size = ["--num-envs", str(num_envs), "--num-steps", str(1024 // num_envs)]
            at = f"{cores} cores, {num_envs} envs"
            commands = {
                "ours": ours(cores, *size, steps=3 * 1024),
                "ours, bf16, native": ours(
                    cores, *size, "--precision", "bf16", "--backend", "native", steps=3 * 1024
                ),
                "PyTorch PPO on EnvPool": theirs(
                    "torch_ppo.py", cores, 3 * 1024, "--num-envs", num_envs
                ),
            }
            for name, command in commands.items():
                contestants[f"{name}; {at}"] = Contestant(command, work=at, cores=cores)
    return contestants


def bare_emulator() -> Sample:
    """Return frames of SpaceInvaders per second of CPU time in ALE alone, nothing drawn or resized.

    What environments cannot be faster than with this emulator: 4 frames an agent step, one core.
    """
    ale = ale_py.ALEInterface()
    ale.loadROM(ale_py.roms.get_rom_path("space_invaders"))
    actions, random = ale.getMinimalActionSet(), Random(1)
    started = time.process_time()
    for _ in range(EMULATOR_FRAMES):
        ale.act(random.choice(actions))
        if ale.game_over():
            ale.reset_game()
    return {"frames_per_cpu_second": EMULATOR_FRAMES / (time.process_time() - started)}


def floors() -> list[Sample]:
    """Return where a gradient step's time goes beside its floors, and the bare emulator's rate.

    In one thread: what several compute are parts of the same.
    """
    commands = [[str(FLOORS), precision, "9"] for precision in ("fp32", "bf16")]
    outputs = [subprocess.run(command, check=True, capture_output=True) for command in commands]
    return [*(json.loads(output.stdout) for output in outputs), bare_emulator()]


def malloc(threads: int) -> Contestants:
    """Our PPO with malloc as the trainer sets it up, as glibc comes, and by glibc's tunables.

    The trainer leaves malloc as it is where `GLIBC_TUNABLES` is set.
    """
    tunables = {
        "as glibc comes": "",
        "one arena, huge pages": "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1",
    }
    contestants = {}
    for num_envs in (8, 64):
        size = ["--backend", "native", "--num-envs", str(num_envs)]
        command = ours(threads, *size, steps=3 * 128 * num_envs)
        work = f"{num_envs} envs"
        contestants[f"the trainer's, {work}"] = Contestant(command, work=work)
        for name, value in tunables.items():
            environment = {"GLIBC_TUNABLES": value}
            contestants[f"{name}, {work}"] = Contestant(command, environment, work)
    return contestants


PARTS = {
    "crossing": crossing,
    "train": train,
    "algorithms": algorithms,
    "scaling": scaling,
    "malloc": malloc,
}
# Measured within one process each, by programs of their own.
PROGRAMS = {"emulator": "emulators.py", "envs": "vector_envs.py", "memory": "memory.py"}
IN_ROUNDS = {"emulator", "envs"}


def check_equal_work(contestants: Contestants, samples: dict[str, list[Sample]]) -> None:
    """Where contestants report what they did, those that are compared must agree."""
    work: dict[str, set[str]] = {}
    for name, runs in samples.items():
        for sample in runs:
            if "work" in sample:
                done = work.setdefault(contestants[name].work, set())
                done.add(json.dumps(sample["work"]))
    unequal = {size: done for size, done in work.items() if len(done) > 1}
    if unequal:
        sys.exit(f"the contestants did not do equal work: {unequal}")


def medians(samples: dict[str, list[Sample]]) -> str:
    """Return medians as a Markdown table."""
    rows = []
    for name, runs in samples.items():
        speeds = [sample["steps_per_second"] for sample in runs]
        cpu = [sample.get("cpu_seconds_per_1000_steps", math.nan) for sample in runs]
        memory = statistics.median(sample["peak_memory"] for sample in runs) / 2**20
        spent = [sample.get("seconds_per_1000_steps", {}) for sample in runs]
        where = ", ".join(f"{statistics.median(s[part] for s in spent):.2f}" for part in spent[0])
        middle, span = f"{statistics.median(speeds):.0f}", f"{min(speeds):.0f} to {max(speeds):.0f}"
        rows.append([name, middle, span, f"{statistics.median(cpu):.2f}", f"{memory:.0f}", where])
    header = "contestant | steps/s, median | lowest to highest | CPU ms a step | peak memory, MiB"
    return markdown(f"{header} | ms a step: act, env, learn", rows)


def plot(samples: dict[str, list[Sample]], path: Path) -> None:
    """Draw steps per second over environments, a line for each contestant and number of cores."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    lines: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for name, runs in samples.items():
        contestant, _, at = name.partition("; ")
        cores, num_envs = (int(count.split()[0]) for count in at.split(", "))
        middle = statistics.median(run["steps_per_second"] for run in runs)
        lines[contestant, cores].append((num_envs, middle))
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    names = list(dict.fromkeys(contestant for contestant, _ in lines))
    for (contestant, cores), points in lines.items():
        label = f"{contestant}, {cores} core{'s' if cores > 1 else ''}"
        style, colour = "o--" if cores == 1 else "o-", f"C{names.index(contestant)}"
        axes.plot(*zip(*points, strict=True), style, color=colour, label=label)
    ticks = sorted({num_envs for points in lines.values() for num_envs, _ in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set(xlabel="environments", ylabel="agent steps per second", ylim=(0, None))
    axes.set_title("PPO on SpaceInvaders, updates of 1024 samples")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def measure(part: str, rounds: int, threads: int) -> None:
    """Run the contestants of a part in turns and store what they gave."""
    contestants = PARTS[part](threads)
    samples: dict[str, list[Sample]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, contestant in contestants.items():
            samples[name].append(contestant.run())
            speed = samples[name][-1]["steps_per_second"]
            print(f"round {number + 1}: {name}: {speed:.0f} steps/s", file=sys.stderr)
    check_equal_work(contestants, samples)
    record: dict[str, Any] = {
        "command": f"./scripts/bench --rounds {rounds} --threads {threads} {part}",
        "machine": machine(),
        "memory_sample_seconds": MEMORY_SAMPLE_SECONDS,
    }
    if part == "train":
        record["floors"] = floors()
    path = RESULTS / f"bench-{part}.json"
    store(path, record, samples)
    print(f"\n{medians(samples)}\n\nraw samples: {path.relative_to(ROOT)}")
    if part == "scaling":
        plot(samples, path.with_suffix(".png"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="On a GPU: `bench gpu`, `gpu-algorithms` and `gpu-record`, each with its --help.",
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS | PROGRAMS)}"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of all contestants")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=cores, help="of torch and of envs, each")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS | PROGRAMS)
    if unknown or arguments.rounds < 1:
        parser.error(
            f"no such part: {', '.join(unknown)}" if unknown else "--rounds must be positive"
        )
    RESULTS.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts or PARTS | PROGRAMS:
        if part in PROGRAMS:
            own = ["--rounds", str(arguments.rounds)] if part in IN_ROUNDS else []
            subprocess.run([sys.executable, str(HERE / PROGRAMS[part]), *own], check=True)
        else:
            measure(part, arguments.rounds, arguments.threads)


if __name__ == "__main__":
    main()
