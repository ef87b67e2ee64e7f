"""Stand-ins for inference engines and routers: real processes that serve metrics, and servers that misbehave."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STARTS_WITHIN_S = 60.0


def engine_registry(kind: str):
    """The metrics of one engine: plain, prefill, decode (PD disaggregation) or dp2 (two data-parallel ranks)."""
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

    registry = CollectorRegistry()
    labels = ["model_name", "engine_type", "tp_rank", "dp_rank"]
    engine_type = kind if kind in ("prefill", "decode") else "unified"
    ranks = ("0", "1") if kind == "dp2" else ("",)
    gauges = {
        "sglang:num_running_reqs": 16.0,
        "sglang:token_usage": 0.25,
        "sglang:spec_accept_length": 3.0,
    }
    if kind == "prefill":
        gauges["sglang:num_prefill_inflight_queue_reqs"] = 4.0
    if kind == "decode":
        gauges["sglang:kv_transfer_speed_gb_s"] = 12.5
        gauges["sglang:cache_hit_rate"] = float("nan")
    for name, value in gauges.items():
        gauge = Gauge(name, name, labels, registry=registry)
        for place, rank in enumerate(ranks):
            gauge.labels("m", engine_type, "0", rank).set(value + place * value)
    tokens = Counter("sglang:generation_tokens", "tokens", labels, registry=registry)
    latency = Histogram("sglang:e2e_request_latency_seconds", "s", labels, registry=registry)
    for rank in ranks:
        tokens.labels("m", engine_type, "0", rank).inc(1000)
        latency.labels("m", engine_type, "0", rank).observe(2.5)
    return registry


def serve_engine(kind: str, port: int) -> None:
    """Serves until it is killed, what a router asks of a worker included."""
    from prometheus_client import generate_latest

    registry = engine_registry(kind)
    info = json.dumps({"model_path": "m", "served_model_name": "m", "tp_size": 1, "dp_size": 1})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_metrics = self.path == "/metrics"
            body = generate_latest(registry) if is_metrics else info.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain" if is_metrics else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(is_true, what: str, within_s: float = STARTS_WITHIN_S):
    """Polls another process; fails with its name."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            answer = is_true()
            if answer:
                return answer
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within {within_s} s")


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read()


@contextlib.contextmanager
def process(*command: str):
    """A process that is ended with the block."""
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextlib.contextmanager
def engine(kind: str = "plain"):
    """An engine in a process of its own; gives its address."""
    port = free_port()
    with process(sys.executable, str(Path(__file__)), kind, str(port)):
        addr = f"http://127.0.0.1:{port}"
        wait_until(lambda: get(f"{addr}/health"), "the engine")
        yield addr


@contextlib.contextmanager
def router(*workers: str):
    """The real sglang router before engines; gives its address."""
    port = free_port()
    with process(
        sys.executable,
        "-m",
        "sglang_router.launch_router",
        "--host=127.0.0.1",
        f"--port={port}",
        f"--prometheus-port={free_port()}",
        "--worker-urls",
        *workers,
    ):
        addr = f"http://127.0.0.1:{port}"
        wait_until(
            lambda: all(worker.encode() in get(f"{addr}/engine_metrics") for worker in workers),
            "the router",
        )
        yield addr


@contextlib.contextmanager
def raw_server(answer):
    """A server that writes what `answer(connection)` writes, whatever is asked; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    is_over = threading.Event()

    def serve():
        while not is_over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                answer(connection, is_over)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        is_over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def says(status: int, body: bytes, *headers: str):
    """An answer with these parts."""
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status} X", *headers))
    return lambda connection, _: connection.sendall(head.encode() + b"\r\n" + body)


def hangs(_, is_over):
    """Says nothing."""
    is_over.wait(30)


def drips(connection, is_over):
    """Sends a byte now and then, for ever."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not is_over.wait(0.02):
        connection.sendall(b"#")


if __name__ == "__main__":
    serve_engine(sys.argv[1], int(sys.argv[2]))
