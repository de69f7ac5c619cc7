"""`RemoteVecEnv`: a batch of envs that a server runs, stepped as any other batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gymnasium.vector import AutoresetMode

from atari_wrappers.checks import check_count
from atari_wrappers.ids import PICTURES, EnvId
from atari_wrappers.recipes import Recipe
from atari_wrappers.remote.addresses import BATCHES
from atari_wrappers.remote.backend import RemoteBackend, RemoteRequest
from atari_wrappers.remote.batches_pb2 import Hello, Welcome
from atari_wrappers.remote.channels import open_session
from atari_wrappers.remote.session import Session
from atari_wrappers.remote.values import from_dict, to_dict
from atari_wrappers.request import EnvRequest
from atari_wrappers.settings import Settings, merged
from atari_wrappers.vector.env import VecEnv


class RemoteVecEnv(VecEnv):
    """A batch that `python -m atari_wrappers serve` makes for this client, and closes with it.

    It does what `VecEnv` documents, with these differences. Single envs cannot be reached (`call`,
    `get_attr`, ...). `save_state` and `restore_state` take plain data only, as with `plain=True`:
    no pickle crosses the socket. An exception that an env raises is a `RemoteEnvError`, with the
    name of the exception in its text. With `reconnect` a connection that is lost and comes back
    loses nothing: no step is done twice, and none is left out. When the server is gone, the batch
    is closed; make another one, and bring it to states that you saved.

    Attributes:
        address: Of the server.
        env_name: The id that the server makes its envs of; ids by commas where they differ.

    Args:
        address: `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`. To another machine the connection must
            be encrypted: give `ca_file`, or `tls=True`.
        num_envs: How many envs; `None` for as many as the server gives a client.
        token: The server's; by default that of the environment variable `ATARI_WRAPPERS_TOKEN`.
        tls: Whether to encrypt, and check the server's certificate against those that gRPC trusts.
        ca_file: A PEM file of the certificates to check the server's against, such as its own; by
            default that of the environment variable `ATARI_WRAPPERS_CA_FILE`.
        connect_timeout: Seconds that the server may take to be there.
        timeout: Seconds that a reply may take before the server is given up.
        reconnect: Seconds for which a connection that is lost is made anew, while the server keeps
            the batch; its own limit is `--keep-lost`. 0: a client that is lost leaves nothing.
        obs_buffers: As in `Settings`.
        **settings: In place of the server's: `preset`, `autoreset`, `batch_size`, `clip_actions`,
            `num_players` and the parts of a recipe, as in `Settings`.

    Raises:
        ServerError: (a `ConnectionError`) There is no server, or it refuses this client.
        UnsupportedError: The address needs TLS, or the server's envs cannot do what the settings
            say.
        ValueError: An argument is out of range, or the server has fewer envs.
        TypeError: An argument has the wrong type.
    """

    def __init__(
        self,
        address: str,
        num_envs: int | None = None,
        *,
        token: str | None = None,
        tls: bool = False,
        ca_file: str | Path | None = None,
        connect_timeout: float = 5.0,
        timeout: float = 300.0,
        reconnect: float = 0.0,
        obs_buffers: int = 0,
        **settings: Any,
    ) -> None:
        count = 0 if num_envs is None else check_count("num_envs", num_envs, 1)
        checked = merged(None, {"obs_buffers": obs_buffers, **settings})
        asked = {name: getattr(checked, name) for name in settings}
        session = open_session(
            BATCHES, address, token, tls=tls, ca_file=ca_file, timeout=timeout, reconnect=reconnect
        )
        self.address = session.address
        try:
            hello = Hello(num_envs=count, settings=to_dict(asked))
            self._welcome = session.connect(hello, connect_timeout)
            self.env_name: str = self._welcome.env_name
            super().__init__(_request(session, self._welcome, obs_buffers), RemoteBackend)
        except BaseException:
            session.close()
            raise

    def _describe(self) -> None:
        """Say of the batch what the server says."""
        metadata = from_dict(self._welcome.metadata)
        self.render_mode = PICTURES if self._welcome.draws else None
        self.autoreset_mode: AutoresetMode = self.settings.autoreset_mode
        self.metadata = metadata | {"autoreset_mode": self.autoreset_mode}

    def _python_envs(self, call: str, indices: Any) -> list[int]:
        """Return `indices` as a list; the backend refuses what a server does."""
        return self._idle_indices(call, indices)

    def _expect_plain_states(self, call: str, indices: list[int]) -> None:
        """Leave it to the server, which allows no others."""


def _request(session: Session, welcome: Welcome, obs_buffers: int) -> RemoteRequest:
    """Return what the server has made, as what was asked for."""
    settings = Settings(
        recipe=_recipe(welcome),
        autoreset=welcome.autoreset,  # type: ignore[arg-type]  # which Settings checks
        backend=welcome.backend,  # type: ignore[arg-type]
        batch_size=0 if welcome.batch_size == welcome.num_envs else welcome.batch_size,
        num_players=welcome.num_players,
        clip_actions=welcome.clip_actions,
        obs_buffers=obs_buffers,
    )
    env = EnvRequest(EnvId(welcome.env_name, None, None), settings, settings.recipe)
    return RemoteRequest((env,), welcome.num_envs, settings, session, welcome)


def _recipe(welcome: Welcome) -> Recipe | None:
    """Return the recipe of Atari games, its parts that this version knows."""
    if not welcome.HasField("recipe"):
        return None
    parts: dict[str, Any] = {
        name: value for name, value in from_dict(welcome.recipe).items() if name in Recipe.names()
    }
    parts = {name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()}
    make: Callable[..., Recipe] = Recipe  # which checks the types
    return make(**parts)
