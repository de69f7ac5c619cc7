"""The file `atari_wrappers/keywords.py`, out of `Settings` and `Recipe`; this writes it.

python tests/support/keyword_docs.py
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

import atari_wrappers
from atari_wrappers import settings
from atari_wrappers.attribute_docs import attribute_docs
from atari_wrappers.recipes import PRESETS, Recipe

FILE = Path(atari_wrappers.__file__).parent / "keywords.py"
# What stands before the fields is written by hand.
HEAD = FILE.read_text().partition("\n    preset:")[0]


def source() -> str:
    """Return the whole file."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(settings.Settings))).body
    assert isinstance(definition, ast.ClassDef)
    texts = attribute_docs(Recipe) | attribute_docs(settings.Settings)
    lines = [HEAD]
    for node in definition.body:
        if not isinstance(node, ast.AnnAssign):
            continue
        name, default = ast.unparse(node.target), ast.unparse(node.value)
        if name in Recipe.names():
            usual = f"{getattr(PRESETS['default'], name)!r} by the preset `default`"
            default = usual if default == "None" else default
        text = f"{texts[name]} Default: {default.replace(chr(39), chr(34))}."
        lines.append(f"    {name}: {ast.unparse(node.annotation)}")
        quoted = f'"""{text}"""'
        if len(quoted) > 96 or '""' in text:
            quoted = f'"""{text}\n"""'
        body = textwrap.wrap(quoted.removesuffix('\n"""'), 96, break_long_words=False)
        if quoted.endswith('\n"""'):
            body.append('"""')
        lines += [f"    {line}" for line in body] + [""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    FILE.write_text(source())
