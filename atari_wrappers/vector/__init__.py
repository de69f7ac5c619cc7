"""A batch of envs behind one contract, whichever backend runs them.

`env` is the `VecEnv` that users hold. `actions` and `checks` refuse what no backend should see,
`pending` keeps the order of calls, `lifetime` (with `forks`) says what closes a batch, and
`inspection` looks into single envs.
"""
