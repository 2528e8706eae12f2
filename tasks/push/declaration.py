"""What the push task claims to be."""

from __future__ import annotations

from benchmark_app.envs.declaration import JointRow, Source, TaskDeclaration, looked_at

DECLARATION = TaskDeclaration(
    suite="manipulation",
    title="Push",
    summary="A two-joint arm with a peg shoves a box across a table until the box's centre is within 3 cm of a random "
    "target, and leaves it there. The box is only ever moved by contact, and turns away when it is pushed off its "
    "middle: the arm has to go round it and push from the right side. It is the smallest task in which engines must "
    "agree about contact, and libraries must learn more than following a target.",
    robot_type="planar_arm",
    control="joint_position",
    success="The box's centre was within 3 cm of the target at 10 control steps in a row, once in the episode.",
    solved_at=0.8,
    reward_terms={
        "approach": "distance of the peg from where it should push, times -2 per second and metre",
        "distance": "box to target, times -3 per second and metre",
        "distance_fine": "1 - tanh(box to target / 5 cm), times 1 per second",
        "action_rate": "squared change of the action since the last step, times -0.01 per second",
    },
    metrics={
        "final_distance": "box to target at the last step [m]",
        "time_to_success": "from the start of the episode to the step that made it a success [s]; none: it was none",
    },
    joints=(
        JointRow(name="shoulder", lower=-2.0, upper=2.0, damping=0.2, armature=0.1),
        JointRow(name="elbow", lower=0.2, upper=2.6, damping=0.2, armature=0.1),
        JointRow(name="box_x", damping=10.0),
        JointRow(name="box_y", damping=10.0),
        JointRow(name="box_yaw", damping=0.01),
    ),
    # Kamino runs it and agrees, but stops short of its tolerance once in some 10 000 steps of a row, which fails a run.
    engines=("newton_mjwarp", "ovphysx"),
    sources=(
        Source(what="assets", origin="this project", licence="Apache-2.0", licence_file="assets/LICENSE"),
        Source(
            what="the idea of pushing a block to a target in the plane, as in PushT",
            origin="https://github.com/real-stanford/diffusion_policy",
            revision="02373793ac4d0f63582c20fe1cff76034837edb5",
            licence="MIT",
        ),
    ),
    differs=(
        "PushT asks for the pose of a T, and steers a free disc; here a box is to be at a position, and a two-joint "
        "arm pushes it: the smallest robot that must go round a box, so that it can be learned on a CPU.",
        "The box is part of the robot's model: three joints let it slide and turn on the table, and their damping is "
        "its friction there. It resists in proportion to its speed, and does not tip.",
        "An episode goes on after success until its time is up, so that no policy can gain by putting success off.",
    ),
    links={"PushT (Diffusion Policy)": "https://diffusion-policy.cs.columbia.edu/"},
    contacts=True,
    view=looked_at((1.35, -1.1, 0.95), (0.3, 0.0, -0.05)),
)
