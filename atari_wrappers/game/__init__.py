"""One Atari game by a recipe, as a gymnasium env.

`env` is the env, `rules` says how a game starts and ends and what a step is, `pictures` what is
seen of it, `emulator` drives ALE, `seeding` draws its random numbers, and `spaces` are what it
observes and takes. `two_player` is the same for two. `native` plays games on `atari_core` instead.
"""
