"""Learning from images: what each library's own convolutional encoder is given, and that all of them are the same."""

from pathlib import Path

import pytest
import torch
from framework_cases import CASES, Hooks, PixelEnv, parameters, policy_of, small_agent, train, translation_of

from benchmark_app.frameworks.agent import PPOAgent, SACAgent
from benchmark_app.frameworks.base import CheckpointRefused, Learner
from benchmark_app.frameworks.inputs import Inputs, Pixels

LIBRARIES = [name for name in CASES if name != "tiny"]
CNN = {"encoder": "cnn", "encoder_channels": [3, 4], "encoder_kernels": [3, 2], "encoder_strides": [2, 1]}
# Of a picture of 5 x 12 pixels: 2 x 5 after the first layer, 1 x 4 after the second, in 4 channels.
FEATURES = 16


def seeing(**settings: object) -> PPOAgent:
    return small_agent(**CNN, **settings)


@pytest.mark.parametrize("name", LIBRARIES)
def test_stores_the_images_that_were_seen(name: str, tmp_path: Path) -> None:
    env = PixelEnv(vector=True)
    hooks, rollouts, learners = Hooks(env), [], []
    hooks.on_iteration = lambda: rollouts.append(learners[0].rollout())
    train(name, tmp_path, hooks=hooks, agent=seeing(iterations=1), prepare=learners.append)
    for key, group in (("images", "pixels"), ("obs", "policy")):
        seen = torch.stack([obs[group] for obs in env.observed[:8]])
        assert torch.equal(rollouts[0][key].to(seen.dtype), seen)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_saved_policy_plays_what_was_trained(name: str, tmp_path: Path) -> None:
    env = PixelEnv(data_type="depth")
    saved, learner = train(name, tmp_path, env=env, agent=seeing())
    obs = env.observed[-1]
    act = policy_of(name, env, seeing(), saved)
    with torch.no_grad():
        torch.testing.assert_close(act(obs), learner.mean_actions(obs))
    assert act(obs).std() > 0, "the actions do not depend on the image"


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_policy_of_other_images_is_refused(name: str, tmp_path: Path) -> None:
    saved, _ = train(name, tmp_path, env=PixelEnv(), agent=seeing(iterations=1))
    with pytest.raises(CheckpointRefused, match="made for 6 channels of images, this task has 2"):
        policy_of(name, PixelEnv(data_type="depth"), seeing(), saved)
    with pytest.raises(CheckpointRefused, match=r"agent\.encoder"):
        policy_of(name, PixelEnv(), seeing(hidden_layers=[9, 8]), saved)


@pytest.mark.parametrize(("vector", "critic"), [(False, False), (True, False), (True, True)])
def test_all_libraries_arrive_at_the_same_encoders(tmp_path: Path, vector: bool, critic: bool) -> None:
    """One description, one seed: the same layers, counted, and after ten gradient steps the same numbers in them."""
    agent = seeing(iterations=1, rollout=16, epochs=10, minibatches=1, activation="relu")
    found, counts = [], []
    for name in LIBRARIES:
        env = PixelEnv(16, vector=vector, critic=critic, actions=2)
        _, learner = train(name, tmp_path / name, env=env, agent=agent)
        found.append(sorted(parameters(learner), key=lambda tensor: (tensor.shape, tensor.flatten().tolist())))
        counts.append([sum(value.numel() for value in net.parameters()) for net in (learner.actor, learner.critic)])
    convolutions = (6 * 9 + 1) * 3 + (3 * 4 + 1) * 4
    hidden = 8 * (FEATURES + (2 if vector else 0) + 1) + 8 * 9
    alone = 8 * (3 + 1) + 8 * 9 + 9  # a critic of its own numbers has no encoder
    expected = [convolutions + hidden + 2 * 9 + 2, alone if critic else convolutions + hidden + 9]
    assert counts == [expected] * len(LIBRARIES)
    for other in found[1:]:
        for wanted, parameter in zip(found[0], other, strict=True):
            torch.testing.assert_close(parameter, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_time_limit_is_bootstrapped_with_the_value_of_the_image_it_cut_off(name: str, tmp_path: Path) -> None:
    env = PixelEnv(max_steps=4)
    hooks, rollouts, learners = Hooks(env), [], []

    def note() -> None:
        learner: Learner = learners[0]
        finals = [state.final_observation["pixels"] for state in env.states if state.truncated.any()]
        with torch.no_grad():
            values = [learner.values({"pixels": image}) for image in finals]
        rollouts.append((learner.rollout()["rewards"], values))

    hooks.on_rollout = note
    train(name, tmp_path, hooks=hooks, agent=seeing(iterations=1, rollout=4, minibatches=1), prepare=learners.append)
    stored, values = rollouts[0]
    steps = [number for number, state in enumerate(env.states) if state.truncated.any()]
    assert steps
    for number, value in zip(steps, values, strict=True):
        rows = env.states[number].truncated
        expected = env.rewarded[number] + 0.99 * value
        torch.testing.assert_close(stored[number][rows], expected[rows], atol=1e-5, rtol=0)


def test_colours_enter_a_network_from_0_to_1_and_depths_in_metres() -> None:
    for data_type, value, entered in (("rgb", 255, 1.0), ("depth", 7.5, 7.5)):
        sees = Inputs(PixelEnv(data_type=data_type)).actor
        images = torch.full((2, *sees.spec.shape), value, dtype=getattr(torch, sees.spec.dtype))
        found = Pixels(sees.spec)(images)
        assert found.shape == (2, sees.spec.channels, 5, 12)
        assert torch.equal(found, torch.full_like(found, entered))
        assert torch.equal(Pixels(sees.spec)(images.float()), found), "flat rows hold the same numbers as float32"


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_mapping_tells_what_becomes_of_the_encoder(name: str) -> None:
    rows = {row.parameter: row for row in translation_of(name).mapping(seeing())}
    for parameter in ("encoder", "encoder_channels", "encoder_kernels", "encoder_strides"):
        assert rows[parameter].quality == "exact"
        assert rows[parameter].native
    assert all(rows[f"encoder_{part}"].paths for part in ("channels", "kernels", "strides"))
    if "sac" in translation_of(name).ALGORITHMS:
        (row,) = [row for row in translation_of(name).mapping(SACAgent(encoder="cnn")) if row.parameter == "encoder"]
        assert row.quality == "unsupported"
