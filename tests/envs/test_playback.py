"""Plans, gating rules, windows and videos, on an engine that only pretends."""

import inspect
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmark_app.envs.playback import CameraCfg, EnvPlayCapabilities, Playback, PlayRenderPlan
from benchmark_app.rendering.play_cfg import PlayRendererCfg

from .painter import ALL, CAMERA, DOT, STATE, VIDEO, WINDOW, N, mode, played, untouched


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


@pytest.fixture
def display(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")


def plan(env, name, steps=2, video="out.mp4"):
    return env.resolve_play_render_plan(play_render_mode=name, play_steps=steps, output_video=video)


# Signatures are public.


PUBLIC = {
    "init_play_renderer": "render_spacing=None, render_offset_mode=None, *, headless=False, capture=False, width=1280, "
    "height=720, camera_kwargs=None",
    "render": "mode='rgb_array'",
    "capture_play_video_frame": "",
    "resolve_play_render_plan": "*, play_render_mode, play_steps, output_video",
    "run_playback": "*, initialize, step, num_steps, output_video=None, render_spacing=None, render_offset_mode=None, "
    "headless=None, record_video=None, frame_state_getter=None, camera_kwargs=None, debug_overlay_getter=None, "
    "on_frame=None",
    "run_playback_mode": "*, play_render_mode, play_steps, output_video, initialize, step, render_spacing=None, "
    "render_offset_mode=None, frame_state_getter=None, camera_kwargs=None, debug_overlay_getter=None, on_frame=None, "
    "on_plan=None",
    "get_physics_state_snapshot": "",
    "get_physics_state_layout": "",
    "get_playback_model": "env_index=None",
    "get_playback_mocap_state": "env_index=0",
    "get_scene_visual_model_file": "",
}


@pytest.mark.parametrize("name", PUBLIC)
def test_names_and_defaults_are_those_of_the_public_page(name):
    signature = inspect.signature(getattr(Playback, name))
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
    assert str(inspect.Signature(bare)) == f"({PUBLIC[name]})"


# Plans.


def test_none_resolves_to_nothing_whatever_else_is_wrong():
    env, _, _ = played()
    assert plan(env, "none", steps=-1, video=None) == PlayRenderPlan(mode="none")
    assert plan(env, "none").headless
    assert not plan(env, "none").record_video


def test_record_needs_steps_output_and_capability():
    env, _, _ = played(**VIDEO)
    assert plan(env, "record", 5, Path("a") / "b.mp4") == PlayRenderPlan(
        mode="record", num_steps=5, output_video=os.path.join("a", "b.mp4"), renderer="Painter"
    )
    assert plan(env, "record").headless
    assert plan(env, "record").record_video
    for steps in (None, 0, -3, True, 2.0):
        with pytest.raises(ValueError, match=f"play_steps={steps}: must be a number of steps greater than 0"):
            plan(env, "record", steps=steps)
    for video in (None, ""):
        with pytest.raises(ValueError, match=r"output_video=.*: recording needs the path"):
            plan(env, "record", video=video)
    with pytest.raises(NotImplementedError, match=r"Painter cannot record .* supports_native_video_capture"):
        plan(played(**WINDOW)[0], "record")


@pytest.mark.usefixtures("display")
def test_interactive_needs_the_capability_and_no_output():
    env, _, _ = played(**WINDOW)
    assert plan(env, "interactive", None) == PlayRenderPlan(mode="interactive", renderer="Painter")
    assert plan(env, "interactive", 7).num_steps == 7
    assert not plan(env, "interactive").headless
    assert not plan(env, "interactive").record_video
    with pytest.raises(ValueError, match="play_steps=0"):
        plan(env, "interactive", 0)
    with pytest.raises(NotImplementedError, match=r"Painter cannot open a window.*native_interactive_renderer"):
        plan(played(**VIDEO)[0], "interactive")


def test_interactive_needs_a_display():
    with pytest.raises(RuntimeError, match="DISPLAY"):
        plan(played(**WINDOW)[0], "interactive")


@pytest.mark.parametrize("name", ["auto", None])
@pytest.mark.parametrize(
    ("variable", "capabilities", "expected"),
    [
        (None, ALL, "record"),
        ("DISPLAY", ALL, "interactive"),
        ("WAYLAND_DISPLAY", ALL, "interactive"),
        ("DISPLAY", VIDEO, "record"),
    ],
)
def test_auto_is_interactive_only_with_window_and_display(monkeypatch, name, variable, capabilities, expected):
    if variable:
        monkeypatch.setenv(variable, "0")
    assert plan(played(**capabilities)[0], name).mode == expected


def test_a_desktop_system_has_a_display(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert plan(played(**ALL)[0], "auto").mode == "interactive"


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="play_render_mode='film': choose one of auto, interactive, record, none"):
        plan(played(**ALL)[0], "film")


# Running a mode.


def test_none_calls_nothing_but_on_plan():
    env, backend, rollout = played(**ALL)
    plans = []
    assert mode(env, rollout, "none", on_plan=plans.append) is None
    assert untouched(backend, rollout)
    assert plans == [PlayRenderPlan(mode="none")]


def test_on_plan_comes_before_anything_else():
    env, backend, rollout = played(**ALL)
    seen = []
    mode(env, rollout, "record", on_plan=lambda found: seen.append((found, untouched(backend, rollout))))
    assert seen == [(plan(env, "record"), True)]


def test_a_plan_that_cannot_be_made_calls_nothing():
    env, backend, rollout = played(**ALL)
    plans = []
    with pytest.raises(ValueError, match="play_steps=None"):
        mode(env, rollout, "record", steps=None, on_plan=plans.append)
    assert untouched(backend, rollout)
    assert not plans


def test_recording_streams_one_frame_per_step_and_returns_the_path():
    env, backend, rollout = played(**VIDEO)
    assert mode(env, rollout, "record", steps=3, video=Path("out.mp4")) == "out.mp4"
    assert (rollout.started, rollout.carried) == (1, [0, 1, 2])
    assert [frame.max() for frame in backend.videos["out.mp4"]] == [0, 1, 2]
    assert backend.names() == ["init", "video", *["capture"] * 3]
    assert backend.calls[1] == ("video", "out.mp4", 1.0)  # one control step is a second here
    assert backend.made() == [PlayRendererCfg(headless=True, capture=True)]


def test_on_frame_sees_every_recorded_frame_and_may_replace_it():
    env, backend, rollout = played(**VIDEO)
    seen = []

    def on_frame(index, frame):
        seen.append((index, frame.max()))
        return np.full_like(frame, 200) if index == 1 else None

    mode(env, rollout, "record", steps=3, on_frame=on_frame)
    assert seen == [(0, 0), (1, 1), (2, 2)]
    assert [frame.max() for frame in backend.videos["out.mp4"]] == [0, 200, 2]


@pytest.mark.parametrize("bad", [np.zeros((2, 5, 3), np.uint8), np.zeros((2, 4, 3), np.float32), [[0]]])
def test_a_replacement_that_is_no_such_frame_is_refused(bad):
    env, backend, rollout = played(**VIDEO)
    with pytest.raises(ValueError, match=r"on_frame's frame: expected uint8 \[2, 4, 3\]"):
        mode(env, rollout, "record", on_frame=lambda index, frame: bad)
    assert not backend.videos


@pytest.mark.usefixtures("display")
def test_on_frame_is_not_called_where_nothing_is_recorded():
    env, _, rollout = played(**ALL)
    mode(env, rollout, "interactive", on_frame=lambda index, frame: pytest.fail("called"))


def test_a_rollout_that_fails_leaves_no_video():
    env, backend, rollout = played(**VIDEO)

    def fail(carry):
        raise OSError("out of luck")

    with pytest.raises(OSError, match="out of luck"):
        env.run_playback(initialize=rollout.initialize, step=fail, num_steps=2, output_video="out.mp4")
    assert not backend.videos


def test_record_with_an_overlay_needs_overlay_support():
    env, backend, rollout = played(**VIDEO)
    with pytest.raises(NotImplementedError, match=r"Painter cannot draw a debug overlay in a video.*debug_overlay"):
        mode(env, rollout, "record", debug_overlay_getter=lambda: None)
    assert untouched(backend, rollout)


def test_record_draws_the_overlay_asked_before_each_frame():
    env, backend, rollout = played(**VIDEO, supports_debug_overlay=True)
    overlays = iter([[DOT, None, None], None])
    mode(env, rollout, "record", debug_overlay_getter=lambda: next(overlays))
    assert [call[2] for call in backend.calls if call[0] == "capture"] == [[DOT, None, None], None]


def test_an_overlay_for_another_number_of_environments_is_refused():
    env, _, rollout = played(**ALL)
    with pytest.raises(ValueError, match="debug overlay: expected one entry for each of 3 environments, got 2"):
        mode(env, rollout, "record", debug_overlay_getter=lambda: [None, None])


@pytest.mark.usefixtures("display")
def test_interactive_drops_an_overlay_it_cannot_draw_with_a_warning():
    env, backend, rollout = played(**{**ALL, "supports_interactive_debug_overlay": False})
    with pytest.warns(UserWarning, match="without the debug overlay: Painter .*supports_interactive_debug_overlay"):
        mode(env, rollout, "interactive", debug_overlay_getter=lambda: pytest.fail("asked"))
    assert len(rollout.carried) == 2
    assert all(call[2] is None for call in backend.calls if call[0] == "show")


@pytest.mark.usefixtures("display")
def test_interactive_drops_a_camera_its_window_rejects_with_a_warning():
    env, backend, rollout = played(**{**ALL, "supports_interactive_camera": False})
    with pytest.warns(UserWarning, match="without the camera profile: Painter .*supports_interactive_camera"):
        mode(env, rollout, "interactive", camera_kwargs=CAMERA)
    assert len(rollout.carried) == 2
    assert [cfg.camera for cfg in backend.made()] == [None]


@pytest.mark.usefixtures("display")
def test_interactive_keeps_what_its_window_can_show():
    env, backend, rollout = played(**ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mode(env, rollout, "interactive", camera_kwargs=CAMERA, debug_overlay_getter=lambda: [DOT, None, None])
    assert [cfg.camera for cfg in backend.made()] == [CameraCfg(**CAMERA)]
    assert [call[2] for call in backend.calls if call[0] == "show"] == [[DOT, None, None]] * 2


@pytest.mark.usefixtures("display")
def test_a_renderers_own_not_implemented_error_is_not_mistaken_for_a_rejected_camera():
    env, _, rollout = played(**ALL)

    def make(cfg):
        raise NotImplementedError("camera_kwargs")

    env._make_play_renderer = make
    with pytest.raises(NotImplementedError, match="camera_kwargs"):
        mode(env, rollout, "interactive", camera_kwargs=CAMERA)


def test_record_keeps_the_camera_whatever_the_window_accepts():
    env, backend, rollout = played(**VIDEO)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mode(env, rollout, "record", camera_kwargs=CameraCfg(**CAMERA), render_offset_mode="grid")
    assert backend.made() == [
        PlayRendererCfg(headless=True, capture=True, camera=CameraCfg(**CAMERA), render_offset_mode="grid")
    ]


@pytest.mark.usefixtures("display")
def test_a_window_runs_until_it_is_closed():
    env, backend, rollout = played(**WINDOW)
    backend.frames_until_closed = 4
    assert mode(env, rollout, "interactive", steps=None) is None
    assert rollout.carried == [0, 1, 2, 3]
    assert backend.names() == ["init", *["show"] * 4]
    assert backend.made() == [PlayRendererCfg()]


@pytest.mark.usefixtures("display")
def test_a_window_stops_after_the_steps_asked_for():
    env, _, rollout = played(**WINDOW)
    mode(env, rollout, "interactive", steps=3)
    assert rollout.carried == [0, 1, 2]


# Running directly.


@pytest.mark.usefixtures("display")
@pytest.mark.parametrize(
    ("capability", "asked"),
    [
        ("supports_native_interactive_renderer", {}),
        ("supports_interactive_debug_overlay", {"debug_overlay_getter": lambda: None}),
        ("supports_interactive_camera", {"camera_kwargs": CAMERA}),
        ("supports_native_video_capture", {"output_video": "out.mp4"}),
        ("supports_debug_overlay", {"output_video": "out.mp4", "debug_overlay_getter": lambda: None}),
        ("supports_physics_state_playback", {"frame_state_getter": lambda: np.zeros((N, 3))}),
    ],
)
def test_run_playback_refuses_what_is_not_declared_before_it_starts(capability, asked):
    declared = {**ALL, capability: False}
    while True:  # take away what needs it, too
        try:
            EnvPlayCapabilities(**declared)
        except ValueError as error:
            declared[str(error).split("=")[0]] = False
        else:
            break
    env, backend, rollout = played(**declared)
    with pytest.raises(NotImplementedError, match=f"does not declare {capability}"):
        env.run_playback(num_steps=2, **rollout.hooks, **asked)
    assert untouched(backend, rollout)
    env, _, rollout = played(**ALL)
    env.run_playback(num_steps=2, **rollout.hooks, **asked)
    assert len(rollout.carried) == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"output_video": "a.mp4", "num_steps": None}, "num_steps=None"),
        ({"output_video": "a.mp4", "num_steps": 0}, "num_steps=0"),
        ({"record_video": True, "num_steps": 2}, "output_video=None"),
        ({"headless": True, "num_steps": 2}, "nothing would be shown or captured"),
        ({"output_video": "a.mp4", "num_steps": 2, "render_spacing": 0.0}, "render_spacing=0.0"),
        ({"output_video": "a.mp4", "num_steps": 2, "render_spacing": 2.0}, "each environment has a picture of its own"),
        ({"output_video": "a.mp4", "num_steps": 2, "render_offset_mode": "ring"}, "choose one of grid, or None"),
        (
            {"output_video": "a.mp4", "num_steps": 2, "camera_kwargs": {"zoom": 2}},
            "unknown zoom; a camera has position",
        ),
        ({"output_video": "a.mp4", "num_steps": 2, "camera_kwargs": {"target": (0, 0, 0)}}, "needs position"),
        ({"output_video": "a.mp4", "num_steps": 2, "camera_kwargs": {**CAMERA, "env_index": 3}}, "env_index=3"),
    ],
)
def test_run_playback_refuses_what_makes_no_sense_before_it_starts(asked, message):
    env, backend, rollout = played(**ALL)
    with pytest.raises(ValueError, match=message):
        env.run_playback(**rollout.hooks, **asked)
    assert untouched(backend, rollout)


