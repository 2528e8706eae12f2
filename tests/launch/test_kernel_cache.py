"""`kernel_cache`: where compiled kernels go, what of it is recorded, and runs that share the folder."""

import json
import os
import shutil
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("/proc/kernels", "kernel_cache=/proc/kernels: cannot be written ("),
        ("file", "/file: cannot be written (File exists); name another folder, or null for Warp's own"),
        ("file/kernels", "/file/kernels: cannot be written (Not a directory)"),
        ("", "kernel_cache=: must name a folder, or be null"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_one_line(app, value, message):
    (app.folder / "file").write_text("")
    process = app.synthetic(f"kernel_cache={value}")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert len(err.splitlines()) == 1
    assert message in err
    assert not app.run_dir.exists()


def test_the_worker_is_given_the_folder_as_seen_from_where_the_user_stands(app):
    assert app.status("workflow=runtime", "kernel_cache=my/kernels") == 0
    spec = json.loads((app.run_dir / "journal" / "runtime.spec.json").read_text())
    assert spec["settings"]["kernel_cache"] == str(app.folder / "my" / "kernels")
    assert (app.folder / "my" / "kernels").is_dir()


@pytest.mark.parametrize(("setting", "given"), [("null", "theirs"), ("kernels", "kernels")])
def test_without_a_folder_the_user_s_own_variable_holds(app, setting, given):
    script = app.folder / "python"
    script.write_text(f'#!/bin/sh\necho "$WARP_CACHE_PATH" > "{app.folder}/given"\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    theirs = {"WARP_CACHE_PATH": str(app.folder / "theirs")}
    assert app.status("workflow=startup", f"kernel_cache={setting}", f"worker.python={script}", env=theirs) == 0
    assert (app.folder / "given").read_text().strip() == str(app.folder / given)


@pytest.mark.engine
@pytest.mark.slow
def test_two_runs_that_compile_into_one_folder_at_once_complete_and_the_next_is_warm(app):
    # Fifty modules take a minute to compile: what the user's cache has of them is copied, but for the environment's.
    where = "import warp; warp.init(); print(warp.config.kernel_cache_dir)"
    said = subprocess.run([sys.executable, "-c", where], capture_output=True, text=True, check=True).stdout
    usual = said.splitlines()[-1]
    kept = app.folder / "kernels" / os.path.basename(usual)
    shutil.copytree(usual, kept, ignore=shutil.ignore_patterns("wp_benchmark_app.envs.kernels_*"))

    def start(name):
        small = ("workflow=startup", "startup.top_n=0", "num_envs=4", "device=cpu", "kernel_cache=kernels")
        return app.start(*small, f"hydra.run.dir={app.folder / name}", run_dir=False)

    def extra(name):
        return json.loads((app.folder / name / "startup.json").read_text())["extra"]

    both = [start("one"), start("two")]
    ended = [process.communicate(timeout=280) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    for name in ("one", "two"):
        assert extra(name)["kernel_cache"] == "cold"
        assert extra(name)["kernel_modules_compiled"] >= 1
    third = start("three")
    _, err = third.communicate(timeout=280)
    assert third.returncode == 0, err
    assert extra("three")["kernel_cache"] == "warm"
    assert extra("three")["kernel_modules_compiled"] == 0
    assert extra("three")["kernel_cache_dir"] == str(kept)
    assert list(kept.glob("wp_benchmark_app.envs.kernels_*"))  # the environment's own kernels count, too
