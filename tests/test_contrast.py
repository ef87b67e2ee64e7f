"""The figures of the look that concern colours: contrast, and phases told apart by everyone."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from miles_report.charts import palette
from miles_report.schema.vocabulary import PHASES

FOLDER = Path(__file__).parents[1] / "templates" / "css"
CSS = (FOLDER / "tokens.css").read_text()


def values_of(block: str) -> dict[str, str]:
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block))


ROOT, MEDIA, CHOSEN = re.findall(r":root(?:\S*) \{\n(\s+color-scheme.*?)\n\s*\}\n", CSS, re.DOTALL)
LIGHT, DARK = values_of(ROOT), values_of(CHOSEN)
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def channels(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def linear(colour: str) -> np.ndarray:
    part = channels(colour)
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    bright, dark = sorted(
        (float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other)), reverse=True
    )
    return (bright + 0.05) / (dark + 0.05)


# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
RGB_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab(colour: str, sight: str) -> np.ndarray:
    seen = np.clip(SIGHT[sight] @ linear(colour), 0, 1)
    ratio = (RGB_TO_XYZ @ seen) / (RGB_TO_XYZ @ np.ones(3))
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Sharma, Wu and Dalal 2005."""
    mean_chroma = (np.hypot(*one[1:]) + np.hypot(*other[1:])) / 2
    g = 0.5 * (1 - np.sqrt(mean_chroma**7 / (mean_chroma**7 + 25**7)))
    a = np.array([one[1], other[1]]) * (1 + g)
    b = np.array([one[2], other[2]])
    chroma = np.hypot(a, b)
    hue = np.degrees(np.arctan2(b, a)) % 360
    grey = chroma[0] * chroma[1] == 0
    turn = (hue[1] - hue[0] + 180) % 360 - 180
    turn = 0.0 if grey else turn
    d_hue = 2 * np.sqrt(chroma[0] * chroma[1]) * np.sin(np.radians(turn / 2))
    mean_hue = hue.sum() if grey else (hue[0] + turn / 2) % 360
    light, mean_c = (one[0] + other[0]) / 2, chroma.mean()
    t = (
        1
        - 0.17 * np.cos(np.radians(mean_hue - 30))
        + 0.24 * np.cos(np.radians(2 * mean_hue))
        + 0.32 * np.cos(np.radians(3 * mean_hue + 6))
        - 0.20 * np.cos(np.radians(4 * mean_hue - 63))
    )
    s_l = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    bend = 30 * np.exp(-(((mean_hue - 275) / 25) ** 2))
    r = -2 * np.sqrt(mean_c**7 / (mean_c**7 + 25**7)) * np.sin(np.radians(2 * bend))
    d_l, d_c = (other[0] - one[0]) / s_l, (chroma[1] - chroma[0]) / s_c
    return float(np.sqrt(d_l**2 + d_c**2 + (d_hue / s_h) ** 2 + r * d_c * d_hue / s_h))


def distance(one: str, other: str, sight: str) -> float:
    return ciede2000(lab(one, sight), lab(other, sight))


def test_the_measures_reproduce_published_values():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)
    # the first and a hard pair of Sharma's test data
    pair = np.array([50, 2.6772, -79.7751]), np.array([50, 0, -82.7485])
    assert ciede2000(*pair) == pytest.approx(2.0425, abs=1e-4)
    pair = np.array([22.7233, 20.0904, -46.6940]), np.array([23.0331, 14.9730, -42.5619])
    assert ciede2000(*pair) == pytest.approx(2.0373, abs=1e-4)


def test_both_ways_to_dark_give_the_same_values():
    assert values_of(MEDIA) == DARK
    assert LIGHT.keys() == DARK.keys()


@THEMES
@pytest.mark.parametrize("surface", ["--paper", "--wash"])
@pytest.mark.parametrize(
    "text", ["--text", "--accent", "--critical", "--warning", "--info", "--good"]
)
def test_text_and_links_stand_out_sevenfold(theme, text, surface):
    assert contrast(theme[text], theme[surface]) >= 7


