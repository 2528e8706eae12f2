import pytest

from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.thresholds import ThresholdError, as_toml
from benchmark_app.analysis.verdict import Policy
from tests.analysis.compare_cases import thresholds


def own(tmp_path, text):
    file = tmp_path / "own.toml"
    file.write_text(text)
    return thresholds(file)


def test_the_packaged_file_holds_the_documented_policy_and_every_metric_has_a_minimum_effect():
    rules = thresholds()
    assert rules.policy == Policy()
    assert rules.min_effect == {name: metric.min_effect for name, metric in METRICS.items()}
    assert not rules.ignored


def test_a_users_file_replaces_what_it_names_and_nothing_else(tmp_path):
    rules = own(tmp_path, '[policy]\npower = 0.8\n[min_effect]\ntotal_fps = 0.02\n[ignore]\nmetrics = ["ram*"]\n')
    assert rules.policy == Policy(power=0.8)
    assert rules.min_effect["total_fps"] == 0.02
    assert rules.min_effect["collection_fps"] == METRICS["collection_fps"].min_effect
    assert rules.ignored == {"ram_gb", "ram_peak_gb"}


def test_a_full_name_goes_before_a_pattern(tmp_path):
    rules = own(tmp_path, '[min_effect]\n"*_fps" = 0.5\ntotal_fps = 0.02\n')
    assert (rules.min_effect["total_fps"], rules.min_effect["collection_fps"]) == (0.02, 0.5)


def test_the_rules_in_force_can_be_written_and_read_back(tmp_path):
    rules = own(tmp_path, '[policy]\nmin_runs = 5\n[min_effect]\n"*_fps" = 0.5\n[ignore]\nmetrics = ["ram_gb"]\n')
    assert own(tmp_path, as_toml(rules)) == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[policy]\nalpha = 0.05", r"policy.alpha = 0.05: no such key; known: confidence"),
        ("[policy]\nsignificance = 1", r"policy.significance = 1: expected a number above 0 and below 1"),
        ("[policy]\npower = true", r"policy.power = True: expected a number above 0"),
        ("[policy]\nmin_runs = 1", r"policy.min_runs = 1: expected a whole number of at least 2"),
        ("[policy]\nsession_noise = nan", r"policy.session_noise = nan: expected a number of at least 0"),
        ("[min_effect]\nfps = 0.1", r"min_effect.fps = 0.1: no such metric"),
        ("[min_effect]\ntotal_fps = -1", r"min_effect.total_fps = -1: expected a fraction above 0"),
        ('[min_effect]\ntotal_fps = "5 %"', r"min_effect.total_fps = '5 %': expected a fraction"),
        ("[ignore]\nmetrics = 3", r"ignore.metrics = 3: expected a list of names"),
        ('[ignore]\nmetrics = ["fps"]', r"ignore.metrics: fps: no such metric"),
        ("[ignore]\nnames = []", r"ignore.names: no such key; known: metrics"),
        ("[rules]\n", r"rules: no such table; known: policy, min_effect, ignore"),
        ("policy = 3", r"policy = 3: expected a table, written \[policy\]"),
        ("[policy", r"not TOML"),
    ],
)
def test_a_mistake_is_named_with_file_key_and_value(tmp_path, text, message):
    with pytest.raises(ThresholdError, match=message) as caught:
        own(tmp_path, text)
    assert str(caught.value).startswith(f"--thresholds {tmp_path / 'own.toml'}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ThresholdError, match=r"none.toml: No such file"):
        thresholds(tmp_path / "none.toml")
