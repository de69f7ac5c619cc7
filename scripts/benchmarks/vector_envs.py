"""Each backend beside its peer: `vector_envs.py [--rounds N] [--envs N …] [PAIR …]`.

Both of a pair run in this process, in turns of a few hundred milliseconds, with the same recipe,
seeds and actions; the sums of their rewards must agree. The ratio is that of each round's two
times, so that a slow moment of the machine meets both; that of CPU times, of pairs that run in this
process alone, leaves out what else the machine does. Writes `docs/results/bench-envs.json`, or
what `--output` names.
"""

from __future__ import annotations

import argparse
import gc
import json
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import ale_py
import envpool
import gymnasium as gym
import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from machine import RESULTS, ROOT, machine
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

from atari_wrappers import make_vec

gym.register_envs(ale_py)
GAME = "SpaceInvadersNoFrameskip-v4"
NUM_ACTIONS = 6
SIZES = (1, 8, 64, 256, 1024)
CHUNK_SECONDS = 0.4
# The most envs of a pair. 64 processes of SubprocVecEnv, each with torch, do not fit into 24 GiB.
MOST = {"async, SB3 SubprocVecEnv": 8}
MOST_OF_PYTHON = 256

Step = Callable[[np.ndarray], float]  # actions to the sum of rewards
Opened = tuple[Step, Callable[[], Any]]


