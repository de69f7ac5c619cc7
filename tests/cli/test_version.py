"""The version, which names the commit that the program was built from, where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from program import CARTPOLE_RUN, ROOT, Trainer, read_checkpoint

GIT = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]


def test_the_program_and_its_checkpoints_name_one_version(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    said, _ = trainer.run("--version")
    version = re.fullmatch(r"rust_trainer (\d+\.\d+\.\d+(\+[0-9a-f]{10,})?)\n", said)[1]
    trained(*CARTPOLE_RUN)
    metadata, _ = read_checkpoint(trainer.checkpoints()[-1])
    assert metadata["made_by"] == f"rust_trainer {version}"
    assert f'"rust_trainer":"{version}"' in metadata["arithmetic"]
    assert f'"rust_trainer": "{version}"' in (trainer.folder / "runs/run/machine.json").read_text()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="builds a crate")
def test_a_build_names_the_commit_of_its_sources(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    root.mkdir()
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, root)
    left_out = shutil.ignore_patterns("*.so", "__pycache__", "target")
    for crate in tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["members"]:
        shutil.copytree(ROOT / crate, root / crate, ignore=left_out, dirs_exist_ok=True)
    for above in (tmp_path, root):  # `git` of a build in somebody else's repository is not ours
        assert built_version(root, tmp_path / "target") == "0.1.0"
        subprocess.run([*GIT, "init", "-q"], cwd=above, check=True)
        subprocess.run([*GIT, "add", "-A"], cwd=above, check=True)
        subprocess.run([*GIT, "commit", "-qm", "sources"], cwd=above, check=True)
        (root / "vec_env/src/lib.rs").touch()  # which has the build script run again
    head = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=root, capture_output=True, check=True)
    assert built_version(root, tmp_path / "target") == f"0.1.0+{head.stdout.decode()[:10]}"
    (root / "rust_trainer/kernels/src/lib.rs").write_text("// changed")
    assert built_version(root, tmp_path / "target") == "0.1.0"


def built_version(root: Path, target: Path) -> str:
    """Build the crate that finds the version out, without a network, and return what it found."""
    command = ["cargo", "build", "-q", "--locked", "--offline", "-p", "build_commit"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run([*command, "--target-dir", target], cwd=root, env=environment, check=True)
    [output] = target.glob("debug/build/build_commit-*/output")
    return re.search(r"VERSION_WITH_COMMIT=(.*)", output.read_text())[1]
