"""The rooms of the Python package: what its imports may run down to."""

# Files and folders, the lowest first.
ROOMS = (
    *("about", "errors", "checks", "plain_data", "forks", "types", "attribute_docs", "opencv"),
    *("ids", "recipes", "two_players", "settings", "keywords", "request"),
    *("recording", "game", "wrappers", "single_env"),
    *("backends", "vector", "factory", "adapters", "envpool", "remote"),
    *("__main__", "__init__"),
)
