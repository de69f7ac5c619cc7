"""The backends, for tests that all of them are to pass."""

# Of any Atari game, by `make_vec`.
LOCAL = ("ale", "native", "sync", "async")
# The same by the fixture `open_vec`, which serves a batch for the last one.
BACKENDS = (*LOCAL, "remote")
# Whose games are those of all others, and whose resets are quick: to play them twice.
TWIN = "native"
# Whose envs are stepped in parts, looked into, saved and recorded frame by frame.
OPEN = ("native", "sync", "async")
# Whose envs are stepped in parts and saved.
PARTS = (*OPEN, "remote")
# Of any id: their envs are Python objects.
HOSTED = ("sync", "async")
