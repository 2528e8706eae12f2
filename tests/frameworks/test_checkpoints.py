"""Checkpoints: whole or absent, played as trained, refused in one line, and never executed."""

import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from framework_cases import CASES, Hooks, PointEnv, policy_of, small_agent, train

from benchmark_app.frameworks.base import CheckpointRefused, Learner
from benchmark_app.frameworks.checkpoints import save_atomically


def test_policy_is_the_mean_of_the_trained_actor_for_any_batch(name: str, tmp_path: Path) -> None:
    env = PointEnv(actions=2)
    saved, learner = train(name, tmp_path, env=env)
    act = policy_of(name, env, small_agent(), saved)
    for batch in (1, 3, 200):
        obs = {"policy": torch.randn(batch, 2)}
        before = obs["policy"].clone()
        actions = act(obs)
        assert actions.shape == (batch, 2)
        assert not actions.requires_grad
        assert torch.equal(obs["policy"], before)
        assert torch.equal(act(obs), actions)
        torch.testing.assert_close(actions, learner.mean_actions(obs).detach())


def test_a_checkpoint_of_any_iteration_plays(name: str, tmp_path: Path) -> None:
    saved: list[Path] = []
    hooks = Hooks(PointEnv())
    learners: list[Learner] = []
    hooks.on_iteration = lambda: saved.append(learners[0].save(tmp_path / f"iteration_{len(saved):03d}.5"))
    last, _ = train(name, tmp_path, hooks=hooks, prepare=learners.append)
    assert [path.stem for path in saved] == ["iteration_000.5", "iteration_001.5"]
    assert {path.suffix for path in saved} == {last.suffix}
    first, second, final = (
        policy_of(name, hooks.env, small_agent(), path)(hooks.env.observed[0]) for path in (*saved, last)
    )
    assert not torch.equal(first, second)
    assert torch.equal(second, final)


def test_normalisation_is_saved_and_frozen_in_play(name: str, tmp_path: Path) -> None:
    agent = small_agent(normalize_observations=True, iterations=3)
    env = PointEnv(critic=True)
    saved, learner = train(name, tmp_path, env=env, agent=agent)
    act = policy_of(name, env, agent, saved)
    obs = {"policy": torch.tensor([[0.5, 1.0]])}
    before = act(obs)
    torch.testing.assert_close(before, learner.mean_actions(obs).detach())
    for _ in range(5):
        act({"policy": torch.full((50, 2), 100.0)})
    assert torch.equal(act(obs), before)
    with pytest.raises(CheckpointRefused, match=r"agent\.normalize_observations"):
        policy_of(name, env, small_agent(), saved)
    plain, _ = train(name, tmp_path / "plain", env=PointEnv())
    with pytest.raises(CheckpointRefused, match=r"agent\.normalize_observations"):
        policy_of(name, env, agent, plain)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {os.environ['BOMB_MARKER']}",)


def refusal(name: str, path: Path, env: PointEnv | None = None, **settings: object) -> str:
    with pytest.raises(CheckpointRefused) as refused:
        policy_of(name, env or PointEnv(), small_agent(**settings), path)
    message = str(refused.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_files_that_are_no_checkpoint_are_refused(name: str, tmp_path: Path) -> None:
    saved, _ = train(name, tmp_path)
    assert "no such file" in refusal(name, tmp_path / "absent.pt")
    whole = saved.read_bytes()
    for kept in (0, 10, len(whole) // 2, len(whole) - 10):
        saved.write_bytes(whole[:kept])
        refusal(name, saved)
    saved.write_text("hello: world\n")
    refusal(name, saved)
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("data", "of stable-baselines3")
    refusal(name, saved)
    for content in ([1, 2], {"model": {}}, {"policy": 1, "actor_state_dict": 2}, {"policy": {"a": 1}, "value": {}}):
        torch.save(content, saved)
        refusal(name, saved)


def test_a_pickle_is_never_executed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "executed"
    monkeypatch.setenv("BOMB_MARKER", str(marker))
    torch.save(
        {"policy": Bomb(), "value": {}, "actor_state_dict": Bomb(), "critic_state_dict": {}}, tmp_path / "zip.pt"
    )
    (tmp_path / "raw.pt").write_bytes(pickle.dumps(Bomb()))
    for file in ("zip.pt", "raw.pt"):
        assert "nothing was executed" in refusal(name, tmp_path / file)
    assert not marker.exists()


def test_another_librarys_checkpoint_is_refused(name: str, tmp_path: Path) -> None:
    for other in CASES:
        if other != name:
            saved, _ = train(other, tmp_path / other)
            assert f"no {name} checkpoint" in refusal(name, saved)


def test_other_dimensions_and_networks_are_refused(name: str, tmp_path: Path) -> None:
    saved, _ = train(name, tmp_path)
    message = refusal(name, saved, PointEnv(obs_dim=4))
    assert "made for 2 observation values, this task has 4" in message
    assert "made for 1 actions, this task has 3" in refusal(name, saved, PointEnv(actions=3))
    assert "agent.hidden_layers" in refusal(name, saved, hidden_layers=[8, 4])
    assert "agent.hidden_layers" in refusal(name, saved, hidden_layers=[8, 8, 8])


def test_a_save_that_dies_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.pt"
    path.write_text("old")

    def die(temporary: Path) -> None:
        temporary.write_text("ne")
        assert path.read_text() == "old"
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        save_atomically(path, die)
    assert [file.name for file in tmp_path.iterdir()] == ["policy.pt"]
    assert path.read_text() == "old"
    assert save_atomically(path, lambda temporary: temporary.write_text("new") and None) == path
    assert path.read_text() == "new"
