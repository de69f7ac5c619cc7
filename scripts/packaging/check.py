"""Installs the wheels as a user would, in a fresh environment of each Python, and tries them.

An environment sees the wheels, the package index and no Rust. What was measured is printed, and
written to `docs/results/wheels/check.json`; what pytest printed is in `tests-<version>.txt` beside,
and what the trainer printed in `trainer-<version>.txt`.
`./scripts/wheels --check` runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results/wheels/check.json"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# The trainer is tried with one of them: torch takes 6 GB in each.
PYTHON_WITH_TORCH = "3.12"
# What the tests of the tier `not trainer` need beside the package and its extras.
TEST_PACKAGES = ("envpool", "ipykernel", "pettingzoo[atari]", "pytest", "pytest-xdist")
TEST_EXTRAS = "opencv,two-player,video"
# What a test tier takes along: the tests know where they stand.
TEST_FILES = ("tests", "pyproject.toml", "README.md", "docs")
AUTHOR = "The atari_wrappers authors"
INSTALL_LIMIT, IMPORT_LIMIT = 60.0, 0.5
# The tests take six minutes on two idle cores.
TESTS_LIMIT = 3600
IMPORT = """
import time
start = time.perf_counter(), time.process_time()
import atari_wrappers
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""
LOAD_POLICY = """
from rust_trainer import load_policy
policy = load_policy("runs/command")
env = policy.make_env()
observation, _ = env.reset(seed=0)
action, _ = policy.act(observation, greedy=True)
print(policy, observation.shape, action)
"""
# Platforms for which there is no wheel of the core: pip must refuse it there.
OTHER_PLATFORMS = (
    "macosx_11_0_arm64",
    "win_amd64",
    "manylinux_2_28_aarch64",
    "manylinux_2_17_x86_64",
)


class WheelError(Exception):
    """Something does not work as it should."""


class Environment:
    """A fresh virtual environment, whose programs find no Rust."""

    def __init__(self, interpreter: str | Path, folder: Path) -> None:
        self.folder = folder
        path = f"{folder / 'bin'}:/usr/bin:/bin"
        if shutil.which("cargo", path=path) is not None:
            raise WheelError(f"cargo is in {path}")
        leave_out = ("PYTHON", "VIRTUAL_ENV", "CARGO", "LD_LIBRARY", "LIBTORCH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(leave_out)}
        self.env = kept | {"PATH": path}
        subprocess.run([interpreter, "-m", "venv", folder], check=True, env=self.env)

    def run(
        self,
        *words: str | Path,
        cwd: Path | None = None,
        limit: int = 900,
        stderr: int = subprocess.PIPE,
    ) -> str:
        """Run a program of the environment to its end and return what it printed."""
        done = subprocess.run(
            [self.folder / "bin" / words[0], *words[1:]],
            cwd=cwd or self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            timeout=limit,
        )
        if done.returncode != 0:
            raise WheelError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr or ''}")
        return done.stdout

    def install(self, dist: Path, *packages: str, program: str | None = None) -> float:
        """Install packages, of which ours are in `dist`, and return how many seconds that took.

        `program` is that of uv, in place of pip.
        """
        pip = ("-m", "pip", "--disable-pip-version-check", "install", "--no-cache-dir")
        python = self.folder / "bin" / "python"
        uv = (program, "pip", "install", "--no-cache", "--python", python)
        command = uv if program else (python, *pip)
        constraints = ("--constraint", ROOT / "constraints.txt")
        start = time.perf_counter()
        self.run(*command, "--quiet", "--find-links", dist, *constraints, *packages)
        return time.perf_counter() - start

    def check_ours(self, *packages: str) -> None:
        """Check that packages are ours: the index may have others by these names."""
        for name in packages:
            code = f"from importlib.metadata import metadata; print(metadata('{name}')['Author'])"
            author = self.run("python", "-c", code).strip()
            if author != AUTHOR:
                raise WheelError(f"pip installed another {name}, by {author}")

    def has(self, module: str) -> bool:
        """Whether a module can be imported there."""
        code = f"import importlib.util as u; print(u.find_spec('{module}') is not None)"
        return self.run("python", "-c", code) == "True\n"

    def megabytes(self) -> int:
        """Return the size of what is installed."""
        done = subprocess.run(
            ["du", "-sm", self.folder], capture_output=True, text=True, check=True
        )
        return int(done.stdout.split()[0])


def find_interpreter(version: str) -> str | Path | None:
    """Return the interpreter of a version: one of pyenv's, or the system's."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [*versions.glob(f"{version}.*/bin/python")]
    found.sort(key=lambda path: path.parts[-3].split(".")[2].zfill(3), reverse=True)
    for interpreter in (*found, shutil.which(f"python{version}")):
        if (
            interpreter
            and not subprocess.run([interpreter, "-c", "import venv, ensurepip"]).returncode
        ):
            return interpreter
    return None


def first_example() -> str:
    """Return the first example in Python of the README."""
    return re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]


def try_package(environment: Environment, dist: Path) -> dict[str, Any]:
    """Install atari_wrappers alone, import it, run the README's first example."""
    facts: dict[str, Any] = {"install_s": round(environment.install(dist, "atari-wrappers"), 1)}
    environment.check_ours("atari-wrappers", "atari-core")
    facts["installed_mb"] = environment.megabytes()
    for module in ("torch", "cv2"):
        if environment.has(module):
            raise WheelError(f"{module} was installed")
    environment.run("python", "-c", "import atari_wrappers")  # writes the compiled files
    times = [environment.run("python", "-c", IMPORT).split() for _ in range(9)]
    # By the clock, and of the processor: they differ where others use the machine.
    for name, values in zip(("import_s", "import_cpu_s"), zip(*times, strict=True), strict=True):
        facts[name] = sorted(round(float(value), 3) for value in values)
        facts[f"{name}_median"] = statistics.median(facts[name])
    environment.run("python", "-c", first_example())
    return facts