def test_a_window_needs_a_display_in_run_playback_too():
    env, backend, rollout = played(**ALL)
    with pytest.raises(RuntimeError, match="DISPLAY"):
        env.run_playback(num_steps=1, **rollout.hooks)
    assert untouched(backend, rollout)


@pytest.mark.usefixtures("display")
def test_record_video_false_leaves_the_output_unwritten():
    env, backend, rollout = played(**ALL)
    assert env.run_playback(num_steps=2, output_video="a.mp4", record_video=False, **rollout.hooks) is None
    assert backend.names() == ["init", "show", "show"]


@pytest.mark.usefixtures("display")
def test_a_video_recorded_beside_a_window_gets_all_its_steps():
    env, backend, rollout = played(**ALL)
    backend.frames_until_closed = 2
    assert env.run_playback(num_steps=4, output_video="a.mp4", headless=False, **rollout.hooks) == "a.mp4"
    assert len(backend.videos["a.mp4"]) == 4
    assert backend.names().count("show") == 2


def test_frames_are_drawn_from_the_snapshots_given():
    env, backend, rollout = played(**VIDEO, **STATE)
    mode(env, rollout, "record", frame_state_getter=env.get_physics_state_snapshot)
    drawn = [call[1] for call in backend.calls if call[0] == "capture"]
    assert [state[0, 0] for state in drawn] == [1.0, 2.0]  # the time after each step
