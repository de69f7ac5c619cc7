"""Chromium without a window, driven by its own protocol (CDP) through a pipe: without a port."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def installed() -> str | None:
    """Return the browser's program, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page; what goes wrong in the page is in `problems`."""

    def __init__(self, profile: Path) -> None:
        program = installed()
        assert program is not None
        to_browser, self.commands = os.pipe()
        self.events, from_browser = os.pipe()
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ]
        # The browser reads its file descriptor 3 and writes 4.
        pipes = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        command = ["bash", "-c", pipes, "bash", program, *flags, f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(
            [*command, "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.unread = b""
        self.number = 0
        self.problems: list[str] = []
        self.loaded = False
        target = self.call("Target.createTarget", url="about:blank", session=None)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True, session=None)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.requested: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.events)

    def call(self, method: str, *, session: str | None = "", **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer to a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.next_message()).get("id") != self.number:
            self.take(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def next_message(self) -> dict[str, Any]:
        while b"\0" not in self.unread:
            part = os.read(self.events, 1 << 20)
            assert part, "the browser ended"
            self.unread += part
        message, _, self.unread = self.unread.partition(b"\0")
        return json.loads(message)

    def take(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(str(about["exceptionDetails"]))
            case "Log.entryAdded" if about["entry"]["level"] == "error":
                self.problems.append(about["entry"]["text"])
            case "Runtime.consoleAPICalled" if about["type"] in ("error", "warning"):
                self.problems.append(str(about["args"]))
            case "Network.requestWillBeSent":
                self.requested.append(about["request"]["url"].partition(",")[0])
            case "Page.loadEventFired":
                self.loaded = True

    def open(self, page: Path) -> None:
        """Open a page of this machine and wait until it is loaded."""
        self.loaded = False
        self.call("Page.navigate", url=page.as_uri())
        while not self.loaded:
            self.take(self.next_message())

    def look(self, width: int, *, dark: bool, height: int = 900) -> None:
        """Give the page a width in pixels, and a light or dark scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """Return what an expression of JavaScript comes to in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
