"""`python -m atari_wrappers serve`: its arguments, what it prints, and its end."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from atari_wrappers.backends import choose_backend
from atari_wrappers.recording.recorder import prepare_folders
from atari_wrappers.remote.addresses import TOKEN_VARIABLE, given_token
from atari_wrappers.remote.served import ServedVecEnv
from atari_wrappers.remote.server import BatchServer, Server
from atari_wrappers.remote.values import to_space
from atari_wrappers.request import BatchRequest, request_batch
from atari_wrappers.settings import merged


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what `serve` takes."""
    add = parser.add_argument
    add("env_id", nargs="+", help="an id of gymnasium's; or one for each env")
    add("--num-envs", type=int, help="most envs of a client (default: as many as ids)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="a setting of make_vec, such as preset=cleanrl or episodic_life=false",
    )
    add_server_arguments(parser)


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what commands take that serve something: where, whom, how long."""
    add = parser.add_argument
    add(
        "--listen",
        default="127.0.0.1:50051",
        metavar="ADDRESS",
        help="HOST:PORT, [IPV6]:PORT or unix:PATH (%(default)s); port 0 is any that is free",
    )
    add(
        "--http",
        metavar="ADDRESS",
        help="where to serve by HTTP and JSON, too: OpenEnv's protocol, or POST /act of a policy",
    )
    add(
        "--token-file",
        type=Path,
        help=f"a file with the token of clients; else that of ${TOKEN_VARIABLE}, else a new one",
    )
    add("--tls-cert", type=Path, help="PEM file of certificates, for other machines")
    add("--tls-key", type=Path, help="PEM file of the certificate's key")
    add("--max-clients", type=int, default=16, help="most clients at a time (%(default)s)")
    add(
        "--idle-timeout",
        type=float,
        default=3600.0,
        help="seconds after which a silent client is sent away, 0 for never (%(default)s)",
    )
    add(
        "--keep-lost",
        type=float,
        default=120.0,
        help="seconds for which what a client has is kept, at most, when its connection is lost;"
        " what a client by HTTP has ends with it (%(default)s)",
    )
    add(
        "--max-request-bytes",
        type=int,
        help="larger requests are refused (64 MiB, or 512 KiB for each env if that is more)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve batches until a signal ends it, as in `run_server`.

    Raises:
        Exception: As `make_vec` and `BatchServer`, in a line.
    """
    request = _request(arguments)
    what = f"{request.num_envs} of {request.env_id.name} to each client"
    return run_server(partial(BatchServer, request), what, arguments)


def run_server(make: Callable[..., Server], what: str, arguments: argparse.Namespace) -> int:
    """Run a server until Ctrl-C, SIGTERM or, unless it is ignored, SIGHUP.

    Args:
        make: Makes it, of an address, a token and limits.
        what: It serves, in words.
        arguments: Those of `add_server_arguments`.
    """
    token, is_new = _token(arguments.token_file)
    certificate = arguments.tls_cert, arguments.tls_key
    if (certificate[0] is None) != (certificate[1] is None):
        raise ValueError("--tls-cert and --tls-key: give both or none")
    server = make(
        arguments.listen,
        token,
        certificate=None if None in certificate else certificate,
        max_clients=arguments.max_clients,
        idle_timeout=arguments.idle_timeout,
        keep_lost=arguments.keep_lost,
        max_request_bytes=arguments.max_request_bytes,
        http=arguments.http,
        log=_say,
    )
    with server:
        # The signal itself writes to the pipe: a handler in Python that does may come too late,
        # behind the beginning of the read that waits for it.
        wakes, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        heard = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            heard.append(signal.SIGHUP)
        for number in heard:
            signal.signal(number, lambda *_: None)
        _say(f"serving {what} on {server.address}")
        if server.http_address is not None:
            _say(f"and by HTTP on {server.http_address}")
            if quote(token, safe="") != token:
                _say(
                    "in an address its token is written with %XX for all but letters, digits, _.-~"
                )
        if is_new:
            _say(f"its token: export {TOKEN_VARIABLE}={token}")
        os.read(wakes, 1)
        for number in heard:  # a second signal ends it at once
            signal.signal(number, signal.SIG_DFL)
        _say("stopping")
    if server.num_clients:
        _say("an env that does not answer is left to itself")
        os._exit(1)  # the end of Python would wait for its thread
    return 0


def _request(arguments: argparse.Namespace) -> BatchRequest:
    """Return the batch of each client, once it was seen that it can be made."""
    settings = merged(None, {"obs_buffers": 2, **dict(map(_setting, arguments.set))})
    ids = arguments.env_id
    request = request_batch(ids[0] if len(ids) == 1 else ids, arguments.num_envs, settings)
    backend = choose_backend(request)
    prepare_folders(settings)
    with ServedVecEnv(request, backend) as batch:
        to_space(batch.single_observation_space)
        to_space(batch.single_action_space)
    return request


def _setting(text: str) -> tuple[str, Any]:
    """Return a setting's name and value: of JSON, else text as it is."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text}: write SETTING=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _token(path: Path | None) -> tuple[str, bool]:
    """Return the token, and whether it is a new one."""
    given = None if path is None else path.read_text().strip()
    if given == "":
        raise ValueError(f"--token-file: {path} holds no token")
    token = given_token(given)
    return (token, False) if token else (secrets.token_urlsafe(24), True)


def _say(line: str) -> None:
    # A full disk, or a terminal that is gone, is no matter of the clients'.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"atari_wrappers: {line}\n")
        sys.stderr.flush()
