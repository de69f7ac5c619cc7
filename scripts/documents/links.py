"""What is wrong with the links of a built site."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page of HTML links, and the places in it that can be linked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in a tag."""
        named = dict(attrs)
        self.links.update(named[name] or "" for name in ("href", "src") if name in named)
        self.anchors.update(named[name] or "" for name in ("id", "name") if name in named)


@cache
def read(path: Path) -> Page:
    """Return a page."""
    return Page(path.read_text())


def broken(site: Path) -> Iterator[str]:
    """Return each link within the site that leads nowhere, and the page that has it."""
    for path in sorted(site.rglob("*.html")):
        # The page for what is not there is shown at any address.
        if path.name == "404.html":
            continue
        for link in sorted(read(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                yield f"{path.relative_to(site)}: {link} has no such place in it"
