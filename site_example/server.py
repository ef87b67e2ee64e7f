"""An engine's child process: generates over HTTP with the paths and names of sglang, its weights in bfloat16.

One thread owns the model. It takes all requests that wait as one batch; new weights are put in place between two batches, so a
sample of several turns may be written by two versions of the policy.
"""

from __future__ import annotations

import argparse
import io
import json
import queue
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

from site_example.generate import Generation, generate
from site_example.model import Policy

MOST_IN_BATCH = 24
ANSWER_S = 120.0


@dataclass
class Request:
    """One call that waits for the model's thread; `weights` are new weights, else it is a prompt."""

    prompt: list[int] = field(default_factory=list)
    most: int = 1
    temperature: float = 0.0
    weights: bytes = b""
    version: str = ""
    since: float = field(default_factory=time.monotonic)
    answer: Future[Any] = field(default_factory=Future)


class Engine:
    """The model, its queue and its counters."""

    def __init__(self, seed: int) -> None:
        self.model = Policy().to(torch.bfloat16)
        self.version = ""
        self.waiting: queue.Queue[Request] = queue.Queue()
        self.source = torch.Generator().manual_seed(seed)
        self.counters: dict[str, float] = dict.fromkeys(
            (
                "prompt_tokens_total",
                "generation_tokens_total",
                "num_requests_total",
                "e2e_request_latency_seconds_sum",
                "e2e_request_latency_seconds_count",
                "num_running_reqs",
                "gen_throughput",
            ),
            0.0,
        )

    def run(self) -> None:
        """Serves for ever; the thread that calls it owns the model."""
        while True:
            batch = [self.waiting.get()]
            while not self.waiting.empty() and len(batch) < MOST_IN_BATCH:
                batch.append(self.waiting.get())
            for request in batch:
                if request.weights:
                    self._load(request)
            prompts = [request for request in batch if not request.weights]
            for temperature in sorted({request.temperature for request in prompts}):
                self._answer([one for one in prompts if one.temperature == temperature])

    def _load(self, request: Request) -> None:
        state = torch.load(io.BytesIO(request.weights), weights_only=True)
        self.model.load_state_dict(state)
        self.version = request.version
        request.answer.set_result({"success": True, "weight_version": self.version})

    def _answer(self, batch: list[Request]) -> None:
        begun = time.monotonic()
        self.counters["num_running_reqs"] = len(batch)
        done = generate(
            self.model,
            [request.prompt for request in batch],
            most=max(request.most for request in batch),
            temperature=batch[0].temperature,
            source=self.source,
        )
        now = time.monotonic()
        n_tokens = sum(len(one.tokens) for one in done)
        self.counters["gen_throughput"] = n_tokens / (now - begun)
        self.counters["num_running_reqs"] = 0
        self.counters["generation_tokens_total"] += n_tokens
        for request, one in zip(batch, done, strict=True):
            self.counters["prompt_tokens_total"] += len(request.prompt)
            self.counters["num_requests_total"] += 1
            self.counters["e2e_request_latency_seconds_sum"] += now - request.since
            self.counters["e2e_request_latency_seconds_count"] += 1
            request.answer.set_result(self._reply(request, one))

    def _reply(self, request: Request, one: Generation) -> dict[str, Any]:
        pairs = zip(one.log_probs, one.tokens, strict=True)
        meta = {
            "finish_reason": {"type": one.finish},
            "output_token_logprobs": [[log_prob, token, None] for log_prob, token in pairs],
            "prompt_tokens": len(request.prompt),
            "completion_tokens": len(one.tokens),
            "weight_version": self.version,
        }
        return {"output_ids": one.tokens, "meta_info": meta}

    def metrics(self) -> str:
        """Counters and gauges as Prometheus text."""
        values = {**self.counters, "num_queue_reqs": float(self.waiting.qsize())}
        return "".join(
            f"# TYPE sglang:{name} {'counter' if name.endswith('_total') else 'gauge'}\n"
            f'sglang:{name}{{engine_type="unified"}} {value}\n'
            for name, value in values.items()
        )


class Server(ThreadingHTTPServer):
    """Takes as many connections at once as there are agents."""

    request_queue_size = 128


def handler(engine: Engine) -> type[BaseHTTPRequestHandler]:
    """The HTTP side of an engine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._send(engine.metrics().encode(), "text/plain; version=0.0.4")
            elif self.path == "/health_generate":
                self._ask(Request(prompt=[1]))
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/generate":
                asked = json.loads(body)
                params = asked["sampling_params"]
                most, temperature = params["max_new_tokens"], params["temperature"]
                self._ask(Request(asked["input_ids"], most, temperature))
            elif self.path == "/update_weights":
                self._ask(Request(weights=body, version=self.headers["X-Weight-Version"]))
            else:
                self.send_error(404)

        def _ask(self, request: Request) -> None:
            engine.waiting.put(request)
            self._send(json.dumps(request.answer.result(ANSWER_S)).encode(), "application/json")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged of a request."""

    return Handler


def main() -> None:
    """Serves on 127.0.0.1 until standard input is closed: a child never outlives its parent."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    engine = Engine(options.seed)
    threading.Thread(target=engine.run, daemon=True).start()
    server = Server(("127.0.0.1", options.port), handler(engine))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
