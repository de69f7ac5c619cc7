"""What goes wrong among ranks is said once, with the rank, its machine and the reason."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import sys
import time
import venv
from pathlib import Path

import pytest
from program import ROOT
from torchrun import FEW, PROGRAM, Ranks

VM = r"\(\S+\)"  # a machine's name


@pytest.fixture
def two(ranks: Ranks) -> TwoByHand:
    """Return two processes to be started as a cluster's scheduler does, without torchrun."""
    return TwoByHand(ranks)


class TwoByHand:
    """Two ranks that know of each other by their variables alone."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self.variables = ranks.group(2)
        self.port = self.variables[0]["MASTER_PORT"]

    def start(self, rank: int, *arguments: str, **variables: str) -> int:
        """Start one of them; return its process."""
        environment = self.variables[rank] | variables
        return self.ranks.launch([*PROGRAM, "train", *arguments], environment).pid

    def error(self) -> str:
        """Await the end of both, and return the one error of theirs."""
        said = [process.communicate(timeout=300) for process in self.ranks.started]
        assert all(process.returncode == 1 for process in self.ranks.started), said
        lines = "".join(out + err for out, err in said).splitlines()
        errors = [line for line in lines if line.startswith("error:")]
        assert len(errors) == 1, said
        return errors[0]


def packages_beside_ours(folder: Path) -> Path:
    """Make a virtual environment that has what this one has; return where it keeps its own."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "all.pth").write_text("\n".join([str(ROOT), *filter(None, sys.path)]))
    return packages


SLOW = """
import sys, time
class Slow:
    def find_spec(name, *_):
        time.sleep(8 * (name == "torch.distributed"))
sys.meta_path.insert(0, Slow)
"""


def test_ranks_with_other_settings_are_named(two: TwoByHand) -> None:
    """Another command line at one of them."""
    for rank, rate in enumerate(["1e-3", "2e-3"]):
        two.start(rank, *FEW, "--learning-rate", rate)
    named = rf"`learning_rate` is 0\.001 at rank 0 of 2 {VM} and 0\.002 at rank 1 of 2 {VM}"
    assert re.search(named, two.error())


def test_ranks_with_other_packages_are_named(two: TwoByHand, tmp_path: Path) -> None:
    """Another gymnasium at one of them, as far as its metadata say."""
    metadata = packages_beside_ours(tmp_path / "venv") / "gymnasium-0.1.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: gymnasium\nVersion: 0.1\n")
    two.start(0, *FEW)
    two.start(1, *FEW, VIRTUAL_ENV=str(tmp_path / "venv"))
    assert re.search(rf"`gymnasium` is \S+ at rank 0 .+ and 0\.1 at rank 1 of 2 {VM}", two.error())


def test_a_rank_that_cannot_even_ask_for_the_others_says_why(
    two: TwoByHand, tmp_path: Path
) -> None:
    """It is not the first one of its machine, and knows what no other does."""
    venv.create(tmp_path / "venv", symlinks=True)
    two.start(1, *FEW, VIRTUAL_ENV=str(tmp_path / "venv"))
    missing = r"`atari_wrappers` is not installed"
    named = rf"rank 1 of 2 {VM} cannot ask for the others at .+: .*{missing}"
    assert re.search(named, two.error())


def test_a_port_in_use_is_named(two: TwoByHand, tmp_path: Path) -> None:
    """Another program has it, which says nothing to the rank that comes there.

    The time for which a rank waits begins once it has what it needs for that.
    """
    packages = packages_beside_ours(tmp_path / "venv")
    (packages / "slow.pth").write_text("import slow")
    (packages / "slow.py").write_text(SLOW)
    with socket.create_server(("127.0.0.1", int(two.port))):
        two.start(0, *FEW, "--rank-timeout", "5", VIRTUAL_ENV=str(tmp_path / "venv"))
        two.start(1, *FEW, "--rank-timeout", "5")
        error = two.error()
    place = rf"rank 0 of 2 {VM} cannot listen at 127\.0\.0\.1:{two.port}"
    assert re.search(rf"{place}: the port is in use", error)


def test_a_rank_that_does_not_come_is_missed(two: TwoByHand) -> None:
    """Rank 0 says where it waited, and how long."""
    two.start(0, *FEW, "--rank-timeout", "2")
    where = rf"127\.0\.0\.1:{two.port} within 2 s"
    assert re.search(rf"rank 0 of 2 {VM} did not find the others at {where}", two.error())


def test_a_rank_without_memory_says_so(two: TwoByHand) -> None:
    """Its address space ends a little above what it has when it waits for the other."""
    replay = ["--algorithm", "dqn", "--replay-capacity", "500000", "--backend", "native"]
    replay += ["--rank-timeout", "600"]
    process = two.start(1, *replay)
    # More than malloc has taken beforehand, a gigabyte: its part of the memory is 1.8.
    limit = steady_size(process) + (100 << 20)
    resource.prlimit(process, resource.RLIMIT_AS, (limit, limit))
    two.start(0, *replay)
    refused = r"the run needs 3\.5 GB of memory at least \(the replay memory 3\.5 GB\)"
    left = r"the ranks' address spaces \(`ulimit -v`\) have 0\.\d GB left"
    assert re.search(rf"error: rank 1 of 2 {VM}: {refused}, and {left}", two.error())


def steady_size(process: int) -> int:
    """Return the address space of a process once it has waited for a second, in bytes.

    On a busy machine it is its turn that it waits for at times, and that does not count.
    """
    sizes: list[int] = []
    deadline = time.monotonic() + 300
    while len(sizes) < 10 or len(set(sizes)) > 1 or sizes[-1] < 1 << 30:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        threads = Path(f"/proc/{process}/task").glob("*/stat")
        try:
            states = {thread.read_text().rpartition(")")[2].split()[0] for thread in threads}
        except OSError:  # one ended
            states = set()
        status = Path(f"/proc/{process}/status").read_text()
        size = int(re.findall(r"VmSize:\s+(\d+) kB", status)[0]) << 10
        sizes = [*sizes[-9:], size] if states == {"S"} else []
    return sizes[-1]


def test_a_slow_rank_is_named_with_its_seconds(ranks: Ranks) -> None:
    """One that has the processor for a third of the time."""
    quick = ["--num-minibatches", "1", "--update-epochs", "1"]
    ranks.start(2, "train", *FEW, *quick, "--total-steps", "1000000", "--run-name", "run")
    updates = ranks.folder / "runs/run/updates.csv"
    ranks.wait_until(updates.is_file)
    slow, deadline = ranks.pids()[1], time.monotonic() + 300
    while len(updates.read_text().splitlines()) < 103:
        assert time.monotonic() < deadline
        for number, seconds in [(signal.SIGSTOP, 0.02), (signal.SIGCONT, 0.01)]:
            os.kill(slow, number)
            time.sleep(seconds)
    ranks.started[-1].send_signal(signal.SIGTERM)
    _, said = ranks.end()
    found = re.findall(
        rf"rank 1 of 2 {VM} is slower than the rest, who wait for it: ([\d.]+) s of work in the "
        r"last 100 updates, the others ([\d.]+) s",
        said,
    )
    assert found, said
    assert all(float(own) > 1.25 * float(others) for own, others in found)
