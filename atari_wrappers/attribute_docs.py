"""The text of each attribute, as the docstring of a class has it."""

from __future__ import annotations

import inspect
import re


def attribute_docs(documented: type) -> dict[str, str]:
    """Return what the section "Attributes" of a docstring says of each, its lines made one."""
    text = inspect.getdoc(documented) or ""
    section = text.partition("\nAttributes:\n")[2].partition("\n\n")[0]
    docs: dict[str, str] = {}
    for line in section.splitlines():
        begun = re.match(r" {4}(\w[\w, ]*): (.*)", line)
        if begun:
            name = begun[1]
            docs[name] = begun[2]
        else:
            docs[name] += f" {line.strip()}"
    return docs
