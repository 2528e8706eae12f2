"""Our own TensorBoard series: one set of tags, one point per iteration, whatever the library."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmark_app.journal.events import Iteration
from benchmark_app.launch.records import record
from benchmark_app.launch.series import SeriesWriter

TAGS = {
    "learning/return",
    "learning/episode_length",
    "learning/success_rate",
    "speed/total_fps",
    "speed/collection_fps",
    "time/iteration_s",
    "time/collection_s",
    "time/learning_s",
}


def iteration(index: int, reward: float | None = 1.0) -> Iteration:
    return Iteration(
        t=100.0 + index, index=index, frames=64, iteration_s=0.5, collection_s=0.2, learning_s=0.3, hook_s=0.0,
        env_step_s=[], episodes=1, reward=reward, ep_length=reward, success_rate=None,
    )  # fmt: skip


def test_one_point_per_iteration_and_tag(tmp_path: Path) -> None:
    writer = SeriesWriter(tmp_path, first_step=640)
    writer.show([iteration(0, None)])
    writer.show([iteration(1, 2.5), iteration(2, 3.0)])
    writer.close()
    log = EventAccumulator(str(tmp_path)).Reload()
    assert set(log.Tags()["scalars"]) == TAGS - {"learning/success_rate"}
    assert [(point.step, point.value) for point in log.Scalars("learning/return")] == [(768, 2.5), (832, 3.0)]
    assert [point.value for point in log.Scalars("speed/total_fps")] == [128.0] * 3
    assert [point.value for point in log.Scalars("speed/collection_fps")] == [320.0] * 3


def test_records_are_those_of_tensorboards_own_writer() -> None:
    from tensorboard.summary.writer.record_writer import RecordWriter

    for data in (b"", b"123456789", bytes(range(256)) * 5):
        theirs = io.BytesIO()
        RecordWriter(theirs).write(data)
        assert record(data) == theirs.getvalue()


def test_a_training_does_not_import_all_of_tensorboard_for_its_curves() -> None:
    code = (
        "import sys; from pathlib import Path; from benchmark_app.launch.series import SeriesWriter\n"
        "SeriesWriter(Path('.')).load()\n"
        "print({'numpy', 'boto3', 'tensorboard.summary'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_nothing_is_written_where_nothing_is_learned(tmp_path: Path) -> None:
    writer = SeriesWriter(tmp_path / "series")
    writer.show([])
    writer.close()
    assert not (tmp_path / "series").exists()


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("in the way")
    writer = SeriesWriter(tmp_path / "series")
    writer.show([iteration(0)])
    writer.show([iteration(1)])
    writer.close()


def test_a_run_leaves_them_beside_the_librarys_own(app) -> None:
    assert app.status("workflow=training", "agent.iterations=3", "training.warmup_iterations=0") == 0
    (file,) = (app.run_dir / "logs" / "series").iterdir()
    assert file.name == "events.out.tfevents.series"
    log = EventAccumulator(str(file.parent)).Reload()
    assert len(log.Scalars("time/iteration_s")) == 3
    with pytest.raises(KeyError):
        log.Scalars("no/such")
