from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Request(_message.Message):
    __slots__ = ("id", "hello", "reset", "step", "wait", "drop", "restart", "save", "restore", "draw", "leave", "act", "received")
    ID_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    SAVE_FIELD_NUMBER: _ClassVar[int]
    RESTORE_FIELD_NUMBER: _ClassVar[int]
    DRAW_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    ACT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    id: int
    hello: Hello
    reset: Reset
    step: Step
    wait: Wait
    drop: Drop
    restart: Restart
    save: Save
    restore: Restore
    draw: Draw
    leave: Leave
    act: Act
    received: int
    def __init__(self, id: _Optional[int] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., reset: _Optional[_Union[Reset, _Mapping]] = ..., step: _Optional[_Union[Step, _Mapping]] = ..., wait: _Optional[_Union[Wait, _Mapping]] = ..., drop: _Optional[_Union[Drop, _Mapping]] = ..., restart: _Optional[_Union[Restart, _Mapping]] = ..., save: _Optional[_Union[Save, _Mapping]] = ..., restore: _Optional[_Union[Restore, _Mapping]] = ..., draw: _Optional[_Union[Draw, _Mapping]] = ..., leave: _Optional[_Union[Leave, _Mapping]] = ..., act: _Optional[_Union[Act, _Mapping]] = ..., received: _Optional[int] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("id", "welcome", "result", "states", "pictures", "restarted", "done", "failure", "resumed", "acts", "observations")
    ID_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    RESTARTED_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    ACTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    id: int
    welcome: Welcome
    result: Result
    states: States
    pictures: Pictures
    restarted: Restarted
    done: Done
    failure: Failure
    resumed: Resumed
    acts: Acts
    observations: bytes
    def __init__(self, id: _Optional[int] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., result: _Optional[_Union[Result, _Mapping]] = ..., states: _Optional[_Union[States, _Mapping]] = ..., pictures: _Optional[_Union[Pictures, _Mapping]] = ..., restarted: _Optional[_Union[Restarted, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., resumed: _Optional[_Union[Resumed, _Mapping]] = ..., acts: _Optional[_Union[Acts, _Mapping]] = ..., observations: _Optional[bytes] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("oldest_version", "newest_version", "num_envs", "keep_seconds", "settings")
    OLDEST_VERSION_FIELD_NUMBER: _ClassVar[int]
    NEWEST_VERSION_FIELD_NUMBER: _ClassVar[int]
    NUM_ENVS_FIELD_NUMBER: _ClassVar[int]
    KEEP_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    oldest_version: int
    newest_version: int
    num_envs: int
    keep_seconds: float
    settings: Dict
    def __init__(self, oldest_version: _Optional[int] = ..., newest_version: _Optional[int] = ..., num_envs: _Optional[int] = ..., keep_seconds: _Optional[float] = ..., settings: _Optional[_Union[Dict, _Mapping]] = ...) -> None: ...

class Reset(_message.Message):
    __slots__ = ("env_ids", "seeds", "options", "wait")
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    seeds: _containers.RepeatedScalarFieldContainer[int]
    options: Dict
    wait: bool
    def __init__(self, env_ids: _Optional[_Iterable[int]] = ..., seeds: _Optional[_Iterable[int]] = ..., options: _Optional[_Union[Dict, _Mapping]] = ..., wait: bool = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("actions", "env_ids", "wait")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    actions: bytes
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    wait: bool
    def __init__(self, actions: _Optional[bytes] = ..., env_ids: _Optional[_Iterable[int]] = ..., wait: bool = ...) -> None: ...

class Wait(_message.Message):
    __slots__ = ("count", "every", "timeout_seconds")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    EVERY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    count: int
    every: bool
    timeout_seconds: float
    def __init__(self, count: _Optional[int] = ..., every: bool = ..., timeout_seconds: _Optional[float] = ...) -> None: ...

class Drop(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Restart(_message.Message):
    __slots__ = ("env_ids",)
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, env_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Save(_message.Message):
    __slots__ = ("env_ids",)
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, env_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Restore(_message.Message):
    __slots__ = ("env_ids", "states")
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    states: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, env_ids: _Optional[_Iterable[int]] = ..., states: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Draw(_message.Message):
    __slots__ = ("env_ids",)
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, env_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Act(_message.Message):
    __slots__ = ("observations", "greedy", "episode_start")
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    GREEDY_FIELD_NUMBER: _ClassVar[int]
    EPISODE_START_FIELD_NUMBER: _ClassVar[int]
    observations: Array
    greedy: bool
    episode_start: Array
    def __init__(self, observations: _Optional[_Union[Array, _Mapping]] = ..., greedy: bool = ..., episode_start: _Optional[_Union[Array, _Mapping]] = ...) -> None: ...

class Leave(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("version", "software", "env_name", "num_envs", "batch_size", "num_players", "backend", "autoreset", "observation_space", "action_space", "recipe", "clip_actions", "takes_reset_options", "metadata", "draws", "session", "keep_seconds", "algorithm", "is_recurrent", "agent_steps")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    ENV_NAME_FIELD_NUMBER: _ClassVar[int]
    NUM_ENVS_FIELD_NUMBER: _ClassVar[int]
    BATCH_SIZE_FIELD_NUMBER: _ClassVar[int]
    NUM_PLAYERS_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    AUTORESET_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_SPACE_FIELD_NUMBER: _ClassVar[int]
    ACTION_SPACE_FIELD_NUMBER: _ClassVar[int]
    RECIPE_FIELD_NUMBER: _ClassVar[int]
    CLIP_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    TAKES_RESET_OPTIONS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DRAWS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    KEEP_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ALGORITHM_FIELD_NUMBER: _ClassVar[int]
    IS_RECURRENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_STEPS_FIELD_NUMBER: _ClassVar[int]
    version: int
    software: str
    env_name: str
    num_envs: int
    batch_size: int
    num_players: int
    backend: str
    autoreset: str
    observation_space: Space
    action_space: Space
    recipe: Dict
    clip_actions: bool
    takes_reset_options: bool
    metadata: Dict
    draws: bool
    session: str
    keep_seconds: float
    algorithm: str
    is_recurrent: bool
    agent_steps: int
    def __init__(self, version: _Optional[int] = ..., software: _Optional[str] = ..., env_name: _Optional[str] = ..., num_envs: _Optional[int] = ..., batch_size: _Optional[int] = ..., num_players: _Optional[int] = ..., backend: _Optional[str] = ..., autoreset: _Optional[str] = ..., observation_space: _Optional[_Union[Space, _Mapping]] = ..., action_space: _Optional[_Union[Space, _Mapping]] = ..., recipe: _Optional[_Union[Dict, _Mapping]] = ..., clip_actions: bool = ..., takes_reset_options: bool = ..., metadata: _Optional[_Union[Dict, _Mapping]] = ..., draws: bool = ..., session: _Optional[str] = ..., keep_seconds: _Optional[float] = ..., algorithm: _Optional[str] = ..., is_recurrent: bool = ..., agent_steps: _Optional[int] = ...) -> None: ...

class Resumed(_message.Message):
    __slots__ = ("last_id",)
    LAST_ID_FIELD_NUMBER: _ClassVar[int]
    last_id: int
    def __init__(self, last_id: _Optional[int] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("reward", "terminated", "truncated", "info", "final_rows")
    REWARD_FIELD_NUMBER: _ClassVar[int]
    TERMINATED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    FINAL_ROWS_FIELD_NUMBER: _ClassVar[int]
    reward: Array
    terminated: Array
    truncated: Array
    info: Dict
    final_rows: bytes
    def __init__(self, reward: _Optional[_Union[Array, _Mapping]] = ..., terminated: _Optional[_Union[Array, _Mapping]] = ..., truncated: _Optional[_Union[Array, _Mapping]] = ..., info: _Optional[_Union[Dict, _Mapping]] = ..., final_rows: _Optional[bytes] = ...) -> None: ...

class States(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, states: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Pictures(_message.Message):
    __slots__ = ("pictures",)
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    pictures: _containers.RepeatedCompositeFieldContainer[Array]
    def __init__(self, pictures: _Optional[_Iterable[_Union[Array, _Mapping]]] = ...) -> None: ...

class Restarted(_message.Message):
    __slots__ = ("env_ids",)
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, env_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class Acts(_message.Message):
    __slots__ = ("actions", "said")
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    SAID_FIELD_NUMBER: _ClassVar[int]
    actions: Array
    said: Dict
    def __init__(self, actions: _Optional[_Union[Array, _Mapping]] = ..., said: _Optional[_Union[Dict, _Mapping]] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Failure(_message.Message):
    __slots__ = ("kind", "message", "env_ids", "reason", "doing", "traceback")
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ENV_IDS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DOING_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    kind: str
    message: str
    env_ids: _containers.RepeatedScalarFieldContainer[int]
    reason: str
    doing: str
    traceback: str
    def __init__(self, kind: _Optional[str] = ..., message: _Optional[str] = ..., env_ids: _Optional[_Iterable[int]] = ..., reason: _Optional[str] = ..., doing: _Optional[str] = ..., traceback: _Optional[str] = ...) -> None: ...

class Array(_message.Message):
    __slots__ = ("dtype", "shape", "data")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    def __init__(self, dtype: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ...) -> None: ...

class Dict(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: Value
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...

class List(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, values: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("array", "dict", "list", "objects", "text", "blob", "integer", "number", "flag", "nothing")
    ARRAY_FIELD_NUMBER: _ClassVar[int]
    DICT_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    NOTHING_FIELD_NUMBER: _ClassVar[int]
    array: Array
    dict: Dict
    list: List
    objects: List
    text: str
    blob: bytes
    integer: int
    number: float
    flag: bool
    nothing: Nothing
    def __init__(self, array: _Optional[_Union[Array, _Mapping]] = ..., dict: _Optional[_Union[Dict, _Mapping]] = ..., list: _Optional[_Union[List, _Mapping]] = ..., objects: _Optional[_Union[List, _Mapping]] = ..., text: _Optional[str] = ..., blob: _Optional[bytes] = ..., integer: _Optional[int] = ..., number: _Optional[float] = ..., flag: bool = ..., nothing: _Optional[_Union[Nothing, _Mapping]] = ...) -> None: ...

class Nothing(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Space(_message.Message):
    __slots__ = ("discrete", "box", "multi_discrete", "multi_binary")
    DISCRETE_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    MULTI_DISCRETE_FIELD_NUMBER: _ClassVar[int]
    MULTI_BINARY_FIELD_NUMBER: _ClassVar[int]
    discrete: Discrete
    box: Box
    multi_discrete: Array
    multi_binary: MultiBinary
    def __init__(self, discrete: _Optional[_Union[Discrete, _Mapping]] = ..., box: _Optional[_Union[Box, _Mapping]] = ..., multi_discrete: _Optional[_Union[Array, _Mapping]] = ..., multi_binary: _Optional[_Union[MultiBinary, _Mapping]] = ...) -> None: ...

class Discrete(_message.Message):
    __slots__ = ("n", "start", "dtype")
    N_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    n: int
    start: int
    dtype: str
    def __init__(self, n: _Optional[int] = ..., start: _Optional[int] = ..., dtype: _Optional[str] = ...) -> None: ...

class Box(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: Array
    high: Array
    def __init__(self, low: _Optional[_Union[Array, _Mapping]] = ..., high: _Optional[_Union[Array, _Mapping]] = ...) -> None: ...

class MultiBinary(_message.Message):
    __slots__ = ("shape",)
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, shape: _Optional[_Iterable[int]] = ...) -> None: ...
