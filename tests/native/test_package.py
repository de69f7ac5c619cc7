"""What the package `atari_core` carries beside its code."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_its_licences_go_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "maturin", "pep517", "write-dist-info"]
    command += ["--metadata-directory", tmp_path]
    subprocess.run(command, cwd=ROOT / "atari_core" / "python", check=True, capture_output=True)
    [folder] = tmp_path.iterdir()
    metadata = (folder / "METADATA").read_text()
    assert "License-Expression: MIT OR Apache-2.0\n" in metadata
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        assert f"License-File: {name}\n" in metadata
        packed = (folder / "licenses" / name).read_bytes()
        assert packed == (ROOT / name).read_bytes()
