"""What stands for a class, a function or an object that the reader does not load.

A placeholder is data and nothing else: it keeps what the file said about an object, imports no
module and calls no function of anybody, not even while it is printed, hashed or compared.
"""

from __future__ import annotations

from typing import Any

_SHOWN_NAME_LENGTH = 120  # characters of a name from a file that an error or a repr repeats


class Placeholder:
    """An object of a class that is not loaded, with everything the file recorded about it.

    Attributes:
        module: module of the class, as written in the file, for example "PIL.Image".
        qualname: name inside the module, for example "Image" or "Outer.Inner".
        args: positional arguments the object would have been made with.
        kwargs: keyword arguments the object would have been made with.
        state: its attributes; a state that is not a dictionary stands under "__state__".
        elements: what a subclass of list, deque or set would hold, in order.
        entries: what a subclass of dict would hold.
    """

    __slots__ = ("args", "elements", "entries", "kwargs", "module", "qualname", "state")

    def __init__(self, module: str, qualname: str, args: tuple[Any, ...] = ()) -> None:
        self.module = module
        self.qualname = qualname
        self.args = args
        self.kwargs: dict[str, Any] = {}
        self.state: dict[str, Any] = {}
        self.elements: list[Any] = []
        self.entries: dict[Any, Any] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """The recorded attribute `name`, else the recorded keyword argument, else `default`."""
        if name in self.state:
            return self.state[name]
        return self.kwargs.get(name, default)

    def __repr__(self) -> str:
        return f"<{shown(self.module)}.{shown(self.qualname)}, not loaded>"


class Name(Placeholder):
    """A class or function that the file refers to by name, before or without being called."""

    __slots__ = ()


class Unfinished(Placeholder):
    """An object that the file makes in two steps: empty first, filled by its state later.

    Attributes:
        index: where the file memoizes it in between, so that the finished object can take its place;
            null if nowhere.
    """

    __slots__ = ("index",)

    def __init__(self, module: str, qualname: str, args: tuple[Any, ...] = ()) -> None:
        super().__init__(module, qualname, args)
        self.index: int | None = None

    def finish(self, state: Any) -> Any:
        """What the object becomes with its state; itself, if it stays a placeholder."""
        self.state = as_state(state)
        return self


def as_state(state: Any) -> dict[str, Any]:
    """The attributes that a pickled state stands for; dictionaries of slots are joined in."""
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    if all(part is None or isinstance(part, dict) for part in parts):
        return {str(key): value for part in parts if part for key, value in part.items()}
    return {"__state__": state}


def shown(text: object) -> str:
    """A name from a file in a form fit for a message: one line, printable and short."""
    line = "".join(c if c.isprintable() else "?" for c in str(text)[: _SHOWN_NAME_LENGTH + 1])
    return line if len(line) <= _SHOWN_NAME_LENGTH else line[:_SHOWN_NAME_LENGTH] + "…"
