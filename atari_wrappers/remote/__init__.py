"""Batches of envs over a socket: `RemoteVecEnv` steps what `python -m atari_wrappers serve` runs.

Importing this needs gRPC: `pip install "atari-wrappers[remote]"`.
"""

from atari_wrappers.remote.addresses import require_grpc

require_grpc()

# isort: split

from atari_wrappers.errors import ServerError  # noqa: E402
from atari_wrappers.remote.env import RemoteVecEnv  # noqa: E402
from atari_wrappers.remote.failures import RemoteEnvError  # noqa: E402
from atari_wrappers.remote.policy import RemotePolicy  # noqa: E402
from atari_wrappers.remote.server import BatchServer  # noqa: E402

__all__ = ["BatchServer", "RemoteEnvError", "RemotePolicy", "RemoteVecEnv", "ServerError"]
