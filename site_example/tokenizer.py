"""The run's own tokenizer: words and marks are tokens of their own, numbers are read digit by digit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

if TYPE_CHECKING:
    from pathlib import Path

PAD, USER, ASSISTANT, TOOL, END = "<|pad|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"
SPECIAL = (PAD, USER, ASSISTANT, TOOL, END)
TOKENS = (*SPECIAL, *"0123456789+-*., ", "Take", "plus", "minus", "times", "calc", "answer")
PAD_ID, END_ID = TOKENS.index(PAD), TOKENS.index(END)


def make_tokenizer() -> Tokenizer:
    """The tokenizer; what it decodes is what it has encoded."""
    vocabulary = {token: index for index, token in enumerate(TOKENS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD))
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[A-Za-z]+|."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def prompt_text(question: str) -> str:
    """A question as the model sees it."""
    return f"{USER}{question}{END}{ASSISTANT}"


def tool_text(result: str) -> str:
    """What follows a call: the tool's message, and the beginning of the next turn."""
    return f"{TOOL}{result}{END}{ASSISTANT}"


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes it as `save_pretrained` does."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "backend": "tokenizers",
        "eos_token": END,
        "pad_token": PAD,
        "tokenizer_class": "TokenizersBackend",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
