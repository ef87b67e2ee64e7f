"""Stand-in rollout engines for fault tolerance: actors that own a child process serving on loopback, and ways to make them ill.

The child dies with its actor, whatever killed that (PR_SET_PDEATHSIG), also when it is stopped by SIGSTOP.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PR_SET_PDEATHSIG = 1
STARTS_WITHIN_S = 20.0


def serve(port: int, compile_s: float, late_s: float) -> None:
    """One engine's server: 503 while it compiles, answers that are late if asked to be."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    ready_at = time.monotonic() + compile_s
    calls: list[str] = []
    info = {"model_path": "m", "served_model_name": "m", "tp_size": 1, "dp_size": 1}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            calls.append(self.path)
            if self.path == "/metrics":
                body = f"# TYPE sglang:num_requests_total counter\nsglang:num_requests_total {len(calls)}\n"
                self.answer(200, body.encode(), "text/plain")
            elif self.path == "/calls":
                self.answer(200, json.dumps(calls).encode())
            elif self.path == "/health_generate":
                time.sleep(late_s)
                self.answer(503 if time.monotonic() < ready_at else 200, b"{}")
            elif self.path == "/generate":
                self.answer(200, json.dumps({"text": "ok", "port": port}).encode())
            else:
                self.answer(200, json.dumps(info).encode())

        def do_POST(self):
            self.do_GET()

        def log_message(self, *args):
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


class SickEngine:
    """The actor: what a backend calls, and how to make it ill."""

    def __init__(self, compile_s: float = 0.0, late_s: float = 0.0) -> None:
        self.server = None
        self.port = 0
        self.weights = None
        self.settings = (compile_s, late_s)

    def node_address(self) -> str:
        return "127.0.0.1"

    def find_ports(self, start: int, n: int) -> int:
        while not all(is_free(port) for port in range(start, start + n)):
            start += 1
        return start

    def init(self, host: str, port: int, nccl_port: int, dist_init_addr: str) -> str:
        self.port = port
        words = map(str, (port, *self.settings))
        self.server = subprocess.Popen([sys.executable, str(Path(__file__)), *words])
        deadline = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < deadline:
            try:
                self._call("/health", 1.0)
            except OSError:
                time.sleep(0.02)
            else:
                return f"http://127.0.0.1:{port}"
        raise TimeoutError("the server did not come")

    def health_generate(self, timeout: float) -> bool:
        self._call("/health_generate", timeout)
        return True

    def release_memory_occupation(self) -> None:
        self._call("/release_memory_occupation", 5.0, {})

    def resume_memory_occupation(self, tags=None) -> None:
        self._call("/resume_memory_occupation", 5.0, {"tags": tags})

    def update_weights(self, weights) -> int:
        self.weights = weights
        return self.port

    def told(self):
        return self.weights, self.server.pid, os.getpid(), json.loads(self._call("/calls", 5.0))

    def shutdown(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()

    def send_signal(self, name: str) -> None:
        """SIGSTOP: the server hangs. SIGKILL: it is gone."""
        self.server.send_signal(getattr(signal, name))

    def never_return(self) -> None:
        """The actor itself hangs, and every call behind this one."""
        threading.Event().wait()

    def _call(self, path: str, timeout_s: float, body=None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, data=data, timeout=timeout_s) as answer:
            return answer.read()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def listens(port: int) -> bool:
    """Whether somebody serves there; a port that was used lately is not free, but nobody is left on it."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    serve(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
