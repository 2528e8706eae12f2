"""An engine with a renderer that only pretends, in an environment, and a rollout to play."""

from contextlib import contextmanager

import numpy as np
import torch

from benchmark_app.envs.playback import DebugPrimitive, EnvPlayCapabilities, PhysicsStateLayout

from .doubles import Glider, GliderEnv

N = 3
VIDEO = {"supports_native_video_capture": True}
WINDOW = {"supports_native_interactive_renderer": True}
STATE = {"supports_physics_state_playback": True}
ALL = dict.fromkeys(EnvPlayCapabilities.__dataclass_fields__, True)
CAMERA = {"position": (1.0, 0.0, 1.0), "target": (0.0, 0.0, 0.0)}
DOT = [DebugPrimitive(kind="sphere", start=(0, 0, 0))]


class Painter(Glider):
    """An engine of which everything can be shown that it declares; what is asked of its renderer is noted here."""

    def __init__(self, num_envs, **capabilities):
        super().__init__(num_envs)
        self.play_capabilities = EnvPlayCapabilities(**capabilities)
        self.calls = []
        self.painted = 0
        self.frames_until_closed = 10**6
        self.videos = {}

    def get_physics_state_snapshot(self, time):
        return np.stack([time, *self.joint_pos.T.numpy(), *self.joint_vel.T.numpy()], 1)

    def get_physics_state_layout(self):
        return PhysicsStateLayout(joint_names=self.joint_names, nq=1, nv=1)

    def get_playback_model(self, env_index=None):
        return ("model", env_index)

    def get_playback_mocap_state(self, env_index=0):
        return np.full((1, 3), float(env_index)), np.tile([0.0, 0.0, 0.0, 1.0], (1, 1))

    def get_scene_visual_model_file(self):
        return "/glider.xml"

    def names(self):
        return [call[0] for call in self.calls]

    def made(self):
        """Settings of the renderers made."""
        return [call[1] for call in self.calls if call[0] == "init"]


class Easel:
    """A renderer that only pretends: it paints frame k in the uniform colour k."""

    def __init__(self, painter):
        self.painter = painter

    def show(self, physics_state=None, overlay=None):
        self.painter.calls.append(("show", physics_state, overlay))
        self.painter.frames_until_closed -= 1
        return self.painter.frames_until_closed > 0

    def capture(self, physics_state=None, overlay=None):
        self.painter.calls.append(("capture", physics_state, overlay))
        self.painter.painted += 1
        return np.full((2, 4, 3), self.painter.painted - 1, np.uint8)

    def close(self):
        self.painter.calls.append(("close",))


class Played(GliderEnv):
    """A glider with a painter as its engine, started."""

    def __init__(self, backend):
        super().__init__(backend.num_envs, steps=100)
        self._backend = backend
        self.init_state()

    def _make_play_renderer(self, cfg):
        self.backend.calls.append(("init", cfg))
        return Easel(self.backend)

    @contextmanager
    def _open_play_video(self, path, fps):
        """In place of the file, its frames; as of the file, there is nothing of a recording that failed."""
        self.backend.calls.append(("video", path, fps))
        frames = []
        yield lambda frame: frames.append(frame.copy())
        self.backend.videos[path] = frames


class Rollout:
    """A rollout that notes its calls and carries the number of steps along."""

    def __init__(self, env):
        self.env = env
        self.started = 0
        self.carried = []

    def initialize(self):
        self.started += 1
        return 0

    def step(self, carry):
        self.env.step(torch.ones(self.env.num_envs, 1))
        self.carried.append(carry)
        return carry + 1

    @property
    def hooks(self):
        return {"initialize": self.initialize, "step": self.step}


def played(**capabilities):
    env = Played(Painter(N, **capabilities))
    return env, env.backend, Rollout(env)


def mode(env, rollout, name, *, steps=2, video="out.mp4", **kwargs):
    return env.run_playback_mode(play_render_mode=name, play_steps=steps, output_video=video, **rollout.hooks, **kwargs)


def untouched(backend, rollout):
    return not backend.calls and not rollout.started and not rollout.carried
