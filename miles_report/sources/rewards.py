"""Recorded rewards into one number a sample and, for dicts, one column a component.

A reward is a number, or a dict of components under a `reward_key`. Components may be nested (`acc`, `style.tone`) and may
be text; what is neither number, text nor dict is left out and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miles_report.sources.values import UnfitError, clean_text, number, type_name

if TYPE_CHECKING:
    from miles_report.sources.values import Unfit

MAX_COMPONENTS = 64
"""Columns a step may add to its samples table; more are a mistake, or an attack."""
MAX_DEPTH = 4
MAX_NAME = 80

Component = float | str | None


class Rewards:
    """Gathers the rewards of a step, sample by sample.

    Attributes:
        scalars: one a sample; null where none was given or it is a dict.
        components: by name, one value a sample.

    Args:
        n_samples: of the step.
        unfit: counts what is left out.
    """

    def __init__(self, n_samples: int, unfit: Unfit) -> None:
        self._n_samples = n_samples
        self._unfit = unfit
        self.scalars: list[float | None] = [None] * n_samples
        self.components: dict[str, list[Component]] = {}

    def add(self, place: int, value: Any) -> None:
        """Takes the reward of sample `place`."""
        if isinstance(value, dict):
            self._add_components(place, value, "", 1)
        else:
            self.scalars[place] = self._unfit.read(number, value, "reward", place)

    def _add_components(self, place: int, value: dict[Any, Any], prefix: str, depth: int) -> None:
        if len(value) > MAX_COMPONENTS:
            self._unfit.add("reward", place, f"has more than {MAX_COMPONENTS} components")
        for key, item in list(value.items())[:MAX_COMPONENTS]:
            name = prefix + clean_text(str(key))[:MAX_NAME]
            if isinstance(item, dict):
                if depth < MAX_DEPTH:
                    self._add_components(place, item, f"{name}.", depth + 1)
                else:
                    self._unfit.add("reward", place, f"is nested deeper than {MAX_DEPTH} dicts")
            elif item is not None:
                self._add_component(place, name, item)

    def _add_component(self, place: int, name: str, item: Any) -> None:
        try:
            value: Component = clean_text(item) if isinstance(item, str) else number(item)
        except UnfitError:
            trouble = f"has a component of type {type_name(item)}"
            self._unfit.add("reward", place, trouble, kind="component")
            return
        column = self.components.get(name)
        if column is None:
            if len(self.components) >= MAX_COMPONENTS:
                self._unfit.add("reward", place, f"has more than {MAX_COMPONENTS} components")
                return
            column = self.components[name] = [None] * self._n_samples
        column[place] = value