def ours(num_envs: int, **settings: Any) -> Opened:
    """Our vector env."""
    vec = make_vec(GAME, num_envs, **settings)
    vec.reset(seed=0)
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def ale(num_envs: int) -> Opened:
    """ALE's own."""
    vec = AtariVectorEnv("space_invaders", num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    vec.reset(seed=np.arange(num_envs))
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def preprocessed() -> gym.Env:
    """Gymnasium's single env."""
    env = gym.wrappers.AtariPreprocessing(gym.make(GAME))
    return gym.wrappers.FrameStackObservation(env, 4)


def gymnasium(vector: type, num_envs: int) -> Opened:
    """Gymnasium's vector envs, observations copied as they are by default."""
    vec = vector([preprocessed] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    vec.reset(seed=0)
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def baselines(vector: type, num_envs: int) -> Opened:
    """The vector envs of stable-baselines3."""
    vec = VecFrameStack(make_atari_env(GAME, num_envs, seed=0, vec_env_cls=vector), 4)
    vec.reset()
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def pool(num_envs: int) -> Opened:
    """EnvPool."""
    vec = envpool.make("SpaceInvaders-v5", env_type="gymnasium", num_envs=num_envs, seed=0)
    vec.reset()
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


PAIRS: dict[str, tuple[Callable[[int], Opened], Callable[[int], Opened]]] = {
    "native, AtariVectorEnv": (lambda n: ours(n, backend="native", preset="ale"), ale),
    "native, EnvPool": (
        lambda n: ours(n, backend="native", preset="envpool", autoreset="next-step"),
        pool,
    ),
    "ale, AtariVectorEnv": (lambda n: ours(n, backend="ale", preset="ale"), ale),
    "sync, gymnasium SyncVectorEnv": (
        lambda n: ours(n, backend="sync", preset="gymnasium"),
        lambda n: gymnasium(SyncVectorEnv, n),
    ),
    "async, gymnasium AsyncVectorEnv": (
        lambda n: ours(n, backend="async", preset="gymnasium"),
        lambda n: gymnasium(AsyncVectorEnv, n),
    ),
    "sync, SB3 DummyVecEnv": (
        lambda n: ours(n, backend="sync", preset="baselines"),
        lambda n: baselines(DummyVecEnv, n),
    ),
    "async, SB3 SubprocVecEnv": (
        lambda n: ours(n, backend="async", preset="baselines"),
        lambda n: baselines(SubprocVecEnv, n),
    ),
    "async, EnvPool": (
        lambda n: ours(n, backend="async", preset="envpool", autoreset="next-step"),
        pool,
    ),
}


# Neither side has worker processes, whose CPU time would be missing.
IN_PROCESS = ("native, AtariVectorEnv", "native, EnvPool", "ale, AtariVectorEnv")


def measure(pair: str, num_envs: int, rounds: int) -> dict[str, Any]:
    """Return the steps per second of both, round by round."""
    opened = [make(num_envs) for make in PAIRS[pair]]
    rng = np.random.default_rng(0)
    speeds: list[list[float]] = [[], []]
    cpu: list[list[float]] = [[], []]
    rewards = [0.0, 0.0]
    chunk = 1
    try:
        for number in range(-2, rounds):  # two rounds to warm up, and to find the chunk's length
            actions = rng.integers(NUM_ACTIONS, size=(chunk, num_envs))
            seconds, busy = [0.0, 0.0], [0.0, 0.0]
            for which in (0, 1) if number % 2 else (1, 0):
                step = opened[which][0]
                started, started_cpu = time.perf_counter(), time.process_time()
                for row in actions:
                    rewards[which] += step(row)
                seconds[which] = time.perf_counter() - started
                busy[which] = time.process_time() - started_cpu
            if number < 0:
                chunk = max(1, round(chunk * CHUNK_SECONDS / max(seconds)))
                continue
            for which in (0, 1):
                speeds[which].append(chunk * num_envs / seconds[which])
                cpu[which].append(1e6 * busy[which] / (chunk * num_envs))
    finally:
        for _, close in opened:
            close()
    if rewards[0] != rewards[1]:
        sys.exit(f"{pair}, {num_envs} envs: unequal work, rewards {rewards}")
    sample = {"pair": pair, "num_envs": num_envs, "ours": speeds[0], "peer": speeds[1]}
    if pair in IN_PROCESS:
        sample |= {"ours_cpu_us_per_step": cpu[0], "peer_cpu_us_per_step": cpu[1]}
    return sample


def row(sample: dict[str, Any]) -> str:
    """Return a line of the table."""
    ratios = sorted(a / b for a, b in zip(sample["ours"], sample["peer"], strict=True))
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    backend, peer = sample["pair"].split(", ", 1)
    cpu = ""
    if "ours_cpu_us_per_step" in sample:
        pairs = zip(sample["peer_cpu_us_per_step"], sample["ours_cpu_us_per_step"], strict=True)
        cpu = f"{statistics.median(theirs / own for theirs, own in pairs):.2f}"
    return (
        f"| {backend} | {peer} | {sample['num_envs']} | {statistics.median(sample['ours']):.0f} "
        f"| {statistics.median(sample['peer']):.0f} | **{middle:.3f}** | {low:.3f} to {high:.3f} "
        f"| {cpu} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="PAIR", help=f"of: {'; '.join(PAIRS)}")
    parser.add_argument("--rounds", type=int, default=20, help="turns of both")
    parser.add_argument("--envs", type=int, nargs="+", default=SIZES, help="numbers of envs")
    parser.add_argument("--output", default="bench-envs.json", help="file in docs/results")
    arguments = parser.parse_args()
    if unknown := set(arguments.pairs) - set(PAIRS):
        parser.error(f"no such pair: {', '.join(unknown)}")
    command = shlex.join(["scripts/benchmarks/vector_envs.py", *sys.argv[1:]])
    path = RESULTS / arguments.output
    record: dict[str, Any] = {"command": command, "machine": machine(), "samples": []}
    print("| ours | peer | envs | steps/s | peer's | ratio, median | its quartiles | of CPU time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for pair in arguments.pairs or PAIRS:
        for num_envs in arguments.envs:
            most = num_envs if pair.startswith("native") else MOST_OF_PYTHON
            if num_envs > MOST.get(pair, most):
                continue
            record["samples"].append(measure(pair, num_envs, arguments.rounds))
            path.write_text(json.dumps(record, indent=1) + "\n")
            print(row(record["samples"][-1]), flush=True)
            gc.collect()
    print(f"\nraw samples: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
