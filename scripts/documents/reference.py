"""The pages of the reference that come from the program and the package themselves."""

import re
import subprocess
import textwrap
from collections.abc import Iterator

from stage import ROOT

import atari_wrappers
import rust_trainer

PROGRAM = ROOT / "target/release/rust_trainer"
ALGORITHMS = ("ppo", "a2c", "pqn", "dqn", "ddpg", "td3", "maddpg")
COMMANDS = (
    *("train", "seeds", "watch", "report", "play", "eval", "dump-frames"),
    *("versus", "league", "export", "import", "serve", "serve-policy", "doctor"),
)
PRESETS = ROOT / "rust_trainer/src/settings/presets"


def program_help(*words: str) -> str:
    """Return what the program says of a command."""
    ended = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=True)
    return ended.stdout


def python_page() -> str:
    """Return the page of the package: what it offers, from its docstrings."""
    names = ["make_vec", "make_env", "VecEnv", "Settings", "recipes.Recipe", "make"]
    errors = [name for name in atari_wrappers.__all__ if name.endswith("Error")]
    missing = {*atari_wrappers.__all__} - {*names, *errors}
    adapters = ["stable_baselines3", "rllib", "gymnasium", "pettingzoo"]
    names += [*sorted(missing), *errors, *(f"adapters.{name}" for name in adapters)]
    names += ["envpool", "remote", "wrappers"]
    blocks = [f"::: atari_wrappers.{name}\n" for name in names]
    # `main` stands in the package itself; the others are imported late.
    places = sorted(f"{module}.{name}" for name, module in rust_trainer._MODULES.items())
    of_trainer = [f"::: rust_trainer.{place}\n" for place in [*places, "main"]]
    of_trainer.insert(0, "# The trainer in Python\n")
    return "\n".join(
        ["# Python API\n", "What `help` says of the packages.\n", *blocks, *of_trainer]
    )


def commands_page() -> str:
    """Return the page of the commands: their help, settings left out."""
    parts = ["# Commands\n", "`./scripts/train COMMAND` passes a command to the program.\n"]
    for command in COMMANDS:
        # Settings begin with the first group that is not "Options".
        text = re.split(r"^(?:Run|Presets):$", program_help(command), flags=re.M)[0].rstrip()
        lines = "\n".join(map(wrapped, text.splitlines()))
        parts.append(f"## {command}\n\n```text\n{lines}\n```\n")
    has_settings = "`train` and `seeds` also take every [setting](settings.md) as an option.\n"
    return "\n".join([*parts[:2], has_settings, *parts[2:]])


def wrapped(line: str) -> str:
    """Return a line of help in lines that fit a page, indented as it is."""
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(line, 84, subsequent_indent=indent) if len(line) > 84 else line


def settings_of(algorithm: str) -> Iterator[tuple[str, str, str, str]]:
    """Return group, name, explanation and default of each setting that an algorithm reads."""
    text = program_help("train", "--algorithm", algorithm)
    groups = re.split(r"^([A-Z][\w ]*):$", text, flags=re.MULTILINE)
    for group, body in zip(groups[1::2], groups[2::2], strict=True):
        options = re.split(r"^ {6}--([\w-]+)(?: <.*>)?$", body, flags=re.MULTILINE)
        if group in ("Options", "Arguments", "Usage"):
            continue
        for name, about in zip(options[1::2], options[2::2], strict=True):
            explanation, _, values = textwrap.dedent(about).partition("Possible values:")
            default = re.search(r"\[default: (.*?)\]\s*$", explanation, re.M)
            explanation = re.sub(r"\[(?:default|possible values): .*?\]", "", explanation)
            choices = re.findall(r"^ *- (\S+?):\s+(.*)$", values, re.MULTILINE)
            listed = "".join(f"<br>`{choice}`: {what}" for choice, what in choices)
            words = " ".join(explanation.split()) + listed
            yield group, name, words, default[1] if default else ""


def settings_page() -> str:
    """Return the page of the settings: a table for each group, with defaults by algorithm."""
    found: dict[str, dict[str, tuple[str, dict[str, str]]]] = {}
    for algorithm in ALGORITHMS:
        for group, name, words, default in settings_of(algorithm):
            _, defaults = found.setdefault(group, {}).setdefault(name, (words, {}))
            defaults[algorithm] = default
    parts = [
        "# Settings of the trainer\n",
        "Each is an option of `train` and `seeds`, and a line of a settings file with `_` for `-`.",
        "A preset has defaults [of its own](presets.md).\n",
    ]
    for group, settings in found.items():
        parts += [f"## {group}\n", "| setting | what it is | default |", "| --- | --- | --- |"]
        for name, (words, defaults) in settings.items():
            escaped = words.replace("|", "\\|")
            parts.append(f"| `--{name}` | {escaped} | {shown(defaults)} |")
        parts.append("")
    return "\n".join(parts)


def shown(defaults: dict[str, str]) -> str:
    """Return the defaults of a setting; by algorithm where not all have the same one."""
    if all(value == algorithm for algorithm, value in defaults.items()):
        return f"`{ALGORITHMS[0]}`"
    values = set(defaults.values())
    if len(values) == 1 and len(defaults) == len(ALGORITHMS):
        (value,) = values
        return f"`{value}`" if value else ""
    readers: dict[str, list[str]] = {}
    for algorithm, value in defaults.items():
        readers.setdefault(value, []).append(algorithm)
    return "<br>".join(f"{', '.join(of)}: `{value}`" for value, of in readers.items())


def presets_page() -> str:
    """Return the page of the presets: each file as it is, comments with its sources included."""
    files = sorted(PRESETS.glob("*.toml"))
    shown = [f"## {file.stem}\n\n```toml\n{file.read_text().rstrip()}\n```\n" for file in files]
    about = "`./scripts/train NAME` trains with the settings of a file below.\n"
    return "\n".join(["# Presets\n", about, *shown])
