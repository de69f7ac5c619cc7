"""What the commands `export` and `import` of the program do; each returns the lines to print."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["export", "import_", "serve"]


def export(
    run: str,
    *,
    best: bool,
    agent: int | None,
    onnx: str | None,
    hub: str | None,
    episodes: int,
    seed: int,
    greedy: bool,
) -> list[str]:
    """Write the policy of `run` as an ONNX model to `onnx`, and as a folder for a hub to `hub`."""
    from rust_trainer.checkpoints import find
    from rust_trainer.policies import load_policy

    file, said = find(run, best=best), []
    if hub is not None:
        from rust_trainer.hub import make_hub_folder, read_for_hub

        read_for_hub(file)  # what it refuses leaves no ONNX model behind
    policy = load_policy(file, agent=agent)
    if onnx is not None:
        from rust_trainer.onnx_export import export_onnx

        size = export_onnx(policy, onnx).stat().st_size
        said.append(f"ONNX model: {onnx} ({size / 1e3:.0f} kB)")
    if hub is not None:
        made = make_hub_folder(file, Path(hub), episodes=episodes, seed=seed, greedy=greedy)
        said.append(
            f"mean return {made.mean:.2f} ± {made.std:.2f} (standard deviation) over"
            f" {len(made.returns)} games"
        )
        said.append(f"folder for a hub: {hub}")
    return said


def serve(command: str, arguments: list[str]) -> int:
    """Do what `serve` or `serve-policy` does, whose arguments Python reads; return a status."""
    program = "rust_trainer"
    try:
        if command == "serve":
            from atari_wrappers.__main__ import main

            return main([command, *arguments], program)
        from rust_trainer.serving import run

        return run(arguments)
    except SystemExit as end:  # argparse's, which has said why
        return int(end.code or 0)
    except KeyboardInterrupt:  # while it loads
        return 130
    except (OSError, ValueError, ImportError, TypeError, RuntimeError) as error:
        sys.stderr.write(f"{program} {command}: {error}\n")
        return 1


def import_(file: str, *, game: str, output: str) -> list[str]:
    """Make the checkpoint in `output` of a policy that another library trained."""
    from rust_trainer.importing import import_policy

    made = import_policy(file, game, output)
    path = f"./{output}" if output.startswith("-") else output
    quoted = "'" + path.replace("'", r"'\''") + "'"
    return [
        f"{made.what}: {made.num_params} parameters",
        f"checkpoint: {made.checkpoint}",
        f"play it by: eval {quoted}; learn from it by: train --start-from {quoted}",
    ]
