"""Recorded messages as blocks to show; the browser does the same (`js/sample/messages.js`).

Nothing is interpreted as markup and nothing is left out: what a reader of this format would not
expect is shown as JSON. Both sides are held to tests/js/conversation_cases.json.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

BlockKind = Literal["text", "thinking", "call", "image", "other"]

_SHOWN_KEYS = frozenset(
    {"role", "name", "content", "reasoning_content", "tool_calls", "tool_call_id"}
)
_THINKING = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]+", re.IGNORECASE)
_SIGNATURE = re.compile(r"[^,]+,(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|Qk)")
"""How files of these kinds begin, in base64."""


@dataclass(frozen=True)
class Block:
    """A part of a message.

    Attributes:
        kind: text, thinking, call (of a tool), image, or other (shown as JSON).
        text: what to show; for an image its data: URI, "" when it was not recorded.
        name: tool, key of the message, or why an image is absent; "" without one.
        id: of a tool call; "" without one.
        argument: whose text is shown, where a call has only that one; "" otherwise.
    """

    kind: BlockKind
    text: str
    name: str = ""
    id: str = ""
    argument: str = ""


@dataclass(frozen=True)
class Entry:
    """One message.

    Attributes:
        role: as recorded; "" when there is none.
        name: of the tool or the speaker; "" without one.
        call_id: the call that a tool result answers; "" without one.
        blocks: in the order to show.
    """

    role: str
    name: str
    call_id: str
    blocks: tuple[Block, ...]


def entries(messages: Any) -> list[Entry]:
    """The messages to show, in their order.

    Args:
        messages: a list of messages, or whatever was recorded in its place; None for none.
    """
    if messages is None:
        return []
    return [_entry(message) for message in (messages if isinstance(messages, list) else [messages])]


def _entry(message: Any) -> Entry:
    if not isinstance(message, dict):
        text = message if isinstance(message, str) else _pretty(message)
        return Entry("", "", "", (Block("text", text),))
    recorded = message.get("role", "")
    role = recorded if isinstance(recorded, str) else _pretty(recorded)
    return Entry(
        role,
        _text_or_empty(message.get("name")),
        _text_or_empty(message.get("tool_call_id")),
        (
            *_reasoning(message.get("reasoning_content")),
            *_contents(message.get("content"), split=role == "assistant"),
            *_calls(message.get("tool_calls")),
            *_others(message),
        ),
    )


def _reasoning(value: Any) -> list[Block]:
    if value is None or value == "":
        return []
    return [Block("thinking", value if isinstance(value, str) else _pretty(value))]


def _contents(content: Any, *, split: bool) -> list[Block]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return _thinking_in(content) if split else [Block("text", content)]
    if not isinstance(content, list):
        return [Block("other", _pretty(content), "content")]
    return [block for part in content for block in _part(part, split=split)]


def _part(part: Any, *, split: bool) -> list[Block]:
    if isinstance(part, str):
        return _contents(part, split=split)
    if not isinstance(part, dict):
        return [Block("other", _pretty(part), "part")]
    kind = part.get("type")
    if isinstance(part.get("text"), str) and kind in {"text", None}:
        return _contents(part["text"], split=split)
    if isinstance(kind, str) and kind.startswith("image"):
        return [_image(_image_source(part))]
    return [Block("other", _pretty(part), kind if isinstance(kind, str) else "part")]


def _image(source: Any) -> Block:
    if not isinstance(source, str) or not _IMAGE.fullmatch(source):
        return Block("image", "", "not recorded")
    return (
        Block("image", source) if _SIGNATURE.match(source) else Block("image", "", "not readable")
    )


def _image_source(part: dict[str, Any]) -> Any:
    source = part.get("image_url")
    if isinstance(source, dict):
        source = source.get("url")
    for candidate in (source, part.get("image"), part.get("url")):
        if candidate is not None:
            return candidate
    return None


def _thinking_in(text: str) -> list[Block]:
    blocks: list[Block] = []
    end = 0
    for match in _THINKING.finditer(text):
        blocks += _stripped("text", text[end : match.start()])
        blocks.append(Block("thinking", match[1].strip()))
        end = match.end()
    return blocks + _stripped("text", text[end:])


def _stripped(kind: BlockKind, text: str) -> list[Block]:
    return [Block(kind, text.strip())] if text.strip() else []


def _calls(value: Any) -> list[Block]:
    if value is None:
        return []
    if not isinstance(value, list):
        return [Block("other", _pretty(value), "tool_calls")]
    return [_call(call) for call in value]


def _call(call: Any) -> Block:
    called = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(called, dict) or not isinstance(called.get("name"), str):
        return Block("other", _pretty(call), "tool call")
    text, argument = read_arguments(called.get("arguments"))
    return Block("call", text, called["name"], _text_or_empty(call.get("id")), argument)


def read_arguments(value: Any) -> tuple[str, str]:
    """Arguments of a call as text, and the name of the argument if it is the text of only one.

    Args:
        value: JSON text in most records, an object in some; text that is no JSON stays as it is.
    """
    parsed = value
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return value, ""
    if parsed is None:
        return "", ""
    if isinstance(parsed, str):
        return parsed, ""
    if isinstance(parsed, dict) and len(parsed) == 1:
        ((name, only),) = parsed.items()
        if isinstance(only, str):
            return only, name
    return _pretty(parsed), ""


def _others(message: dict[str, Any]) -> list[Block]:
    return [
        Block("other", _pretty(value), key)
        for key, value in message.items()
        if key not in _SHOWN_KEYS and value is not None
    ]


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
