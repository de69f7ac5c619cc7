"""Trains as several ranks on a Ray cluster: an actor for each runs the program.

    ./scripts/ray_train --ranks 2 -- train ppo-atari --run-name atari
    ./scripts/ray_train --ranks 8 --gpus 1 --max-restarts 3 -- train ppo-atari --run-name atari

Ray finds places for all ranks at once and starts them; the ranks find one another by the address of
the first, as torchrun's do. What they print comes back here. Ctrl-C stops them with a checkpoint.
The cluster is the one that RAY_ADDRESS names, else one on this machine alone; its machines need the
project at the same path, and rank 0's has the run's folder.
"""

from __future__ import annotations

import argparse
import collections
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

# Read when Ray is imported: on this machine alone it listens to the loopback interface only.
if "RAY_ADDRESS" not in os.environ:
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

PROGRAM = Path(__file__).resolve().parents[2] / "target/release/rust_trainer"


class Rank:
    """A place for one rank; two calls at once, so that a stop is heard."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def place(self) -> tuple[str, str, int]:
        """Return this machine's id in the cluster and its address, and a port that is free now."""
        with socket.socket() as free:
            # Any port that is free here is as free at the address that the others are told.
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        return ray.get_runtime_context().get_node_id(), address, port

    def run(self, command: list[str], folder: str, variables: dict[str, str]) -> int:
        """Run the program to its end; return its exit status."""
        environment = os.environ | variables
        self.process = subprocess.Popen(command, cwd=folder, env=environment)
        return self.process.wait()

    def stop(self) -> None:
        """Let the program stop at its next safe point."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)


def run(ranks: list[ray.actor.ActorHandle[Rank]], command: list[str], restarts: int) -> int:
    """Run all ranks to their end; return the first exit status that tells of a failure."""
    places: list[tuple[str, str, int]] = ray.get([rank.place.remote() for rank in ranks])
    here: collections.Counter[str] = collections.Counter(node for node, _, _ in places)
    ends: list[ray.ObjectRef[int]] = []
    for number, (rank, (node, _, _)) in enumerate(zip(ranks, places, strict=True)):
        variables = {
            "RANK": str(number),
            "WORLD_SIZE": str(len(ranks)),
            # Ray shows each rank its own GPU alone.
            "LOCAL_RANK": "0",
            "LOCAL_WORLD_SIZE": str(here[node]),
            "MASTER_ADDR": places[0][1],
            "MASTER_PORT": str(places[0][2]),
            "TORCHELASTIC_RESTART_COUNT": str(restarts),
            "VIRTUAL_ENV": sys.prefix,
        }
        ends.append(rank.run.remote(command, str(Path.cwd()), variables))
    try:
        statuses = ray.get(ends)
    except KeyboardInterrupt:
        ray.get([rank.stop.remote() for rank in ranks])
        statuses = ray.get(ends)
    return next(filter(None, statuses), 0)


def main() -> int:
    """Find places for the ranks and run them, anew where they fail."""
    parser = argparse.ArgumentParser(
        "ray_train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--cpus", type=float, default=1, help="cores of each rank (default 1)")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each rank (default 0)")
    parser.add_argument("--max-restarts", type=int, default=0, help="for a run with --run-name")
    parser.add_argument("arguments", nargs="+", help="of rust_trainer, behind --")
    options = parser.parse_args()

    ray.init(include_dashboard=False, configure_logging=False)
    needs = {"CPU": options.cpus} | ({"GPU": options.gpus} if options.gpus else {})
    group = placement_group([needs] * options.ranks, strategy="PACK")
    if not group.wait(60):
        print(f"the cluster has no places for {options.ranks} ranks with {needs}", file=sys.stderr)
        return 1
    actor = ray.remote(Rank)

    def place(index: int) -> ray.actor.ActorHandle[Rank]:
        where = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
        needs = {"num_cpus": options.cpus, "num_gpus": options.gpus, "max_concurrency": 2}
        return actor.options(scheduling_strategy=where, **needs).remote()  # type: ignore[return-value]

    ranks = [place(index) for index in range(options.ranks)]
    try:
        command = [str(PROGRAM), *options.arguments]
        for restarts in range(options.max_restarts + 1):
            status = run(ranks, command, restarts)
            if status != 1 and status >= 0:  # done, stopped, or a wrong command line
                return status
        return 1
    finally:
        remove_placement_group(group)


if __name__ == "__main__":
    sys.exit(main())
