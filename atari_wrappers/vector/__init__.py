"""A batch of envs behind one interface, whichever backend runs them.

`env` is the `VecEnv` that users hold: a `batch`, which is looked into and closed, that is reset and
stepped. `actions` and `checks` refuse what no backend should see, `pending` keeps the order of
calls, and `lifetime` (with `atari_wrappers.forks`) says what closes a batch.
"""
