"""torch.load as the truth about a container, for classes that are not installed too."""

from __future__ import annotations

import math
import pickle
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import torch

from miles_report.sources.container import Placeholder

if TYPE_CHECKING:
    from pathlib import Path

FLOAT8 = (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu,
)  # fmt: skip


class Stub:
    """What the oracle makes of a class that is not installed."""

    def __setstate__(self, state):
        self.state = state


class Oracle(pickle.Unpickler):
    def find_class(self, module, qualname):
        if module.split(".")[0] in ("miles", "PIL"):
            return type(qualname, (Stub,), {})
        return super().find_class(module, qualname)


def by_torch(path: Path) -> object:
    oracle = SimpleNamespace(Unpickler=Oracle, load=pickle.load, __name__="oracle")
    return torch.load(path, weights_only=False, pickle_module=oracle)


def as_numpy(value: torch.Tensor) -> np.ndarray:
    value = value.detach().cpu().resolve_conj().resolve_neg()
    widened = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
    widened |= dict.fromkeys(FLOAT8, torch.float32)
    return value.to(widened.get(value.dtype, value.dtype)).numpy()


def same(ours: object, truth: object) -> bool:
    """Whether both are the same values in the same structure; raises where they are not."""
    if isinstance(truth, torch.Tensor):
        want = as_numpy(truth)
        assert isinstance(ours, np.ndarray)
        assert ours.dtype == want.dtype
        assert ours.shape == want.shape
        assert not ours.flags.writeable
        np.testing.assert_array_equal(ours, want, strict=True)
    elif isinstance(truth, np.ndarray):
        assert isinstance(ours, np.ndarray)
        assert not ours.flags.writeable
        np.testing.assert_array_equal(ours, truth)
    elif isinstance(truth, Stub):
        assert isinstance(ours, Placeholder)
        assert ours.qualname == type(truth).__name__
        state = ours.state if isinstance(truth.state, dict) else ours.get("__state__")
        same(state, truth.state)
    elif isinstance(truth, dict):
        assert list(ours) == list(truth)
        assert all(same(ours[key], truth[key]) for key in truth)
    elif isinstance(truth, list | tuple):
        assert type(ours) is type(truth)
        assert len(ours) == len(truth)
        assert all(same(a, b) for a, b in zip(ours, truth, strict=True))
    else:
        assert type(ours) is type(truth)
        assert ours == truth or (math.isnan(ours) and math.isnan(truth))
    return True
