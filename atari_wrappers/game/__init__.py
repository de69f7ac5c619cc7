"""One Atari game by a recipe, as a gymnasium env.

`env` is the env, `rules` says how a game starts and ends and what a step is, `pictures` what is
seen of it, `emulator` drives ALE, and `seeding` draws its random numbers. `two_player` and
`two_player_emulator` are the same for two; `polar` reads ALE's continuous actions.
"""
