"""The map of the code: what it names is there, and its rooms are in the order of their imports."""

from __future__ import annotations

import re

import pytest
from documents import links
from program import ROOT
from python_rooms import ROOMS
from rust_imports import CIRCLE, CRATES, Crate

MAP = ROOT / "docs" / "map.md"
TEXT = MAP.read_text()


def rooms(part: str) -> list[str]:
    """Return the rooms of a part as its table has them, the lowest first."""
    section = re.search(rf"^### {part}\n(.*?)(?=^#|\Z)", TEXT, re.DOTALL | re.MULTILINE)
    assert section, part
    cells = re.findall(r"^\| (`.*?`) \|", section[1], re.MULTILINE)
    return re.findall(r"`(\w+)`", " ".join(cells))


def test_what_it_names_stands_in_the_file() -> None:
    named = [(target, title) for target, title in links(MAP) if title]
    assert len(named) > 40
    for target, title in named:
        text = (MAP.parent / target).read_text()
        assert re.search(rf"\b{title}\b", text), f"{target} has no `{title}`"


def test_the_rooms_of_the_package_are_in_their_order() -> None:
    assert rooms("atari_wrappers") == list(ROOMS)


@pytest.mark.parametrize("name", CRATES)
def test_the_rooms_of_a_crate_are_in_the_order_of_their_imports(name: str) -> None:
    named = rooms(name)
    graph = Crate(ROOT / name / "src").graph()
    assert set(named) == {file[0] for file in graph if file}
    for file, into in graph.items():
        for to in into:
            if file and to and file[0] != to[0] and {file[0], to[0]} != CIRCLE:
                assert named.index(to[0]) < named.index(file[0]), f"{file} knows {to}: see {MAP}"
