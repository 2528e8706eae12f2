"""What holds of an adapter before anything is trained: its mapping table, and what importing it imports."""

import os
import subprocess
import sys
from dataclasses import fields

from framework_cases import CASES, adapter_of, translation_of

from benchmark_app.frameworks.agent import AGENTS, Agent, PPOAgent, SACAgent
from benchmark_app.frameworks.mapping import get, leaves, native_problems, overridden, override

LIBRARIES = {"rsl_rl": "rsl_rl", "skrl": "skrl", "sb3": "stable_baselines3", "rl_games": "rl_games"}

BLOCK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Blocker())
"""


def run_blocked(code: str, blocked: set[str]) -> None:
    """Run code in a fresh interpreter where some packages cannot be imported, as if a launcher had started it."""
    environment = {**os.environ, "WORLD_SIZE": "2", "RANK": "0"}
    command = [sys.executable, "-c", BLOCK.format(blocked=blocked) + code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_imports_with_the_other_libraries_blocked(name: str) -> None:
    others = set(LIBRARIES.values()) - {LIBRARIES.get(name)}
    run_blocked(
        "from benchmark_app.frameworks.registry import load_adapter\n"
        f"assert load_adapter({CASES[name].module!r}).name == {name!r}\n"
        "import os; assert os.environ['WORLD_SIZE'] == '2'",
        others,
    )


def test_the_translation_imports_neither_torch_nor_a_library(name: str) -> None:
    run_blocked(
        "from benchmark_app.frameworks.registry import load_translation\n"
        "from benchmark_app.frameworks.agent import PPOAgent\n"
        f"assert load_translation({CASES[name].module!r}).mapping(PPOAgent())",
        {"torch", "numpy", *LIBRARIES.values()},
    )


def test_the_adapter_bears_the_frameworks_name(name: str) -> None:
    assert adapter_of(name).name == name


def agents_of(name: str) -> list[Agent]:
    found: list[Agent] = [
        PPOAgent(),
        PPOAgent(schedule="fixed", clip_value_loss=True, normalize_advantage="minibatch", learn_noise_std=False),
        PPOAgent(normalize_observations=True, timeout_bootstrap="stock", activation="tanh"),
        PPOAgent(normalize_values=True, precision="mixed"),
    ]
    if "sac" in translation_of(name).ALGORITHMS:
        found += [
            SACAgent(),
            SACAgent(timeout_bootstrap="stock", learn_temperature=False, target_entropy=-2.0, activation="tanh"),
            SACAgent(normalize_observations=True, precision="mixed"),
        ]
    return found


def test_the_mapping_names_every_parameter_once_with_a_reason_where_not_exact(name: str) -> None:
    for agent in agents_of(name):
        table = translation_of(name).mapping(agent)
        assert [row.parameter for row in table] == [*(field.name for field in fields(agent)), "seed"]
        for row in table:
            assert (row.quality == "exact") == (row.reason == ""), row
            assert row.native or row.quality == "unsupported", row


def test_a_row_shows_what_the_configuration_holds_or_says_in_words_what_is_done(name: str) -> None:
    for agent in agents_of(name):
        config = translation_of(name).translate(agent)
        for row in translation_of(name).mapping(agent):
            if row.paths and "=" in row.native and " " not in row.native.partition("=")[0]:
                assert row.native == f"{row.paths[0]}={get(config, row.paths[0])}"
            for path in row.paths:
                get(config, path)


def test_every_setting_of_the_description_reaches_the_configuration_or_is_said_in_words(name: str) -> None:
    """A parameter that changes changes its row."""
    default = {row.parameter: row for row in translation_of(name).mapping(PPOAgent())}
    changed = PPOAgent(
        iterations=7, rollout=8, epochs=3, minibatches=2, learning_rate=3e-4, schedule="fixed", desired_kl=0.02,
        gamma=0.9, lam=0.8, clip=0.1, clip_value_loss=True, value_loss_coef=0.7, entropy_coef=0.02, max_grad_norm=0.3,
        hidden_layers=[5, 6], activation="relu", init_noise_std=0.4, learn_noise_std=False, normalize_observations=True,
        normalize_advantage="minibatch", timeout_bootstrap="stock", precision="mixed", normalize_values=True,
        encoder="cnn", encoder_channels=[8], encoder_kernels=[3], encoder_strides=[1],
    )  # fmt: skip
    rows = {row.parameter: row for row in translation_of(name).mapping(changed)}
    same = {key for key in rows if rows[key] == default[key]}
    unread = {row for row in rows if row.startswith("encoder_") and rows["encoder"].quality == "unsupported"}
    assert same <= {"algorithm", "seed"} | unread | ({"timeout_bootstrap"} if CASES[name].stock_is_exact else set())


def test_the_default_description_is_exact(name: str) -> None:
    assert {row.quality for row in translation_of(name).mapping(PPOAgent())} == {"exact"}


def test_the_configuration_is_plain_data_and_its_own_copy(name: str) -> None:
    for agent in agents_of(name):
        config = translation_of(name).translate(agent)
        assert {type(value) for _, value in leaves(config)} <= {bool, int, float, str, list, dict, type(None)}
        assert config == translation_of(name).translate(agent)
        assert config is not translation_of(name).translate(agent)


def test_every_path_of_a_parameter_marks_it(name: str) -> None:
    translation, agent = translation_of(name), PPOAgent()
    config = translation.translate(agent)
    rows = translation.mapping(agent)
    for row in rows:
        for path in row.paths:
            marked = [found.parameter for found in overridden(rows, nested(path, get(config, path))) if found.reason]
            assert row.parameter in marked


def test_the_differences_are_told_for_every_algorithm(name: str) -> None:
    translation = translation_of(name)
    assert set(translation.DIFFERENCES) == set(translation.ALGORITHMS)
    for texts in translation.DIFFERENCES.values():
        assert texts
        assert all(text[0].isupper() and text.endswith(".") for text in texts)


def test_the_algorithms_are_known_ones(name: str) -> None:
    assert set(translation_of(name).ALGORITHMS) <= set(AGENTS)
    assert "ppo" in translation_of(name).ALGORITHMS


def test_an_unknown_native_key_is_refused_with_the_nearest(name: str) -> None:
    translation, agent = translation_of(name), PPOAgent()
    path = next(path for path, value in leaves(translation.translate(agent)) if path not in translation.RESERVED)
    native = nested(path + "x", 1)
    (problem,) = native_problems(name, translation, agent, native)
    assert problem.startswith(f"framework.native.{path}x=1: {name} has no such setting; did you mean ")
    assert path in problem


def test_a_reserved_native_key_says_what_to_set_instead(name: str) -> None:
    translation, agent = translation_of(name), PPOAgent()
    config = translation.translate(agent)
    for path, instead in translation.RESERVED.items():
        if path in dict(leaves(config)):
            (problem,) = native_problems(name, translation, agent, nested(path, get(config, path)))
            assert instead in problem


def test_a_native_value_of_another_type_is_refused(name: str) -> None:
    translation, agent = translation_of(name), PPOAgent()
    row = next(row for row in translation.mapping(agent) if row.parameter == "gamma")
    (problem,) = native_problems(name, translation, agent, nested(row.paths[0], "much"))
    assert "must be a number" in problem


def test_an_override_takes_effect_and_marks_its_parameter(name: str) -> None:
    translation, agent = translation_of(name), PPOAgent()
    rows = translation.mapping(agent)
    path = next(row.paths[0] for row in rows if row.parameter == "gamma")
    native = nested(path, 0.5)
    assert native_problems(name, translation, agent, native) == []
    assert get(override(translation.translate(agent), native), path) == 0.5
    assert get(translation.translate(agent), path) == 0.99
    (marked,) = [row for row in overridden(rows, native) if row.quality != "exact"]
    assert (marked.parameter, marked.native) == ("gamma", f"{path}=0.5")
    assert f"framework.native.{path}" in marked.reason


def test_one_librarys_configuration_is_not_anothers(name: str) -> None:
    for other in set(CASES) - {name}:
        foreign = translation_of(other).translate(PPOAgent())
        assert native_problems(name, translation_of(name), PPOAgent(), foreign)


def test_a_text_may_stand_for_a_number_and_nothing_for_a_list() -> None:
    translation = translation_of("sb3")
    native = {"ent_coef": 0.1, "target_entropy": -2.0, "policy_kwargs": {"net_arch": {"pi": [8]}}}
    assert native_problems("sb3", translation, SACAgent(), native) == []
    (problem,) = native_problems("sb3", translation, SACAgent(), {"policy_kwargs": {"net_arch": {"pi": 8}}})
    assert "must be a list" in problem


def nested(path: str, value: object) -> dict[str, object]:
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}
