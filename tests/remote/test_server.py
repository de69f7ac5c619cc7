"""Who is let in: tokens, addresses, certificates, numbers and sizes, versions."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest
from serving import TOKEN, make_certificate
from waiting import wait_until

from atari_wrappers import Settings, UnsupportedError
from atari_wrappers.remote import BatchServer, RemoteVecEnv, ServerError, command
from atari_wrappers.remote.addresses import BATCHES
from atari_wrappers.remote.asked import asked_batch
from atari_wrappers.remote.batches_pb2 import Hello, Reply, Request
from atari_wrappers.remote.clients import Client, Clients
from atari_wrappers.remote.values import to_dict
from atari_wrappers.request import request_batch

Serve = Callable[..., BatchServer]
Connect = Callable[..., RemoteVecEnv]


@pytest.mark.parametrize("token", ["another", None])
def test_a_token_is_asked_for(
    token: str | None, serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    with pytest.raises(ServerError, match=r"the token is missing or another$"):
        connect(server, token=token)
    monkeypatch.setenv("ATARI_WRAPPERS_TOKEN", TOKEN)
    assert connect(server, token=None).num_envs == 2


def test_too_many_clients_are_told_so(serve: Serve, connect: Connect) -> None:
    server = serve(limits={"max_clients": 2})
    vecs = [connect(server) for _ in range(2)]
    for _ in range(8):
        with pytest.raises(ServerError, match="2 clients are connected, as many as it serves"):
            connect(server)
    vecs[0].close()
    vecs[1].reset()
    wait_until(lambda: server.num_clients == 1, seconds=60)
    assert connect(server).reset()[0].shape[0] == 2


def test_no_server_is_told_in_a_line(connect: Connect) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ServerError, match=f"^no server at {address}: .*refused") as error:
            connect(address)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("address", ["127.0.0.1", ":80", "host:99999", "::1:80", "unix:", "a/b:1"])
def test_what_is_no_address_is_refused(address: str, serve: Serve, connect: Connect) -> None:
    for use in (lambda: serve(address=address), lambda: connect(address)):
        with pytest.raises(ValueError, match=r"is no address|path of a Unix socket"):
            use()


def test_a_short_path_in_a_deep_folder_is_too_long(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    (deep := tmp_path / ("deep" * 30)).mkdir()
    monkeypatch.chdir(deep)
    with pytest.raises(ValueError, match="the whole path of a Unix socket has 1 to 107 bytes"):
        serve(address="unix:socket")


def test_other_machines_need_tls(serve: Serve, connect: Connect) -> None:
    with pytest.raises(UnsupportedError, match=r"0\.0\.0\.0:0: other machines could connect.*TLS"):
        serve(address="0.0.0.0:0")
    with pytest.raises(UnsupportedError, match=r"192\.0\.2\.1:80 may be another machine: give ca_"):
        connect("192.0.2.1:80")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")
def test_tls(tmp_path: Path, serve: Serve, connect: Connect) -> None:
    cert, key = make_certificate(tmp_path)
    server = serve(address="localhost:0", limits={"certificate": (cert, key)})
    assert connect(server, ca_file=cert).reset()[0].shape == (2, 4, 84, 84)
    for wrong in ({"tls": True}, {}):  # a certificate that nobody trusts, and no TLS at all
        with pytest.raises(ServerError, match=r"^no server at localhost:\d+: [^\n]+$"):
            connect(server, **wrong)
    with pytest.raises(OSError, match="or the certificate or its key is none"):
        serve(address="localhost:0", limits={"certificate": (key, cert)})


def test_a_unix_socket_is_this_users(tmp_path: Path, serve: Serve, connect: Connect) -> None:
    path = tmp_path / "socket"
    server = serve(address=f"unix:{path}")
    assert path.stat().st_mode & 0o777 == 0o600
    assert connect(server).reset()[0].shape == (2, 4, 84, 84)
    with pytest.raises(OSError, match="another server does"):
        serve(address=f"unix:{path}")
    server.stop()
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="no socket"):
        serve(address=f"unix:{path}")
    assert path.read_text() == "mine"


def test_a_port_that_is_taken_is_refused(serve: Serve) -> None:
    with pytest.raises(OSError, match=r"cannot listen on 127\.0\.0\.1:.* it is taken"):
        serve(address=serve().address)


def test_videos_of_some_envs_keep_nobody_away(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    server = serve(num_envs=2, video_dir=tmp_path, video_envs=[1])
    vec = connect(server, 1, autoreset="next-step")
    assert vec.reset(seed=0)[0].shape == (1, 4, 84, 84)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("settings", [{}, {"autoreset": "next-step"}])
def test_envs_of_which_none_is_recorded_have_no_settings_of_videos(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    videos = Settings(video_dir=tmp_path, video_envs=[1], record_every=5, record_unfinished=False)
    asked = asked_batch(request_batch("PongNoFrameskip-v4", 2, videos), 1, settings)
    assert asked.settings == asked.of(0).settings == Settings(**settings)


def test_a_close_that_fails_is_told_and_leaves_no_client(caplog: pytest.LogCaptureFixture) -> None:
    class Fails(Client):
        has, is_over = "", False

        def close(self) -> None:
            raise ArithmeticError("the script says so")

    clients = Clients(1, 0.0)
    client = Fails()
    assert clients.admit(client, None)
    clients.release(client)
    assert len(clients) == 0
    assert "the script says so" in caplog.text
    clients.refuse()


def test_a_log_that_is_gone_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(line: str) -> None:
        raise BrokenPipeError(line)

    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=write))
    command._say("nobody reads it")


@pytest.mark.parametrize("reconnect", [0, 60])
def test_large_requests_are_refused(reconnect: int, serve: Serve, connect: Connect) -> None:
    """Also where a lost connection is made anew: a request would be too large again."""
    vec = connect(serve(limits={"max_request_bytes": 1 << 14}), reconnect=reconnect)
    vec.reset()
    with pytest.raises(ServerError, match="larger than max"):
        vec.restore_state([bytes(1 << 15)] * 2)
    with pytest.raises(ServerError, match="larger than max"):
        vec.step([0, 0])
    assert vec.closed


def test_many_envs_may_send_their_states(serve: Serve) -> None:
    usual = [serve("CartPole-v1", count)._usual_request for count in (2, 200)]
    assert usual == [64 << 20, 200 << 19]


@pytest.mark.parametrize("name", ["frame_stack", "frame_skip", "noop_max"])
def test_what_costs_a_server_much_is_refused(name: str, serve: Serve, connect: Connect) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at most .* on a server, not 100000"):
        connect(serve(), **{name: 100_000})


def test_what_costs_a_server_much_is_refused_in_other_forms(serve: Serve) -> None:
    """Such as a number of NumPy's, or by two settings together."""
    address = serve().address
    for settings, words in (
        ({"frame_stack": np.int64(1000)}, "frame_stack must be at most 256"),
        (
            {"screen_size": np.array([4096, 4096]), "frame_stack": 2},
            "observations of 33554432 bytes",
        ),
    ):
        hello = Hello(settings=to_dict(settings), oldest_version=1, newest_version=1)
        reply = first_reply(address, Request(id=1, hello=hello))
        assert words in reply.failure.message


