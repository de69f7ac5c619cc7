"""Copies the pages of the documentation to where the site is built.

On GitHub the pages link files of the repository, which the site does not have beside it: what a
page links is copied, code as text, and a folder becomes a page that lists its files.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Pages outside of `docs`, and where the site has them.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "python_shim/README.md": "python_shim/README.md",
}
# Parts of a page that are code or a link; only links are changed.
PARTS = re.compile(
    r"""(^```.*?^```|`[^`\n]*`)|(\]\(|<img src=")([^)\s"#]*)(#[^)\s"]*)?""",
    re.DOTALL | re.MULTILINE,
)
# What a browser shows as it is. Everything else is shown as text.
SHOWN = {".png", ".gif", ".txt", ".json", ".csv", ".md", ".html"}


def pages() -> dict[Path, str]:
    """Return the pages, and where the site has them."""
    docs = ROOT / "docs"
    inside = {path: str(path.relative_to(docs)) for path in sorted(docs.rglob("*.md"))}
    return inside | {ROOT / page: place for page, place in OUTSIDE.items()}


class Stage:
    """The folder from which the site is built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = pages()
        shutil.rmtree(folder, ignore_errors=True)

    def write(self, place: str, text: str) -> None:
        """Write a page."""
        target = self.folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def copy_pages(self) -> None:
        """Copy every page, and whatever it links."""
        for page, place in self.pages.items():
            self.write(place, self.rewritten(page, place))

    def rewritten(self, page: Path, place: str) -> str:
        """Return the text of a page with links that lead to where the site has things."""

        def replaced(part: re.Match[str]) -> str:
            code, opening, target, anchor = part.groups()
            if code or not target or re.match(r"[a-z]+:", target):
                return part[0]
            found = self.place_of((page.parent / target).resolve())
            return f"{opening}{relative(found, place)}{anchor or ''}"

        return PARTS.sub(replaced, page.read_text())

    def place_of(self, path: Path) -> str:
        """Return where the site has a page, file or folder, which is copied if it is no page."""
        if path in self.pages:
            return self.pages[path]
        name = str(path.relative_to(ROOT))
        if path.is_dir():
            # As GitHub does it.
            if path / "README.md" in self.pages:
                return self.pages[path / "README.md"]
            place = f"files/{name}/index.md"
            if not (self.folder / place).exists():
                self.write(place, "".join(self.listing(path, place)))
            return place
        place = f"files/{name}" + ("" if path.suffix in SHOWN else ".txt")
        if not (self.folder / place).exists():
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.folder / place)
        return place

    def listing(self, folder: Path, place: str) -> Iterator[str]:
        """Return the lines of a page that lists what is in a folder."""
        yield f"# {folder.relative_to(ROOT)}\n\n"
        for path in sorted(folder.iterdir()):
            if path.name.startswith((".", "__")):
                continue
            # A folder in it is named without what is in it.
            if path.is_dir():
                yield f"- {path.name}/\n"
            else:
                yield f"- [{path.name}]({relative(self.place_of(path), place)})\n"


def relative(place: str, page: str) -> str:
    """Return a place of the site as a page links it."""
    return os.path.relpath(place, Path(page).parent)
