"""Rollouts: every sample is an agent in a thread that asks an engine turn by turn and calls the calculator in between."""

from __future__ import annotations

import http.client
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from site_example import task
from site_example.engine import post
from site_example.tokenizer import END, make_tokenizer, prompt_text, tool_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from collector import TrajectorySink

MOST_TOKENS = 16
"""Of one turn."""

REQUEST_S = 20.0
MOST_ATTEMPTS = 4
TOOL_S = (0.15, 1.2)
"""What a call of the calculator takes, drawn evenly: it stands for a tool behind a network."""


@dataclass
class Sample:
    """One sample; its fields carry the names of a rollout dump."""

    index: int
    group_index: int | None
    problem: task.Problem
    prompt: str
    tokens: list[int]
    response: str = ""
    response_length: int = 0
    loss_mask: list[int] = field(default_factory=list)
    rollout_log_probs: list[float] = field(default_factory=list)
    weight_versions: list[str] = field(default_factory=list)
    status: str = "pending"
    reward: dict[str, float] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    non_generation_time: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the reward's components."""
        return sum(self.reward.values())

    def add(
        self, tokens: list[int], log_probs: list[float], text: str, *, is_written: bool
    ) -> None:
        """Appends what the model wrote, or what the tool did."""
        self.tokens += tokens
        self.rollout_log_probs += log_probs
        self.loss_mask += [int(is_written)] * len(tokens)
        self.response += text
        self.response_length += len(tokens)

    def restart(self, prompt_length: int) -> None:
        """Forgets an attempt that an engine did not survive."""
        del self.tokens[prompt_length:], self.messages[1:]
        self.response, self.response_length = "", 0
        self.loss_mask, self.rollout_log_probs, self.weight_versions = [], [], []


class Rollouts:
    """Runs samples against the engines there are."""

    def __init__(
        self, addresses: Callable[[], list[str]], sink: TrajectorySink | None, *, seed: int
    ) -> None:
        """Prepares.

        Args:
            addresses: of the engines that are alive now.
            sink: gets the lifecycle of samples.
            seed: of problems and of the tool's delays.
        """
        self._addresses, self._sink, self._seed = addresses, sink, seed
        self._source, self._next_group = random.Random(seed), 0
        self._tokenizer = make_tokenizer()
        self._pool = ThreadPoolExecutor(max_workers=32, thread_name_prefix="sample")

    def train_batch(self, n_groups: int, n_samples: int) -> list[Sample]:
        """n_groups problems, n_samples of each."""
        samples = []
        for _ in range(n_groups):
            problem, group = task.draw(self._source), self._next_group
            samples += [
                self._sample(group * n_samples + k, group, problem) for k in range(n_samples)
            ]
            self._next_group += 1
        return self.run(samples, temperature=1.0)

    def evaluation(self, n: int, *, most_steps: int) -> list[Sample]:
        """The same n problems at every evaluation, solved without chance."""
        source = random.Random(f"{self._seed} evaluation {most_steps}")
        problems = [task.draw(source, most_steps=most_steps) for _ in range(n)]
        samples = [self._sample(k, None, problem) for k, problem in enumerate(problems)]
        return self.run(samples, temperature=0.0)

    def run(self, samples: list[Sample], *, temperature: float) -> list[Sample]:
        """The samples, done."""
        sink = None if temperature == 0 else self._sink
        if sink is not None:
            sink.attempt_start(samples)
        return list(self._pool.map(lambda one: self._attempts(one, temperature, sink), samples))

    def close(self) -> None:
        """Waits for what runs."""
        self._pool.shutdown()

    def _sample(self, index: int, group: int | None, problem: task.Problem) -> Sample:
        prompt = prompt_text(problem.text)
        tokens = self._tokenizer.encode(prompt).ids
        asked = [{"role": "user", "content": problem.text}]
        return Sample(index, group, problem, prompt, tokens, messages=asked)

    def _attempts(self, sample: Sample, temperature: float, sink: TrajectorySink | None) -> Sample:
        n_prompt = len(sample.tokens)
        for attempt in range(MOST_ATTEMPTS):
            try:
                sample.status = self._turns(sample, temperature, sink, attempt)
                break
            except (OSError, http.client.HTTPException):
                sample.restart(n_prompt)
                sample.status = "aborted"
                sample.metadata["n_lost_attempts"] = attempt + 1
                if sink is not None:
                    sink.attempt_end(sample)
                    sink.attempt_start(sample)
                time.sleep(0.5)
        texts = [one["text"] for one in sample.metadata.pop("turns", [])]
        sample.reward = task.reward(sample.problem, texts)
        if sink is not None:
            sink.attempt_end(sample)
        return sample

    def _turns(
        self, sample: Sample, temperature: float, sink: TrajectorySink | None, attempt: int
    ) -> str:
        delays = random.Random(f"{self._seed} {sample.index} {attempt}")
        turns: list[dict[str, str]] = []
        sample.metadata["turns"] = turns
        if sink is not None:
            sink.gen_start(sample)
        for turn in range(1, task.MOST_TURNS + 1):
            t0 = time.time()
            answer = self._ask(sample, temperature, attempt)
            meta = answer["meta_info"]
            log_probs = [log_prob for log_prob, _, _ in meta["output_token_logprobs"]]
            raw = self._tokenizer.decode(answer["output_ids"], skip_special_tokens=False)
            sample.add(answer["output_ids"], log_probs, raw, is_written=True)
            sample.weight_versions.append(meta["weight_version"])
            if sink is not None:
                sink.gen_span(sample, t0, time.time(), turn=turn, detail=str(len(log_probs)))
            text = raw.removesuffix(END)
            turns.append({"text": text})
            result = task.calculate(text)
            if result is None or meta["finish_reason"]["type"] != "stop":
                sample.messages.append({"role": "assistant", "content": text})
                return "completed" if meta["finish_reason"]["type"] == "stop" else "truncated"
            self._tool(sample, text, result, delays, sink=sink, turn=turn)
        return "truncated"

    def _tool(
        self,
        sample: Sample,
        text: str,
        result: str,
        delays: random.Random,
        *,
        sink: TrajectorySink | None,
        turn: int,
    ) -> None:
        t0 = time.time()
        time.sleep(delays.uniform(*TOOL_S) if sink is not None else 0.0)
        read = tool_text(result)
        tokens = self._tokenizer.encode(read).ids
        sample.add(tokens, [0.0] * len(tokens), read, is_written=False)
        call_id, expression = f"call_{sample.index}_{turn}", text.removeprefix("calc ")
        arguments = json.dumps({"expression": expression})
        function = {"name": "calc", "arguments": arguments}
        call = {"type": "function", "id": call_id, "function": function}
        sample.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        sample.messages.append(
            {"role": "tool", "tool_call_id": call_id, "name": "calc", "content": result}
        )
        t1 = time.time()
        sample.non_generation_time += t1 - t0
        if sink is not None:
            sink.tool_span(sample, t0, t1, turn=turn, detail="1 calls")

    def _ask(self, sample: Sample, temperature: float, attempt: int) -> Any:
        addresses = self._addresses()
        if not addresses:
            raise ConnectionError("no engine is alive")
        addr = addresses[(sample.index + attempt) % len(addresses)]
        params = {"max_new_tokens": MOST_TOKENS, "temperature": temperature}
        body = {"input_ids": sample.tokens, "sampling_params": params, "return_logprob": True}
        return json.loads(post(addr, json.dumps(body).encode(), REQUEST_S))
