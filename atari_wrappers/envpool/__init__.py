"""EnvPool's API for Atari: a script changes `import envpool` to this, and nothing else.

    from atari_wrappers import envpool

    envs = envpool.make("Pong-v5", env_type="gymnasium", num_envs=8, episodic_life=True)

It is a face of `make_vec(preset="envpool", autoreset="next-step")`: for the same seed and actions
the same games as EnvPool's, observations, rewards, ends and infos. `docs/python.md` names what
differs. `atari_wrappers.envpool.old_gym` has the forms that EnvPool had with gym before 0.26.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack, overload

from atari_wrappers.checks import check_choice
from atari_wrappers.envpool.config import Config, ConfigKeywords, list_all_envs
from atari_wrappers.envpool.gymnasium_pool import GymnasiumEnvPool
from atari_wrappers.envpool.spec import EnvSpec, make_spec

if TYPE_CHECKING:
    from atari_wrappers.envpool.dm_pool import DMEnvPool

__all__ = [
    "Config",
    "EnvSpec",
    "GymnasiumEnvPool",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
]

EnvType = Literal["dm", "gym", "gymnasium"]


@overload
def make(
    task_id: str, env_type: Literal["dm"], **settings: Unpack[ConfigKeywords]
) -> DMEnvPool: ...


@overload
def make(
    task_id: str, env_type: Literal["gym", "gymnasium"], **settings: Unpack[ConfigKeywords]
) -> GymnasiumEnvPool: ...


def make(
    task_id: str, env_type: EnvType, **settings: Unpack[ConfigKeywords]
) -> GymnasiumEnvPool | DMEnvPool:
    """Make a pool of envs.

    Args:
        task_id: Such as `Pong-v5`; `list_all_envs()` has them all.
        env_type: `"gymnasium"` or `"gym"`, which is the same, or `"dm"`.
        **settings: EnvPool's, which `Config` documents.

    Raises:
        UnknownEnvError: (a `ValueError`) There is no such id.
        UnsupportedError: (a `ValueError`) A setting asks for what only EnvPool does.
        ValueError: A setting is out of range.
        TypeError: A setting has the wrong type, or there is none of this name.
    """
    check_choice("env_type", env_type, ("dm", "gym", "gymnasium"))
    if env_type == "dm":
        return make_dm(task_id, **settings)
    return make_gymnasium(task_id, **settings)


def make_gymnasium(task_id: str, **settings: Unpack[ConfigKeywords]) -> GymnasiumEnvPool:
    """Make a pool with gymnasium's interface; see `make`."""
    return GymnasiumEnvPool(make_spec(task_id, **settings))


make_gym = make_gymnasium


def make_dm(task_id: str, **settings: Unpack[ConfigKeywords]) -> DMEnvPool:
    """Make a pool with dm_env's interface, which needs `pip install dm-env`; see `make`."""
    from atari_wrappers.envpool.dm_pool import DMEnvPool

    return DMEnvPool(make_spec(task_id, **settings))