def test_no_request_is_larger_than_grpc_takes(serve: Serve) -> None:
    assert serve("CartPole-v1", 4096)._usual_request == (1 << 31) - 1
    with pytest.raises(ValueError, match="max_request_bytes must be at most 2147483647"):
        serve(limits={"max_request_bytes": 1 << 31})


def test_the_path_of_a_socket_is_what_it_says(
    tmp_path: Path, serve: Serve, connect: Connect
) -> None:
    path = tmp_path / "c%41d"
    server = serve(address=f"unix:{path}")
    assert path.is_socket()
    assert connect(server).reset()[0].shape[0] == 2
    with pytest.raises(OSError, match="another server does"):
        serve(address=f"unix:{path}")


def test_a_token_file_without_a_token_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "token"
    empty.write_text(" \n")
    with pytest.raises(ValueError, match="token holds no token"):
        command._token(empty)


@pytest.mark.parametrize("limits", [{}, {"http": "unix:/no/folder/b"}])
def test_a_socket_in_no_folder_is_told(limits: dict[str, str], serve: Serve) -> None:
    address = "127.0.0.1:0" if limits else "unix:/no/folder/a"
    with pytest.raises(FileNotFoundError, match="there is no folder /no/folder"):
        serve(address=address, limits=limits)


def first_reply(address: str, *requests: Request) -> Reply:
    """Return the reply to the last of the requests."""
    with grpc.insecure_channel(address) as channel:
        call = channel.stream_stream(BATCHES.method)
        metadata = [("authorization", f"Bearer {TOKEN}")]
        replies = call(iter([each.SerializeToString() for each in requests]), metadata=metadata)
        return [Reply.FromString(reply) for reply in replies][-1]


def test_versions_are_agreed_on(serve: Serve) -> None:
    address = serve().address
    newer = Hello(oldest_version=1, newest_version=99)
    assert first_reply(address, Request(id=1, hello=newer)).welcome.version == 1
    too_new = Hello(oldest_version=98, newest_version=99)
    failure = first_reply(address, Request(id=1, hello=too_new)).failure
    assert failure.kind == "UnsupportedError"
    assert failure.message.endswith("versions 1 to 1 of the protocol, the client 98 to 99")


def test_without_grpc_there_is_one_line() -> None:
    code = "import sys; sys.modules['grpc'] = None; import runpy; sys.argv[1:] = ['serve', 'x'];"
    code += "runpy.run_module('atari_wrappers', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert 'pip install "atari-wrappers[remote]"' in line
