"""Imports of the Rust crates run down: neither files nor folders are in a circle."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest
from program import ROOT
from rust_imports import CIRCLE, CRATES, Crate, Module


def circle(graph: dict[Module, set[Module]]) -> list[str]:
    """Return a circle, if there is one, but for that of the CPU."""
    kept = {
        module: {to for to in into if not CIRCLE.issuperset(module[:1] + to[:1])}
        for module, into in graph.items()
    }
    try:
        TopologicalSorter(kept).prepare()
    except CycleError as error:
        return ["::".join(module) for module in error.args[1]]
    return []


@pytest.mark.parametrize("name", CRATES)
def test_imports_run_in_no_circle(name: str) -> None:
    files = Crate(ROOT / name / "src").graph()
    assert circle(files) == []
    # The same of folders, at every depth.
    for depth in range(1, max(map(len, files)) + 1):
        rooms: dict[Module, set[Module]] = {}
        for module, into in files.items():
            for to in into:
                if module[: depth - 1] == to[: depth - 1] and module[:depth] != to[:depth]:
                    rooms.setdefault(module[:depth], set()).add(to[:depth])
        assert circle(rooms) == [], depth
