from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from site_example.generate import generate  # noqa: E402 - after the check that torch is there
from site_example.grpo import KL_WEIGHT, group_advantages, policy_loss, score  # noqa: E402
from site_example.model import Policy, pad_left  # noqa: E402
from site_example.tokenizer import END_ID  # noqa: E402


def test_advantages_by_hand():
    # mean 0.5, sample deviation sqrt((0.25 + 0.25) / 1)
    assert group_advantages([0.0, 1.0]) == pytest.approx(
        [-math.sqrt(0.5), math.sqrt(0.5)], abs=1e-5
    )
    assert group_advantages([0.1, 0.1, 0.1]) == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert group_advantages([1.0]) == [0.0]


def log(*values):
    return torch.tensor([math.log(value) for value in values])


def test_loss_by_hand():
    advantage = torch.tensor([2.0, -1.0, 2.0])
    new, old = log(0.6, 0.3, 0.5), log(0.4, 0.4, 0.5)
    rollout, ref = log(0.4, 0.4, 0.25), new
    # ratio 1.5 is clipped to 1.2; ratio 0.75 with a negative advantage counts as 0.8; weight 0.5 / 0.25 = 2
    expected = torch.tensor([-2.4, 0.8, -4.0])
    torch.testing.assert_close(policy_loss(new, old, rollout, ref, advantage), expected)


def test_distance_to_the_reference_by_hand():
    zero = torch.zeros(1)
    loss = policy_loss(log(0.5), log(0.5), log(0.5), log(0.25), zero)
    # exp(log 0.5) - log 0.5 - 1
    assert loss.item() == pytest.approx(KL_WEIGHT * (0.5 + math.log(2) - 1))


def test_correction_for_the_engines_is_bounded():
    loss = policy_loss(log(0.9), log(0.9), log(0.009), log(0.9), torch.ones(1))
    assert loss.item() == pytest.approx(-2.0)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Policy()


def test_size(model):
    assert 0.9e6 < sum(parameter.numel() for parameter in model.parameters()) < 1.1e6


def test_padding_changes_no_log_prob(model):
    short, long = [1, 20, 7, 8], [1, 20, 9, 10, 11, 12, 13]
    with torch.no_grad():
        alone, _ = score(model, [short])
        both, _ = score(model, [short, long])
    torch.testing.assert_close(both[0, -3:], alone[0, 1:], atol=1e-5, rtol=1e-4)


def test_cached_generation_says_what_the_whole_model_says(model):
    prompts = [[1, 20, 7], [1, 20, 9, 10, 11]]
    source = torch.Generator().manual_seed(3)
    done = generate(model, prompts, most=8, source=source)
    for prompt, one in zip(prompts, done, strict=True):
        assert one.finish == ("stop" if one.tokens[-1] == END_ID else "length")
        with torch.no_grad():
            whole, _ = score(model, [prompt + one.tokens])
        expected = torch.tensor(one.log_probs)
        torch.testing.assert_close(whole[0, len(prompt) :], expected, atol=1e-4, rtol=1e-3)


def test_padding_is_on_the_left():
    tokens, padding = pad_left([[5], [6, 7]])
    assert tokens.tolist() == [[0, 5], [6, 7]]
    assert padding.tolist() == [[True, False], [False, False]]
