"""Random lives of an environment, against a model of it that anyone can check by reading."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_app.check.traces import drained
from tests.doubles.broken_envs import Sound

from .reference import Reference, Shown

COMMANDS = 40
ROWS = st.integers(1, 4)
EFFORTS = st.sampled_from([-0.3, 0.0, 0.1, 0.7, 2.5])
STEP = st.tuples(st.just("step"), st.lists(EFFORTS, min_size=4, max_size=4), st.integers(1, 9))
COMMAND = st.one_of(
    STEP,
    STEP,
    STEP,
    st.tuples(st.just("reset"), st.sets(st.integers(0, 3))),
    st.tuples(st.just("switch_autoreset")),
    st.tuples(st.just("save")),
    st.tuples(st.just("load"), st.booleans()),
    st.tuples(st.just("drain")),
)


def first_positions():
    """Of the episodes 0 to 4095: row r of a new environment plays episode r, whatever their number."""
    return Sound(4096).init_state().obs["policy"][:, 0].tolist()


EVENTS = ("terminated", "truncated", "frozen", "thawed", "refused step", "loaded", "loaded with waiting rows")

STARTS = first_positions()


def shown(state):
    """What a state shows, row by row."""
    rows = []
    for row in range(len(state.reward)):
        now = state.obs["policy"][row].tolist()
        assert state.obs["critic"][row].tolist() == now[:1]
        final = state.final_mask is not None and bool(state.final_mask[row])
        last = state.final_observation["policy"][row].tolist() if final else now
        flags = bool(state.terminated[row]), bool(state.truncated[row])
        frozen = bool(state.info["frozen"][row]) if "frozen" in state.info else False
        rows.append(Shown(*now, float(state.reward[row]), *flags, int(state.info["steps"][row]), frozen, tuple(last)))
    return rows


class Life:
    """An environment and its model, told the same; `seen` counts what happened."""

    def __init__(self, num_envs, seen, env_class=Sound):
        self.num_envs, self.seen, self.env_class = num_envs, seen, env_class
        self.env = env_class(num_envs)
        self.env.init_state()
        self.model = Reference(num_envs, self.env.limit, self.env.cfg.max_episode_steps, STARTS)
        self.saved = None

    def step(self, efforts, times):
        for _ in range(times):
            self.step_once(np.float32(efforts[: self.num_envs]))

    def step_once(self, efforts):
        waiting = self.model.waiting()
        actions = torch.from_numpy(efforts).unsqueeze(1)
        actions[waiting] = torch.nan  # nobody looks at it
        if waiting and self.model.autoreset:
            with pytest.raises(RuntimeError, match="must be reset"):
                self.env.step(actions)
            self.reset(waiting)
            self.seen["refused step"] += 1
            return
        state = self.env.step(actions)
        assert ("frozen" in state.info) is not self.model.autoreset
        rows = shown(state)
        assert rows == self.model.step(efforts)
        for name in ("terminated", "truncated", "frozen"):
            self.seen[name] += any(getattr(row, name) for row in rows)

    def reset(self, rows):
        rows = sorted(row for row in rows if row < self.num_envs)
        obs, info = self.env.reset(torch.tensor(rows, dtype=torch.int64))
        self.seen["thawed"] += any(row in self.model.waiting() for row in rows)
        self.model.reset(rows)
        assert obs["policy"].tolist() == [[row.position, row.velocity] for row in self.model.rows]
        assert info["steps"].tolist() == [row.steps for row in self.model.rows]

    def switch_autoreset(self):
        self.model.autoreset = not self.model.autoreset
        self.env.set_autoreset(self.model.autoreset)
        if self.model.waiting():
            self.step_once(np.zeros(self.num_envs, dtype=np.float32))

    def save(self):
        self.drain()  # finished episodes are the caller's, not part of what is exported
        self.saved = self.env.export_training_state(), copy.deepcopy(self.model)

    def load(self, into_a_fresh_one):
        if self.saved is None:
            return
        self.drain()
        if into_a_fresh_one:
            self.env = self.env_class(self.num_envs)
        state, model = self.saved
        self.env.import_training_state(state)
        self.model = copy.deepcopy(model)
        self.seen["loaded with waiting rows" if model.waiting() else "loaded"] += 1

    def drain(self):
        assert drained(self.env) == self.model.drain()


def test_any_life_of_an_environment_is_the_models():
    seen = Counter()

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(ROWS, st.lists(COMMAND, min_size=10, max_size=COMMANDS))
    def walk(num_envs, commands):
        life = Life(num_envs, seen)
        for name, *arguments in commands:
            getattr(life, name)(*arguments)
        life.drain()

    walk()
    assert all(seen[name] for name in EVENTS), f"the walks hardly went anywhere: {dict(seen)}"
