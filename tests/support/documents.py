"""What pages of Markdown link, and what others may link in them."""

from __future__ import annotations

import re
from pathlib import Path

# [text](target "title"), pictures included, and <img src="target">.
LINK = re.compile(r'(?:\]\(|<img src=")([^)\s"]+)(?: "([^"]*)")?')
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[tuple[str, str]]:
    """Return target and title of each link outside of code."""
    return LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text())))


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
