"""A Ray that stays on this machine, for the tests of all adapters."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator

import pytest

# Read when Ray is first imported, by whichever test: without clusters it listens to the loopback
# interface only. And it reports nothing to its makers.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """Ray, started for these tests, with its files in a folder of their own."""
    import ray
    from ray.tune.trainable import trainable

    folder = tempfile.mkdtemp(prefix="ray")  # paths of its sockets may have 107 bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # At their own low priority its processes wait for minutes where other tests are busy.
        patch.setenv("RAY_worker_niceness", "0")
        patch.setattr(trainable, "DEFAULT_STORAGE_PATH", f"{folder}/results")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        try:
            assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
            yield
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
