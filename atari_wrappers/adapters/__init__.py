"""A `VecEnv` as the libraries that train on batches of envs want to see it.

`stable_baselines3`, `rllib`, `pettingzoo` (games for two) and `gymnasium` (its registry) are
modules of their own: neither stable-baselines3, Ray nor PettingZoo is imported before its module.
"""
