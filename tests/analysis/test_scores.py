"""Scores: by task, suite and overall, for every seed and over seeds; and what is none."""

import json
import math

import pytest

from benchmark_app.analysis.scores import Play, score
from benchmark_app.analysis.verbs.scores import run
from benchmark_app.analysis.writers.scores import FORMAT
from benchmark_app.bundle.schema import RunConfig

from .made import write


def episode(index, seed, success, total=1.0, **changes):
    row = {"index": index, "seed": seed, "return": total, "max_reward": total / 2, "length": 10, "success": success}
    return row | {"metrics": {}, "reward_terms": {}} | changes


def episodes(n_success, n_episodes, seed=1, **changes):
    return [episode(i, seed, i < n_success, **changes) for i in range(n_episodes)]


def play(task, seed, rows, *, suite="classic", recipe=(("framework", "rsl_rl"),), started="2026-11-30", iterations=150):
    return Play(f"{task}-{seed}-{started}", started, recipe, iterations, task, suite, seed, rows)


def levels(plays):
    (scores,), _ = score(plays)
    return {level.name: level for level in scores.levels}


def place(
    folder,
    name,
    seed=1,
    rows=None,
    *,
    task="Cartpole-Direct-v0",
    suite="classic",
    status="completed",
    extra=None,
    **more,
):
    """A play's folder: its bundle, and its episodes unless `rows` is False."""
    rows = episodes(9, 10, seed) if rows is None else rows
    kept = rows or []
    said = {"n_episodes": len(kept), "n_success": 9, "n_episodes_planned": 10, "task_suite": suite} | (extra or {})
    run_ = {"seed": seed, "task": task, "status": status, "run_id": name} | more
    path = write(folder, "play", seed, f"{name}/play.json", run=run_, extra=said)
    if rows is not False:
        path.with_name("episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def scored(folder, capsys, *options):
    status = run([str(folder), *options])
    return status, capsys.readouterr().out


def test_a_seed_is_judged_by_its_own_episodes():
    found = levels([play("A", 1, episodes(9, 10)), play("A", 2, episodes(0, 10, 2))])["A"]
    one, two = (seed.evaluation for seed in found.seeds)
    assert (one.n_success, one.n_episodes) == (9, 10)
    assert one.pc_success_ci95 == pytest.approx((59.585, 98.212), abs=5e-4)
    assert two.pc_success_ci95 == pytest.approx((0.0, 27.753), abs=5e-4)


def test_episodes_of_several_seeds_are_never_pooled():
    """Three policies of 1000 episodes each are three values, however narrow the interval of each of them is."""
    found = levels([play("A", seed, episodes(n, 1000, seed)) for seed, n in ((1, 900), (2, 500), (3, 700))])["A"]
    assert [seed.evaluation.n_episodes for seed in found.seeds] == [1000] * 3
    over = found.over_seeds("pc_success")
    assert (over.n_seeds, over.mean, over.std) == (3, pytest.approx(70.0), pytest.approx(20.0))
    half = 4.302652729911275 * 20 / math.sqrt(3)  # Student, 2 degrees of freedom
    assert over.ci95 == pytest.approx((70 - half, 100.0))


def test_one_seed_and_seeds_without_spread_have_no_interval_over_seeds():
    one = levels([play("A", 1, episodes(10, 10))])["A"].over_seeds("pc_success")
    assert (one.n_seeds, one.mean, one.std, one.ci95) == (1, 100.0, None, None)
    same = levels([play("A", seed, episodes(10, 10, seed)) for seed in (1, 2)])["A"].over_seeds("pc_success")
    assert (same.n_seeds, same.std, same.ci95) == (2, 0.0, None)


def test_suites_and_overall_pool_the_episodes_of_their_tasks_seed_by_seed():
    plays = [
        play("A", 1, episodes(10, 10)),
        play("B", 1, episodes(0, 30)),
        play("C", 1, episodes(20, 40), suite="locomotion"),
        play("A", 2, episodes(0, 10, 2)),
        play("B", 2, episodes(0, 30, 2)),
        play("C", 2, episodes(0, 40, 2), suite="locomotion"),
    ]
    found = levels(plays)
    assert list(found) == ["A", "B", "classic", "C", "locomotion", "overall"]
    assert [level.kind for level in found.values()] == ["task", "task", "suite", "task", "suite", "overall"]
    assert [seed.evaluation.pc_success for seed in found["classic"].seeds] == [25.0, 0.0]
    assert [seed.evaluation.pc_success for seed in found["overall"].seeds] == [37.5, 0.0]
    assert found["overall"].seeds[0].evaluation.n_episodes == 80


def test_a_seed_that_lacks_a_task_has_no_value_for_the_suite():
    plays = [play("A", 1, episodes(1, 10)), play("B", 1, episodes(1, 10)), play("A", 2, episodes(9, 10, 2))]
    found = levels(plays)
    assert [seed.seed for seed in found["A"].seeds] == [1, 2]
    assert [seed.seed for seed in found["classic"].seeds] == [1]
    assert found["classic"].incomplete == ((2, ("B",)),)


def test_a_task_without_success_counts_in_returns_only():
    plays = [play("A", 1, episodes(5, 10)), play("B", 1, [episode(i, 1, None, 3.0) for i in range(10)])]
    found = levels(plays)["overall"].seeds[0].evaluation
    assert (found.n_success, found.n_judged, found.n_episodes) == (5, 10, 20)
    assert found.reward.mean == 2.0


def test_of_two_plays_of_one_recipe_task_and_seed_the_newest_counts():
    old, new = (play("A", 1, episodes(n, 10), started=day) for n, day in ((1, "2026-11-01"), (9, "2026-11-02")))
    (scores,), replaced = score([new, old])
    assert scores.levels[0].seeds[0].evaluation.n_success == 9
    assert replaced == [(old, new)]


def test_tasks_with_budgets_and_numbers_of_environments_of_their_own_have_a_suite_and_overall(tmp_path, capsys):
    """As with the shipped settings: each task is tuned for itself, and a suite may be played in parts."""
    one, two = (
        RunConfig("newton_mjwarp", presets=["agent=ppo", f"suite={name}"]) for name in ("classic", "locomotion")
    )
    place(tmp_path, "a", extra={"policy_iterations": 150}, num_envs=64, config=one)
    more = {"task": "Ant-v0", "suite": "locomotion", "extra": {"policy_iterations": 1200}}
    place(tmp_path, "b", rows=episodes(14, 20), **more, num_envs=256, config=two)
    _, text = scored(tmp_path, capsys)
    words = " ".join(text.split())
    assert "Cartpole-Direct-v0 1 150 9 of 10" in words
    assert "Ant-v0 1 1,200 14 of 20" in words
    assert "overall 1 23 of 30" in words


def test_a_suite_line_that_cannot_be_given_says_why(tmp_path, capsys):
    place(tmp_path, "a", extra={"settings": ""})
    place(tmp_path, "b", task="Pendulum-v0", extra={"settings": "agent.learning_rate=0.1"})
    _, text = scored(tmp_path, capsys)
    why = "suites and overall: none, because one task is of this recipe; not of it:"
    assert f"  {why} Pendulum-v0 (differs in settings)\n" in text
    assert f"  {why} Cartpole-Direct-v0 (differs in settings)\n" in text
    (first, _) = json.loads(scored(tmp_path, capsys, "--json")[1])["scores"]
    assert first["elsewhere"] == [{"task": "Pendulum-v0", "differs": ["settings"]}]


def test_of_several_budgets_of_one_task_and_seed_the_newest_play_counts_and_the_other_is_named(tmp_path, capsys):
    place(tmp_path, "a", extra={"policy_iterations": 50}, start_time_utc="2026-11-01T00:00:00+00:00")
    new = place(tmp_path, "b", extra={"policy_iterations": 150}, start_time_utc="2026-11-02T00:00:00+00:00")
    _, text = scored(tmp_path, capsys)
    assert f"seed counts (of a policy of 150 iterations, this one is of 50): {new}\n" in text


def test_seeds_of_several_budgets_have_no_value_over_seeds_and_the_table_says_why(tmp_path, capsys):
    place(tmp_path, "a", extra={"policy_iterations": 50})
    place(tmp_path, "b", 2, extra={"policy_iterations": 150})
    _, text = scored(tmp_path, capsys)
    assert "over seeds  " not in text
    assert "nothing over seeds, because iterations of Cartpole-Direct-v0 differ: seed 1 50, seed 2 150" in text
    assert levels([play("A", 1, episodes(1, 2)), play("A", 2, episodes(1, 2, 2), iterations=9)])["A"].unlike == {
        "A": [150, 9]
    }


def test_what_was_made_otherwise_is_scored_apart():
    scores, _ = score([play("A", 1, episodes(1, 2)), play("A", 1, episodes(2, 2), recipe=(("framework", "skrl"),))])
    assert [dict(one.recipe)["framework"] for one in scores] == ["rsl_rl", "skrl"]


def test_the_table_names_counts_intervals_and_what_they_do_not_say(tmp_path, capsys):
    place(tmp_path, "a", 1)
    place(tmp_path, "b", 2, episodes(0, 10, 2))
    place(tmp_path, "c", 1, episodes(14, 20), task="Ant-v0", suite="locomotion")
    place(tmp_path, "d", 2, episodes(14, 20, 2), task="Ant-v0", suite="locomotion")
    status, text = scored(tmp_path, capsys)
    words = " ".join(text.split())
    assert status == 0
    for expected in (
        "rsl_rl · newton_mjwarp · agent=ppo · cpu · highest",
        "9 of 10 90.00 [59.58, 98.21]",
        "0 of 10 0.00 [0.00, 27.75]",
        "14 of 20 70.00 [48.10, 85.45]",
        "suite classic",
        "suite locomotion",
        "overall",
        "2 seeds",
        "It says nothing about training again.",
        "Seeds are never pooled with episodes",
    ):
        assert expected in words
    assert "70.00 [no spread]" in words


def test_metrics_are_shown_with_the_number_of_episodes_that_have_them(tmp_path, capsys):
    rows = [episode(i, 1, True, metrics={"time": 2.0 if i < 3 else None, "way": None}) for i in range(10)]
    place(tmp_path, "a", 1, rows)
    _, text = scored(tmp_path, capsys)
    assert "time 2 (3 of 10), way - (0 of 10)" in text


def test_json_has_everything_a_program_needs(tmp_path, capsys):
    path = place(tmp_path, "a", 1)
    status, text = scored(tmp_path, capsys, "--json")
    content = json.loads(text)
    assert (status, content["format"]) == (0, FORMAT)
    (one,) = content["scores"]
    assert (one["recipe"]["framework"], one["recipe"]["physics"]) == ("rsl_rl", "newton_mjwarp")
    assert (one["elsewhere"], one["tasks"][0]["unlike_iterations"]) == ([], {})
    (seed,) = one["tasks"][0]["seeds"]
    assert (seed["seed"], seed["paths"]) == (1, [str(path)])
    assert (seed["n_success"], seed["n_episodes"], seed["pc_success"]) == (9, 10, 90.0)
    assert seed["pc_success_ci95"] == pytest.approx([59.585, 98.212], abs=5e-4)
    assert (seed["avg_sum_reward"], seed["avg_max_reward"], seed["avg_length"]) == (1.0, 0.5, 10.0)
    assert one["tasks"][0]["over_seeds"]["pc_success"] == {"n_seeds": 1, "mean": 90.0, "std": None, "ci95": None}
    assert (one["suites"][0]["name"], one["overall"]["name"]) == ("classic", "overall")
    assert "nothing about training again" in content["reading"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"extra": {"smoke": True}}, "smoke: it was made to see that things work, and is never a score"),
        ({"extra": {"synthetic": True}}, "synthetic: a test's worker pretended to play"),
        ({"status": "interrupted"}, "interrupted after 10 of 10 episodes: short episodes end first, so those"),
        ({"status": "crashed"}, "crashed after"),
        ({"rows": False}, "there is no episodes.jsonl beside it"),
        ({"rows": [], "extra": {"n_episodes": 0}}, "holds other episodes than the 0 of the bundle"),
        ({"extra": {"n_episodes": 11}}, "holds other episodes than the 11 of the bundle"),
        ({"rows": [episode(0, 1, True), episode(2, 1, True)]}, "holds other episodes than the 2 of the bundle"),
        ({"rows": episodes(9, 10, seed=2)}, "is of another seed than the bundle's 1"),
        ({"rows": [episode(0, 1, "yes")]}, "cannot be read (line 1 is no episode)"),
        ({"rows": [episode(0, 1, True, metrics={"time": "soon"})]}, "cannot be read (line 1 is no episode)"),
        ({"rows": [episode(0, 1, True, float("nan"))]}, "cannot be read (line 1 is no episode)"),
    ],
)
def test_what_is_no_score_is_left_out_and_named(changes, reason, tmp_path, capsys):
    path = place(tmp_path, "a", 1, **changes)
    status, text = scored(tmp_path, capsys)
    assert status == 1
    assert text.startswith(f"left out {path}: ")
    assert reason in text
    place(tmp_path, "good", 2)
    status, text = scored(tmp_path, capsys)
    assert status == 0
    assert reason in text
    assert "9 of 10" in text


def test_a_missing_file_of_episodes_is_said_with_the_way_to_get_it(tmp_path, capsys):
    place(tmp_path, "a", 1, rows=False)
    assert f"`python -m benchmark_app recover {tmp_path / 'a'}` writes it" in scored(tmp_path, capsys)[1]


def test_where_there_is_no_evaluation_that_is_refused(tmp_path, capsys):
    write(tmp_path, "training")
    assert run([str(tmp_path)]) == 2
    assert "no evaluation found; name folders that hold play.json" in capsys.readouterr().err
    assert run([str(tmp_path / "none")]) == 2
    assert run([]) == 2
