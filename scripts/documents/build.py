"""Builds the site of the documentation: stages its pages, adds the reference, checks every link."""

import shutil
import subprocess
import sys
from pathlib import Path

import reference
from links import broken
from stage import ROOT, Stage

HERE = Path(__file__).parent
FOLDER = ROOT / "target/documentation"
SITE = FOLDER / "site"


def main() -> int:
    """Build the site; return 1 where a link leads nowhere."""
    stage = Stage(FOLDER / "pages")
    stage.copy_pages()
    stage.write("reference/python.md", reference.python_page())
    stage.write("reference/commands.md", reference.commands_page())
    stage.write("reference/settings.md", reference.settings_page())
    stage.write("reference/presets.md", reference.presets_page())
    shutil.copyfile(HERE / "zensical.toml", FOLDER / "zensical.toml")
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    built = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    if built.returncode:
        print(built.stdout, built.stderr, file=sys.stderr)
        return 1
    problems = list(broken(SITE))
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    if not problems:
        print(f"the site is in {SITE}: open {SITE / 'index.html'}, or, to search, --serve")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