def try_tests(environment: Environment, dist: Path, folder: Path, workers: int) -> dict[str, Any]:
    """Run the tests that need no trainer on what was installed, away from the sources."""
    environment.install(dist, f"atari-wrappers[{TEST_EXTRAS}]", *TEST_PACKAGES)
    listed = subprocess.run(
        ["git", "ls-files", "-z", *TEST_FILES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    start = time.perf_counter()
    command = ("pytest", "-q", "-m", "not trainer", "-n", str(workers), "--dist", "loadgroup")
    printed = environment.run(*command, cwd=folder, limit=TESTS_LIMIT)
    version = environment.run("python", "-V").split()[1]
    (RESULTS.parent / f"tests-{version.rpartition('.')[0]}.txt").write_text(printed)
    return {
        "tests": printed.splitlines()[-1].strip("= "),
        "tests_s": round(time.perf_counter() - start),
    }


def try_trainer(environment: Environment, dist: Path, version: str) -> dict[str, Any]:
    """Install the trainer, train for a moment by both of its names, and load what was learned."""
    uv = shutil.which("uv")
    facts: dict[str, Any] = {"installed_by": "uv" if uv else "pip"}
    facts["install_s"] = round(environment.install(dist, "atari-trainer", program=uv), 1)
    environment.check_ours("atari-trainer", "atari-wrappers", "atari-core")
    facts["installed_mb"] = environment.megabytes()
    train = ("train", "--total-steps", "4096", "--run-name")
    transcript = ""
    for name, words in {
        "version": ("rust_trainer", "--version"),
        "train_s": ("rust_trainer", *train, "command"),
        "train_by_module_s": ("python", "-m", "rust_trainer", *train, "module"),
        "load_policy_s": ("python", "-c", LOAD_POLICY),
    }.items():
        start = time.perf_counter()
        printed = environment.run(*words, stderr=subprocess.STDOUT)
        facts[name] = round(time.perf_counter() - start, 1)
        transcript += f"$ {shlex.join(words)}\n{printed}"
        if name == "version":
            facts[name] = printed.strip()
    (RESULTS.parent / f"trainer-{version}.txt").write_text(transcript)
    return facts


def refused_elsewhere(dist: Path) -> list[str]:
    """Check that pip refuses the core where there is no wheel of it; return the platforms."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    command += ["--no-index", "--find-links", str(dist), "--only-binary=:all:", "--quiet"]
    for system in OTHER_PLATFORMS:
        with tempfile.TemporaryDirectory() as folder:
            words = [
                "--python-version",
                "3.12",
                "--platform",
                system,
                "--dest",
                folder,
                "atari-core",
            ]
            done = subprocess.run([*command, *words], capture_output=True, text=True)
        if done.returncode == 0 or "No matching distribution" not in done.stderr:
            raise WheelError(f"pip takes atari-core on {system}: {done.stdout}{done.stderr}")
    return list(OTHER_PLATFORMS)


def check_python(version: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Try the wheels with one version of Python."""
    interpreter = find_interpreter(version)
    if interpreter is None:
        return {"skipped": "no interpreter of this version is here"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = Environment(interpreter, folder / "venv")
        facts = {"python": environment.run("python", "-V").split()[1]}
        facts |= try_package(environment, arguments.dist)
        if arguments.tests:
            (folder / "tests").mkdir()
            facts |= try_tests(environment, arguments.dist, folder / "tests", arguments.workers)
        if arguments.trainer and version == PYTHON_WITH_TORCH:
            with_torch = Environment(interpreter, folder / "torch")
            facts["trainer"] = try_trainer(with_torch, arguments.dist, version)
    for name, limit in (("install_s", INSTALL_LIMIT), ("import_cpu_s_median", IMPORT_LIMIT)):
        if facts[name] > limit:
            raise WheelError(
                f"Python {version}: {name} is {facts[name]}, {limit} at most is wanted"
            )
    return facts


def main() -> None:
    """Run all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="the folder with the wheels")
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions, such as 3.12")
    parser.add_argument("--no-tests", dest="tests", action="store_false")
    parser.add_argument("--no-trainer", dest="trainer", action="store_false")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes that test")
    arguments = parser.parse_args()
    arguments.dist = arguments.dist.resolve()
    wheels = sorted(arguments.dist.glob("*.whl"))
    # Of the versions that are not tried now, what was found before stays.
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results |= {
        "command": shlex.join(["python", *sys.argv]),
        "machine": {"cores": os.cpu_count(), "libc": " ".join(platform.libc_ver())},
        "wheel_kb": {wheel.name: round(wheel.stat().st_size / 1000) for wheel in wheels},
        "pip_refuses_atari_core_on": refused_elsewhere(arguments.dist),
    }
    try:
        for version in arguments.python:
            found, before = check_python(version, arguments), results.get(version, {})
            # Only where nothing was found before is a version without an interpreter noted.
            results[version] = (before or found) if "skipped" in found else before | found
            print(version, json.dumps(results[version]), flush=True)
            RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    except WheelError as problem:
        sys.exit(f"wheels: {problem}")


if __name__ == "__main__":
    main()
