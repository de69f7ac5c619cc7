"""A `VecEnv` as the libraries that train on batches of envs want to see it.

`stable_baselines3`, `rllib` and `gymnasium` (its registry) are modules of their own: none of those
libraries is imported before its module is.
"""
