"""A copy of the project with fake tools, in which its scripts run."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

from program import ROOT

# What the scripts may call beside python, cargo and c++.
TOOLS = {
    *("awk", "bash", "cat", "chmod", "cp", "cut", "dirname", "du", "env", "find", "flock", "grep"),
    *("kill", "mkdir", "mv", "printf", "readlink", "rm", "sed", "sh", "sleep", "touch"),
}

PYTHON = """#!/usr/bin/env bash
# What is only asked is not told.
[[ $1 == -c ]] ||
    printf '%s\\n' "python $* home=${PYTHONHOME-unset} path=${PYTHONPATH-unset}" >>"$LOG"
case "$1 $2" in
    "-c import sys, sysconfig"*) echo "1 1 3.11.0" ;;
    *get_config_var*) echo .so ;;
    *"print(sys.version_info[:2])") echo 3.11 ;;
    *"import pip"*) [[ ! -e $(dirname "$0")/no-pip ]] && cd "$(dirname "$0")/.." && pwd ;;
    "-c import sys; "*) cd "$(dirname "$0")/.." && pwd ;;
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip")
        if [[ $3 == config ]]; then echo "$PIP_CONFIG"; exit; fi
        sleep "${PIP_SECONDS:-0}"
        if [[ $* == *" uv" ]]; then cp "$UV" "$(dirname "$0")"; fi ;;
esac
"""
UV = '#!/bin/sh\necho "uv $*" >>"$LOG"\n'
CARGO = """#!/usr/bin/env bash
if [[ $1 == --version ]]; then echo "cargo 1.${RUST:-99}.0 (abc 2026-01-01)"; exit; fi
printf '%s\\n' "cargo $* home=${PYTHONHOME-unset} path=${PYTHONPATH-unset}" \\
    "conda=${CONDA_PREFIX-unset}" >>"$LOG"
sleep "${CARGO_SECONDS:-0}"
mkdir -p target/release
echo "${BUILT:-module}" >target/release/lib_rust_trainer.so
printf '#!/bin/sh\\necho "ran $*"\\n' >target/release/rust_trainer
chmod +x target/release/rust_trainer
echo "   Compiling rust_trainer" >&2
echo "    Finished release" >&2
"""


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def change(path: Path) -> None:
    """Have a file or folder changed after all others, however coarse the clock of files is."""
    later = time.time() + 10
    os.utime(path, (later, later))


class Project:
    """A copy of what the scripts read, and a PATH that holds nothing else."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin, self.log = folder / "project", folder / "bin", folder / "log"
        self.uv = folder / "index/uv"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for name in ("constraints.txt", "pyproject.toml", "Cargo.toml", "Cargo.lock"):
            shutil.copy(ROOT / name, self.root)
        self.source = self.root / "rust_trainer/src/main.rs"
        self.source.parent.mkdir(parents=True)
        self.source.touch()
        for folder in ("csrc", "kernels"):
            (self.root / "rust_trainer" / folder).mkdir()
        (self.root / "rust_trainer/build.rs").touch()
        (self.root / "rust_trainer/Cargo.toml").touch()
        for crate in ("vec_env", "vec_env/python", "atari_core", "atari_core/python"):
            (self.root / crate / "src").mkdir(parents=True)
            (self.root / crate / "Cargo.toml").touch()
        (self.root / "rust_trainer/python/rust_trainer").mkdir(parents=True)
        (self.root / ".cargo").mkdir()
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.bin / "c++").symlink_to(shutil.which("true"))
        write_program(self.bin / "python3", PYTHON)
        write_program(self.bin / "cargo", CARGO)
        self.uv.parent.mkdir()
        write_program(self.uv, UV)
        write_program(self.bin / "df", "#!/bin/sh\nprintf 'free\\n. . . 99999999 .\\n'\n")

    def run(
        self, *arguments: object, status: int = 0, script: Path | None = None, **variables: object
    ) -> subprocess.CompletedProcess[str]:
        """Run `scripts/train`, or another script, with nothing but these variables set."""
        process = self.start(*arguments, script=script, **variables)
        out, err = process.communicate(timeout=60)
        assert process.returncode == status, out + err
        return subprocess.CompletedProcess(process.args, status, out, err)

    def start(
        self,
        *arguments: object,
        script: Path | None = None,
        stderr: int = subprocess.PIPE,
        **variables: object,
    ) -> subprocess.Popen[str]:
        """Start what `run` runs."""
        env = {
            "PATH": self.bin,
            "HOME": self.root.parent,
            "LOG": self.log,
            "UV": self.uv,
            **variables,
        }
        return subprocess.Popen(
            [script or self.root / "scripts/train", *map(str, arguments)],
            env={name: str(value) for name, value in env.items()},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def called(self) -> str:
        """Return what was run of python and cargo since the last time, a line each."""
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text
