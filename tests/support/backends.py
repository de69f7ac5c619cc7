"""The backends, for tests that all of them are to pass."""

# Of any Atari game.
BACKENDS = ("ale", "native", "sync", "async", "remote")
# Whose envs are stepped in parts, looked into, saved and recorded frame by frame.
OPEN = ("native", "sync", "async")
# Whose envs are stepped in parts and saved.
PARTS = (*OPEN, "remote")
# Of any id: their envs are Python objects.
HOSTED = ("sync", "async")
