"""The documents say what is so: links lead somewhere, named tests exist, examples run."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import serving
from documents import anchors, links
from program import ROOT

from atari_wrappers.recipes import PRESETS, Recipe

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDE = ROOT / "docs" / "python.md"
PEERS = ROOT / "docs" / "peers.md"
RECIPES = ROOT / "docs" / "recipes.md"


@cache
def names_of_tests(file: Path) -> set[str]:
    functions = (node for node in ast.walk(ast.parse(file.read_text())))
    return {node.name for node in functions if isinstance(node, ast.FunctionDef)}


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target, _ in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), target


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_test_that_is_named_exists(page: Path) -> None:
    for target, title in links(page):
        file = (page.parent / target).resolve()
        if title.startswith("test_"):
            assert title in names_of_tests(file), f"{target} {title}"
        elif file.suffix == ".rs" and " " not in title and title:
            assert f"fn {title}(" in file.read_text(), f"{target} {title}"


def test_every_yes_of_ours_names_its_test() -> None:
    table = re.findall(r"^\| .*\|$", PEERS.read_text(), re.MULTILINE)
    ours = [row.split(" | ")[1] for row in table if row.count(" | ") == 8]
    marks = [mark for mark in ours if mark not in ("atari_wrappers", "---")]
    assert len(marks) > 50
    for mark in marks:
        assert re.match(r'no\b|\[yes\]\(\.\./tests/[\w/]+\.py "test_\w+"\)', mark), mark


def test_every_footnote_is_used_and_written() -> None:
    text = PEERS.read_text()
    used = set(re.findall(r"\[\^([\w-]+)\](?!:)", text))
    written = re.findall(r"^\[\^([\w-]+)\]:", text, re.MULTILINE)
    assert sorted(written) == sorted(used)


def written_value(value: Any) -> str:
    """Return a part's value as the table of recipes writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "the id's"
    if isinstance(value, tuple):
        return " by ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def test_the_table_of_recipes_is_that_of_the_package() -> None:
    lines = RECIPES.read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line[:2] == "| "]
    rows = [row for row in cells if len(row) == len(PRESETS) + 2]
    table = {row[0].strip("`"): row[2:] for row in rows}
    assert table["part"] == [f"`{preset}`" for preset in PRESETS]
    assert [name for name in table if name not in ("part", "---")] == list(Recipe.names())
    for name in Recipe.names():
        expected = [written_value(getattr(recipe, name)) for recipe in PRESETS.values()]
        assert table[name] == expected, name


def test_the_tables_of_algorithms_and_presets_are_those_of_the_trainer() -> None:
    settings = ROOT / "rust_trainer/src/settings"
    text = (ROOT / "docs/algorithms.md").read_text()
    presets = {file.stem: file.read_text() for file in (settings / "presets").glob("*.toml")}
    rows = re.findall(
        r"^\| `([a-z0-9-]+)` \|.*\| ?(.*?) \|$", text.split("## Presets")[1], re.MULTILINE
    )
    assert {name for name, _ in rows} == set(presets)
    for name, recipe in rows:
        preset = tomllib.loads(presets[name])
        below = tomllib.loads(presets[preset["based_on"]]) if "based_on" in preset else {}
        named = (below | preset).get("recipe")
        assert recipe == (f"`{named}`" if named else ""), name
    algorithms = re.findall(
        r"^    \w+\(\w+Settings\) = \"(\w+)\",$", (settings / "algorithms.rs").read_text(), re.M
    )
    table = text.split("## Algorithms")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == algorithms


def test_what_the_sweep_found_is_what_the_pages_say() -> None:
    page = " ".join((ROOT / "docs/exactness.md").read_text().split())
    readme = " ".join((ROOT / "README.md").read_text().split())
    lines = (ROOT / "docs/results/atari_core/sweep.txt").read_text().splitlines()
    games = [re.fullmatch(r"\w+ +\d+ frames +(\d+) games +(exact)?.*", line) for line in lines]
    swept = [game for game in games if game]
    exact = [int(game[1]) for game in swept if game[2]]
    assert f"For {len(exact)} of the {len(swept)} ROMs" in page
    assert f"{len(exact)} of the {len(swept)} ROMs that ale-py loads" in readme
    assert f"In {exact.count(0)} of them no game ended in those frames" in page
    drawn = json.loads((ROOT / "docs/results/bench-emulator.json").read_text())["median_ratios"]
    assert f"With every frame drawn the console is {drawn['every']:.1f} times as fast" in page


def test_the_readmes_speeds_are_those_of_the_results() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    rows = [line.split("|") for line in lines if line.startswith("|")]
    numbers = [
        [re.sub(r"\D", "", cell.split(": ")[-1]) for cell in row] for row in rows if len(row) == 6
    ]
    speeds = {(ours, peer) for _, _, ours, peer, *_ in numbers}
    results = (ROOT / "docs/results/README.md").read_text()
    stepping = re.search(r"^\| space_invaders \| (\d+) \| (\d+) \|.*?\| (\d{4}) \|", results, re.M)
    trained = dict(re.findall(r"^\| ([^|]+) \| (\d+) \| \d+ to \d+ \|", results, re.MULTILINE))
    assert stepping
    ours, ale, envpool = stepping.groups()
    fp32, bf16 = trained["ours, `--backend native`"], trained["ours, bf16, native"]
    torch, sb3 = trained["PyTorch PPO on EnvPool"], trained["stable-baselines3"]
    assert {(ours, ale), ("", envpool), (fp32, torch), (bf16, torch), ("", sb3)} <= speeds


def test_the_tables_of_learning_curves_are_those_of_the_report() -> None:
    results = ROOT / "docs/results"
    text = (results / "README.md").read_text()
    for line in (results / "curves/curves.txt").read_text().splitlines():
        of, _, numbers = line.partition(": ")
        end, whole = numbers.split("; ")[0].split(", over all games ")
        cells = [re.sub(r", (\d+) seeds$", r" | \1", of), end, whole]
        assert f"| {' | '.join(cells)} |" in text


def test_unsafe_code_of_the_core_is_where_its_page_says() -> None:
    page = (ROOT / "docs/results/atari_core/README.md").read_text()
    named = page.split("## Soundness")[1].split("What was run over it")[0]
    core = ROOT / "atari_core"
    shared = (ROOT / "vec_env/src", ROOT / "vec_env/python/src")
    for folder in (core / "src", core / "python/src", *shared):
        for file in folder.rglob("*.rs"):
            if re.search(r"\bunsafe (\{|fn|impl)", file.read_text()) and file.name != "tests.rs":
                assert f"{file.name}`" in named, file


def run_examples(page: Path) -> int:
    """Run a page's examples in order, in one namespace, as they stand; return their number."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    for code in blocks:
        exec(compile(code, f"{page}:\n{code}", "exec"), namespace)
    return len(blocks)


def test_the_guides_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the example of recording needs it")
    monkeypatch.chdir(tmp_path)
    assert run_examples(GUIDE) > 10
    assert (tmp_path / "videos" / "env0-game0.mp4").exists()
    assert (tmp_path / "frames" / "out1-00000.png").exists()


WITH_EXAMPLES = [page for page in PAGES if "```python" in page.read_text() and page != GUIDE]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=named)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as closing:
        if page.name == "remote.md":  # what its first lines start
            serving.start_server(closing, num_envs=8, address="unix:envs.socket")
            monkeypatch.setenv("ATARI_WRAPPERS_TOKEN", serving.TOKEN)
        assert run_examples(page)
