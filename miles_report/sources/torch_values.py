"""What the opcodes of a pickle do to values: make, fill, nest and memoize them, within limits.

Rule: a value goes into another one only through `Values`, which knows how deep everything is. A
container that lies inside another one is complete and never grows again; hence no cycles, and no
structure on which a recursive reader would fall.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from miles_report.sources.storages import Budget, InvalidDataError
from miles_report.sources.torch_names import check_keys
from miles_report.sources.torch_placeholder import Name, Placeholder, Unfinished, as_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DEEPEST: Final = 200  # levels of lists in lists; JSON writers of Python give up at about 1,000

_SLOT_BYTES = 64  # an upper bound of what one attribute takes

_NESTING: Final = frozenset({list, tuple, dict, OrderedDict, set, frozenset})


class Values:
    """Makes the values of one pickle.

    Attributes:
        memo: what the pickle refers to again, by its number.
        persistent: from a persistent id to what it stands for.
        sealed: lists and dictionaries that lie inside others and must not grow, by their id.
    """

    def __init__(
        self,
        makers: Mapping[tuple[str, str], Callable[[tuple[Any, ...]], Any]],
        persistent: Callable[[Any], Any],
        budget: Budget,
        skip: frozenset[str],
    ) -> None:
        self._budget = budget
        self.memo: dict[int, Any] = {}
        self.persistent = persistent
        self._makers = makers
        self._skip = skip
        self._names: dict[tuple[str, str], Name] = {}
        self._levels: dict[int, int] = {}  # depth of containers by id
        self._alive: list[Any] = []  # keeps the ids above from being used again
        self.sealed: dict[int, Any] = {}

    def name(self, module: Any, qualname: Any) -> Name:
        """The class or function of that name, as data."""
        if type(module) is not str or type(qualname) is not str:
            raise InvalidDataError("the name of a class is no text; don't use the file")
        name = self._names.get((module, qualname))
        if name is None:
            name = self._names[module, qualname] = Name(module, qualname)
        return name

    def call(self, name: Any, args: Any) -> Any:
        """What calling `name` gives: a value from the table of makers, else a placeholder."""
        if type(args) is not tuple:
            raise InvalidDataError("it calls something without arguments; don't use the file")
        if type(name) is not Name:
            raise InvalidDataError("it calls something that is not a function; don't use the file")
        maker = self._makers.get((name.module, name.qualname))
        if maker is None:
            return Placeholder(name.module, name.qualname, args)
        made = maker(args)
        if type(made) in _NESTING and made and id(made) not in self.sealed:
            self.adopt(made, args)
        return made

    def build(self, target: Any, state: Any) -> Any:
        """`target` with its attributes, or the object that it becomes with them."""
        if isinstance(target, Unfinished):
            made = target.finish(state)
            if made is not target and target.index is not None:
                self.memo[target.index] = made
            if type(made) in _NESTING and id(made) not in self.sealed:
                self.adopt(made, state)
            return made
        if type(target) is Placeholder:
            self._budget.spend(_SLOT_BYTES * _n_entries(target.state, state))
            made = as_state(state)
            target.state = target.state | made if target.state else made
        elif not isinstance(target, OrderedDict | np.ndarray):
            raise InvalidDataError(
                "it sets the state of something that has none; don't use the file"
            )
        return target  # of tensors and ordered dictionaries, attributes are not kept

    def tuple(self, items: list[Any]) -> tuple[Any, ...]:
        """A tuple of `items`."""
        made = tuple(items)
        self.adopt(made, items)
        return made

    def extend(self, target: Any, items: list[Any]) -> None:
        """Appends to a list, adds to a set, or keeps the elements of a placeholder."""
        if type(target) is list:
            self.adopt(target, items)
            target.extend(items)
        elif type(target) is Placeholder:
            target.elements = target.elements or []
            target.elements.extend(items)
        elif type(target) is set:
            self.adopt(target, items)
            check_keys(items)
            target.update(items)
        else:
            raise InvalidDataError("it appends to something that is not a list; don't use the file")

    def update(self, target: Any, items: list[Any]) -> None:
        """Puts alternating keys and values into a dictionary or a placeholder."""
        keys, values = items[::2], items[1::2]
        if len(keys) != len(values):
            raise InvalidDataError("a dictionary has a key without a value; copy the file again")
        check_keys(keys)
        if type(target) is Placeholder:
            target.entries = target.entries or {}
            target.entries.update(zip(keys, values, strict=True))
        elif isinstance(target, dict):
            self.adopt(target, items)
            target.update(zip(keys, values, strict=True))
            self._drop_skipped(target)
        else:
            raise InvalidDataError(
                "it fills something that is not a dictionary; don't use the file"
            )

    def _drop_skipped(self, target: dict[Any, Any]) -> None:
        for key in self._skip:
            if key in target:
                target[key] = Placeholder("skipped", key)

    def adopt(self, parent: Any, children: Iterable[Any]) -> None:
        """Records that `children` go into `parent`: they are complete from now on.

        So depth is known at every moment, and a container cannot be put into itself.
        """
        deepest = 0
        for child in children:
            if type(child) in _NESTING:
                key = id(child)
                self.sealed[key] = child
                level = self._levels.get(key, 1)
                if level > deepest:  # noqa: PLR1730 - max() costs more than all else here
                    deepest = level
        key = id(parent)
        if deepest:
            level = max(deepest + 1, self._levels.get(key, 1))
            if level > DEEPEST:
                raise InvalidDataError(
                    f"its lists are nested deeper than {DEEPEST} levels; don't use the file"
                )
            self._levels[key] = level
            self._alive.append(parent)
        if key in self.sealed and children:
            raise InvalidDataError(
                "a list or dictionary contains itself or grows inside another one; don't use the file"
            )


def _n_entries(*states: Any) -> int:
    """Attributes that joining these states may copy."""
    parts = [part for state in states for part in (state if type(state) is tuple else (state,))[:2]]
    return sum(len(part) for part in parts if isinstance(part, dict))
