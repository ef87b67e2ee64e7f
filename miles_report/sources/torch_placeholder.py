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
        elements: what a subclass of list, deque or set would hold, in order; null if nothing.
        entries: what a subclass of dict would hold; null if nothing.
    """

    __slots__ = ("_kwargs", "_state", "args", "elements", "entries", "module", "qualname")

    def __init__(self, module: str, qualname: str, args: tuple[Any, ...] = ()) -> None:
        self.module = module
        self.qualname = qualname
        self.args = args
        self._kwargs: dict[str, Any] | None = None  # most have none: a file may hold millions
        self._state: dict[str, Any] | None = None
        self.elements: list[Any] | None = None
        self.entries: dict[Any, Any] | None = None

    @property
    def state(self) -> dict[str, Any]:
        """Attributes; a state that is not a dictionary stands under "__state__"."""
        return self._state or {}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._state = state

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments the object would have been made with."""
        return self._kwargs or {}

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._kwargs = kwargs

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
    """The attributes that a pickled state stands for; those of slots come as a pair of dictionaries."""
    match state:
        case (dict() as only, None) | (None, dict() as only) if _has_names(only):
            return only
        case dict() if _has_names(state):
            return state
        case (dict() as attributes, dict() as slots) if _has_names(attributes) and _has_names(
            slots
        ):
            return attributes | slots
    return {"__state__": state}


def _has_names(state: dict[Any, Any]) -> bool:
    return all(type(key) is str for key in state)


def shown(text: object) -> str:
    """A name from a file in a form fit for a message: one line, printable and short."""
    line = "".join(c if c.isprintable() else "?" for c in str(text)[: _SHOWN_NAME_LENGTH + 1])
    return line if len(line) <= _SHOWN_NAME_LENGTH else line[:_SHOWN_NAME_LENGTH] + "…"
