"""A batch of envs behind one interface, whichever backend runs them.

`env` is the `VecEnv` that users hold: a `batch`, which is looked into and closed, that is reset and
stepped. `actions` and `checks` refuse what no backend should see, `order` calls out of order, and
`lifetime` (with `atari_wrappers.forks`) says what closes a batch, and lets one thread in at a time.
"""
