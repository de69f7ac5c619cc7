"""The plot of `bench scaling`, from its raw samples: `scaling.py`."""

import json
import statistics
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
from machine import RESULTS

mpl.use("Agg")
from matplotlib import pyplot as plt


def plot(samples: Path) -> Path:
    """Draw steps per second over environments, a line for each contestant and number of cores."""
    lines: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
    for name, runs in json.loads(samples.read_text())["samples"].items():
        contestant, _, at = name.partition("; ")
        cores, num_envs = (int(count.split()[0]) for count in at.split(", "))
        speed = statistics.median(run["steps_per_second"] for run in runs)
        lines[contestant, cores].append((num_envs, speed))
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    names = list(dict.fromkeys(contestant for contestant, _ in lines))
    for (contestant, cores), points in lines.items():
        label = f"{contestant}, {cores} core{'s' if cores > 1 else ''}"
        style = "o--" if cores == 1 else "o-"
        axes.plot(
            *zip(*points, strict=True), style, color=f"C{names.index(contestant)}", label=label
        )
    ticks = sorted({num_envs for points in lines.values() for num_envs, _ in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set(xlabel="environments", ylabel="agent steps per second", ylim=(0, None))
    axes.set_title("PPO on SpaceInvaders, updates of 1024 samples")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    path = samples.with_suffix(".png")
    figure.savefig(path, dpi=120)
    return path


if __name__ == "__main__":
    print(plot(RESULTS / "bench-scaling.json"))
