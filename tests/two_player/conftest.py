"""PettingZoo is an extra; without it there is nothing to compare with."""

import pytest

pytest.importorskip("multi_agent_ale_py")
pytest.importorskip("pettingzoo")