@THEMES
@pytest.mark.parametrize("surface", ["--paper", "--wash", "--wash-2", "--accent-wash"])
@pytest.mark.parametrize("text", ["--text", "--accent", "--muted"])
def test_no_text_is_fainter_than_four_and_a_half(theme, text, surface):
    assert contrast(theme[text], theme[surface]) >= 4.5


@THEMES
def test_edges_of_controls_and_focus_stand_out_threefold(theme):
    assert contrast(theme["--control"], theme["--paper"]) >= 3
    assert contrast(theme["--accent"], theme["--paper"]) >= 3


@THEMES
@pytest.mark.parametrize("end", ["--t-neg", "--t-pos"])
def test_text_on_the_strongest_token_stays_readable(theme, end):
    assert contrast(theme["--text"], theme[end]) >= 4.5


@THEMES
@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(
    ("below", "above", "least"), [("--d-neg3", "--d-pos3", 45), ("--t-neg", "--t-pos", 43)]
)
def test_the_ends_of_diverging_ramps_are_far_apart(theme, sight, below, above, least):
    assert distance(theme[below], theme[above], sight) >= least


@THEMES
@pytest.mark.parametrize("name", PHASES)
def test_a_name_on_its_phase_can_be_read(theme, name):
    token = f"--p-{name.replace('_', '-')}"
    assert contrast(theme[f"{token}-label"], theme[token]) >= 4.5


@pytest.mark.parametrize("name", PHASES)
def test_tokens_and_vocabulary_agree(name):
    phase, token = PHASES[name], f"--p-{name.replace('_', '-')}"
    assert phase.colours == (LIGHT[token], DARK[token])
    assert phase.labels == (LIGHT[f"{token}-label"], DARK[f"{token}-label"])
    hatch = (LIGHT["--p-hatch"], DARK["--p-hatch"])
    assert phase.hatch == (hatch if name == "train_wait" else None)


TRAIN = ("train_wait", "data_preprocess", "ref_log_probs", "log_probs", "actor_train")
NEIGHBOURS = (
    *pairwise(TRAIN),
    *pairwise(("actor_train", "update_weights", "rollout", "sleep", "wake_up", "rollout")),
    *pairwise(("save_model", "actor_train", "train_wait", "update_weights", "save_model", "sleep")),
    *pairwise(("initialize", "train_wait", "save_model", "train_wait", "sleep")),
    *pairwise(("update_weights", "eval_rollout", "rollout", "actor_train", "wake_up")),
    *pairwise(("log_probs", "train_log_probs", "actor_train", "ref_log_probs")),
    *pairwise(("update_weights", "ref_model_update", "train_wait")),
    *pairwise(("data_preprocess", "log_probs")),
    *pairwise(("data_preprocess", "rollout", "initialize")),
    *pairwise(("eval_rollout", "wake_up", "update_weights")),
)
"""Phases that can stand next to each other on a lane or in a stack."""


@THEMES
@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("one", "other"), sorted({tuple(sorted(pair)) for pair in NEIGHBOURS}))
def test_neighbouring_phases_are_told_apart(theme, sight, one, other):
    least = 7 if "train_wait" in {one, other} else 10
    names = [f"--p-{name.replace('_', '-')}" for name in (one, other)]
    assert distance(theme[names[0]], theme[names[1]], sight) >= least


def test_charts_use_the_light_values():
    assert {token: LIGHT[token] for token in palette.TOKENS.values()} == {
        token: colour for colour, token in palette.TOKENS.items()
    }


def test_colours_stand_in_one_file_only():
    texts = {path.name: path.read_text() for path in FOLDER.glob("*.css")}
    del texts["tokens.css"]
    found = {
        name: re.findall(r"[ (]#[0-9a-f]{3,8}[ ;,)]", text, re.IGNORECASE)
        for name, text in texts.items()
    }
    assert {name: colours for name, colours in found.items() if colours} == {}
