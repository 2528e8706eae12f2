from dataclasses import dataclass
from typing import ClassVar

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import JointRow, Source, TaskDeclaration

DECLARATION = TaskDeclaration(
    suite="classic",
    title="Sliding",
    summary="A mass on a rail is pushed to the middle.",
    robot_type="mass",
    control="effort",
    success="The mass is within 10 cm of the middle.",
    solved_at=0.9,
    reward_terms={"distance": "-1 per second and metre from the middle", "effort": "-0.1 per second and action²"},
    metrics={"final_distance": "from the middle [m]", "fastest": "largest speed [m/s]"},
    joints=(JointRow(name="slide", lower=-4.0, upper=4.0, damping=0.5),),
    engines=("newton_mjwarp",),
    sources=(Source(what="mass.xml", origin="this project", licence="Apache-2.0", licence_file="LICENSE"),),
)


@dataclass(kw_only=True)
class SlidingCfg(EnvCfg):
    declaration: ClassVar[TaskDeclaration] = DECLARATION

    name: str = "sliding"
    module: str = "tests.check.sliding"
    gym_id: str = "Sliding-Test-v0"
    physics_dt: float = 0.01
    decimation: int = 4
    episode_length_s: float = 1.6

    @property
    def description(self):
        return "Push the mass to the middle."

    def conventions(self):
        return super().conventions() | {
            "observations": {
                "policy": [
                    {"name": "position", "unit": "m", "meaning": "from the middle"},
                    {"name": "velocity", "unit": "m/s", "meaning": "along the rail"},
                ]
            },
            "actions": [{"name": "push", "unit": "2 N", "meaning": "along the rail, clamped to [-1, 1]"}],
        }
