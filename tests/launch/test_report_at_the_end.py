"""A run of several workflows, and a sweep, leave a report beside their results."""

QUICK = ("agent.iterations=3", "run.report=true")


def test_a_run_of_several_workflows_leaves_a_report_and_says_where(app):
    process = app.synthetic(*QUICK)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    page = (app.run_dir / "report.html").read_text()
    assert "Cartpole-Direct-v0" in page
    assert "report    run/report.html" in out


def test_a_single_workflow_leaves_none_and_neither_does_a_run_that_is_told_not_to(app):
    assert app.status("workflow=training", *QUICK) == 0
    assert not (app.run_dir / "report.html").exists()
    app.run_dir = app.folder / "other"
    assert app.status("agent.iterations=3", "run.report=false") == 0
    assert not (app.run_dir / "report.html").exists()


def test_a_sweep_leaves_one_report_for_all_its_runs(app):
    process = app.synthetic("-m", *QUICK, "seed=1,2", "hydra.sweep.dir=sweep", run_dir=False)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert [path.relative_to(app.folder).as_posix() for path in app.folder.rglob("report.html")] == [
        "sweep/report.html"
    ]


def test_a_report_that_cannot_be_written_is_told_in_a_line_and_changes_nothing_else(app):
    process = app.synthetic("-m", *QUICK, "workflow=training", "seed=1", "hydra.sweep.dir=sweep", run_dir=False)
    (app.folder / "sweep" / "report.html").mkdir(parents=True)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "benchmark_app: no report was written: " in err
    assert len(list((app.folder / "sweep").glob("cartpole-*/attempt-1/training.json"))) == 1
