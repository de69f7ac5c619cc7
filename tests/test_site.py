"""What brings pages to the site, and finds broken links there. `scripts/test` builds the site."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from program import ROOT


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of `scripts/documents` can be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts/documents"))
    for name in ("links", "stage"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def module(name: str) -> ModuleType:
    return __import__(name)


@pytest.mark.usefixtures("documents")
def test_links_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/index.html").write_text('<a href="../a.html#here">back</a>')
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="files/"></a><a href="https://x.org/y"></a>'
        '<a href="b.html"></a><a href="#there"></a><img src="c.png">'
    )
    assert list(module("links").broken(tmp_path)) == [
        "a.html: #there has no such place in it",
        "a.html: b.html is not there",
        "a.html: c.png is not there",
    ]


@pytest.mark.usefixtures("documents")
def test_pages_bring_what_they_link(tmp_path: Path) -> None:
    stage = module("stage").Stage(tmp_path)
    page = ROOT / "docs" / "map.md"
    text = stage.rewritten(page, "map.md")
    assert "(files/rust_trainer/src/algorithms/ppo.rs.txt " in text
    assert "(files/rust_trainer/src/cli/index.md)" in text
    copied = tmp_path / "files/rust_trainer/src/algorithms/ppo.rs.txt"
    assert copied.read_text() == (ROOT / "rust_trainer/src/algorithms/ppo.rs").read_text()
    assert (
        "[seeds.rs](seeds.rs.txt)" in (tmp_path / "files/rust_trainer/src/cli/index.md").read_text()
    )
    # Pages link pages, wherever the site has them, and code stays as it is.
    readme = stage.rewritten(ROOT / "README.md", "index.md")
    assert "](python.md)" in readme
    assert "](results/README.md#native)" in readme
    assert "`[num_envs, 4, 84, 84]`" in readme
