"""A package of somebody else's that offers a task, as an installer would lay it out."""

import textwrap

MODULE = """
    from dataclasses import dataclass
    from benchmark_app.tasks.cartpole import Cfg as Cartpole
    from benchmark_app.tasks.cartpole import load_env

    @dataclass(kw_only=True)
    class Cfg(Cartpole):
        declaration = None
        gym_id: str = "Tilted-v0"
"""
SETTINGS = """
    name: {name}
    module: {module}
    gym_id: Tilted-v0
    physics_dt: 0.008
    decimation: 2
    episode_length_s: 1.6
"""


def offer(site, name="tilted", module="pole_tasks.tilted", package="pole-tasks", settings=SETTINGS, code=MODULE):
    """Put a package into a folder of packages that is on the path; return the module's folder."""
    folder = site.joinpath(*module.split("."))
    for group in ("task", "tuned"):
        (folder / "conf" / group).mkdir(parents=True)
    for parent in folder.relative_to(site).parents:
        (site / parent / "__init__.py").touch()
    (folder / "__init__.py").write_text(textwrap.dedent(code))
    (folder / "conf" / "task" / f"{name}.yaml").write_text(textwrap.dedent(settings).format(name=name, module=module))
    tuned = "# @package _global_\nagent:\n  iterations: 7\n"
    (folder / "conf" / "tuned" / f"{name}_ppo.yaml").write_text(tuned)
    info = site / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[benchmark_app.tasks]\n{name} = {module}\n")
    return folder
