"""What the files of a Rust crate import."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

CRATES = ("vec_env", "vec_env/python", "vec_env/remote", "atari_core", "python_shim")
CRATES += ("rust_trainer/kernels", "rust_trainer")
# An instruction of the CPU steps the machine, whose bus it reads: one circle, for speed.
CIRCLE = {"cpu", "machine"}
Module = tuple[str, ...]


def tree(text: str, before: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the name that each leaf of a `use` tree gets, and its path."""
    head, brace, rest = text.partition("{")
    names = (*before, *(name for name in head.strip().split("::") if name))
    if not brace:
        path, _, renamed = "::".join(names).partition(" as ")
        yield renamed or path.rpartition("::")[2], tuple(path.split("::"))
        return
    depth, leaf = 0, ""
    for character in rest:
        depth += (character == "{") - (character == "}")
        if depth < 0 or (character == "," and depth == 0):
            if leaf.strip():
                yield from tree(leaf, names)
            leaf = ""
        else:
            leaf += character


class Crate:
    """The modules of a crate that are files, and what each imports; tests left out."""

    def __init__(self, source: Path) -> None:
        self.text: dict[Module, str] = {}
        for path in source.rglob("*.rs"):
            names = path.relative_to(source).with_suffix("").parts
            if "tests" in names or names == ("main",):
                continue
            module = names[:-1] if names[-1] in ("mod", "lib") else names
            text = re.sub(r"//.*", "", path.read_text())
            # Unit tests stand at the end.
            self.text[module] = re.split(r"#\[cfg\(test\)\]\s*mod tests", text)[0]

    @cached_property
    def uses(self) -> dict[Module, list[tuple[bool, str, Module]]]:
        """For each module: whether it passes a name on, the name, and the path it stands for."""
        found: dict[Module, list[tuple[bool, str, Module]]] = {}
        for module, text in self.text.items():
            leaves = found.setdefault(module, [])
            for public, uses in re.findall(r"^\s*(pub(?:\([\w: ]+\))? )?use ([^;]+);", text, re.M):
                leaves += [(bool(public), *leaf) for leaf in tree(uses)]
        return found

    def resolve(self, module: Module, path: Module) -> Module | None:
        """Return the module that defines what a path names, `None` for another crate's."""
        at = module
        first, *rest = path
        if first == "crate":
            at = ()
        elif first == "super":
            at = module[:-1]
        elif (*module, first) in self.text:
            at = (*module, first)
        elif first != "self":
            return None
        for place, name in enumerate(rest):
            if name == "super":
                at = at[:-1]
            elif (*at, name) in self.text:
                at = (*at, name)
            else:
                passed = [path for public, given, path in self.uses[at] if public and given == name]
                return self.resolve(at, (*passed[0], *rest[place + 1 :])) or at if passed else at
        return at

    def imports(self, module: Module) -> set[Module]:
        """Return the modules whose definitions a module names."""
        text = re.sub(r"^\s*(pub(\([\w: ]+\))? )?use [^;]+;", "", self.text[module], flags=re.M)
        paths = {path for public, _, path in self.uses[module] if not public}
        children = [other[-1] for other in self.text if other and other[:-1] == module]
        starts = "|".join(["crate", "super", "self", *children])
        paths |= {
            tuple(path.split("::"))
            for path in re.findall(rf"(?<![\w:])((?:{starts})(?:::\w+)+)", text)
        }
        found = {to for path in paths if (to := self.resolve(module, path)) is not None}
        # A module and the files in its folder are one.
        return {to for to in found if to[: len(module)] != module and module[: len(to)] != to}

    def graph(self) -> dict[Module, set[Module]]:
        """Return what each file imports."""
        return {module: self.imports(module) for module in self.text}
