"""A `VecEnv` as the libraries that train on batches of envs want to see it.

`stable_baselines3`, `rllib` and `gymnasium` (its registry) are modules of their own: neither
stable-baselines3 nor Ray is imported before its module is.
"""
