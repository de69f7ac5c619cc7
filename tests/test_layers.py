"""Imports run down: a room of the package knows those below it, and files run in no circle."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from python_rooms import ROOMS

import atari_wrappers

FOLDER = Path(atari_wrappers.__file__).parent


def module(path: Path) -> str:
    """Return a file's name as imports have it, without that of the package."""
    names = path.relative_to(FOLDER).with_suffix("").parts
    return ".".join(names[:-1] if len(names) > 1 and names[-1] == "__init__" else names)


FILES = {module(path): path for path in FOLDER.rglob("*.py")}


def imported(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, within functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            name = node.module or ""
            found.update([name, *(f"{name}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    ours = (name for name in found if name.startswith("atari_wrappers."))  # not Python's `types`
    return {name.removeprefix("atari_wrappers.") for name in ours} & FILES.keys()


def test_every_room_knows_only_those_below_it() -> None:
    assert {name.partition(".")[0] for name in FILES} == set(ROOMS)
    for name, path in FILES.items():
        room = name.partition(".")[0]
        others = {other.partition(".")[0] for other in imported(path)} - {room}
        above = others & set(ROOMS[ROOMS.index(room) :])
        assert not above, f"{name} imports {above}, which are above it"


def test_no_file_is_in_a_circle() -> None:
    # A package's face names what is in it, and what is in it says the whole names of its own.
    graph = {name: imported(path) for name, path in FILES.items() if path.name != "__init__.py"}
    TopologicalSorter(graph).prepare()  # raises a CycleError
