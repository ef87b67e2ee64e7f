"""An engine as a Ray actor: it starts a child process that generates, and speaks for it."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

START_S = 120.0


class EngineActor:
    """One part of an engine, with the methods that a fault-tolerant group of engines calls."""

    def __init__(self, engine_rank: int) -> None:
        self._rank = engine_rank
        self._child: subprocess.Popen[bytes] | None = None
        self.addr = ""

    def node_address(self) -> str:
        """Where it runs; everything is on one machine."""
        return "127.0.0.1"

    def find_ports(self, start: int, n: int) -> int:
        """The first of n free ports in a row at or above start."""
        first = start
        while not all(_is_free(first + k) for k in range(n)):
            first += 1
        return first

    def init(self, host: str, port: int, nccl_port: int, dist_init_addr: str) -> str:  # noqa: ARG002 - for engines that need them
        """Starts the child and waits until it answers; returns its address.

        Args:
            host: where it serves.
            port: at which it serves.
            nccl_port: not needed by an engine on one processor.
            dist_init_addr: the same.

        Raises:
            TimeoutError: it did not answer.
        """
        command = [sys.executable, "-m", "site_example.server"]
        options = ["--port", str(port), "--seed", str(port)]
        self._child = subprocess.Popen([*command, *options], stdin=subprocess.PIPE)  # noqa: S603 - our own module
        self.addr = f"http://{host}:{port}"
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._child.poll() is None:
            try:
                self.health_generate(5.0)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            else:
                return self.addr
        raise TimeoutError(f"engine {self._rank} did not start")

    def health_generate(self, timeout: float) -> None:
        """Has the child generate one token.

        Raises:
            OSError: it did not, in time.
        """
        with urllib.request.urlopen(f"{self.addr}/health_generate", timeout=timeout) as answer:
            answer.read()

    def update_weights(self, weights: bytes, version: str) -> None:
        """Puts new weights in place between two batches.

        Raises:
            OSError: the child did not answer.
        """
        request = urllib.request.Request(
            f"{self.addr}/update_weights", weights, {"X-Weight-Version": version}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()

    def send_signal(self, name: str) -> None:
        """The faults of the example: SIGSTOP hangs the child, SIGKILL ends it."""
        if self._child is not None:
            self._child.send_signal(signal.Signals[name])

    def shutdown(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def post(addr: str, body: bytes, timeout_s: float) -> Any:
    """An engine's answer to /generate, as bytes.

    Raises:
        OSError: there was none.
        http.client.HTTPException: it broke off.
    """
    request = urllib.request.Request(f"{addr}/generate", body)
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        return answer.read()
