"""The checks fail on engines that are wrong, each in one respect, and by no more than a user would not notice."""

import pytest

from benchmark_app.physics.availability import missing

from . import broken, test_capabilities, test_contacts, test_facts, test_frames, test_joints, test_motion, test_rows
from .robots import ARM, BALL, PENDULUM, UPRIGHT

CASES = [
    (
        broken.SwappedJoints,
        test_joints.test_an_effort_moves_the_joint_it_is_meant_for_and_others_only_through_their_inertia,
        (False,),
    ),
    (
        broken.CentreOfMassVelocity,
        test_frames.test_a_linear_velocity_is_that_of_the_frame_origin_and_not_of_the_centre_of_mass,
        (),
    ),
    (broken.CentreOfMassVelocity, test_frames.test_a_floating_robot_shows_the_state_it_was_put_into, ()),
    (broken.ScalarFirst, test_frames.test_links_of_a_fixed_robot_are_where_its_joints_put_them, (ARM,)),
    (broken.ScalarFirst, test_frames.test_a_quarter_turn_about_the_vertical_takes_x_to_y, ()),
    (broken.SpinInBodyAxes, test_frames.test_an_angular_velocity_is_in_world_axes, ()),
    (broken.Heavy, test_motion.test_a_floating_root_falls_and_flies_on_the_parabola, ()),
    (broken.Heavy, test_motion.test_the_centre_of_mass_of_a_tumbling_robot_flies_on_the_parabola, ()),
    (broken.Heavy, test_motion.test_a_pendulum_swings_with_the_period_of_the_elliptic_integral, (1.6,)),
    (broken.Heavy, test_motion.test_a_swinging_chain_keeps_its_energy, ()),
    (broken.Accelerating, test_motion.test_momentum_stays_where_nothing_pulls, ()),
    (broken.Accelerating, test_motion.test_energy_stays_where_nothing_pulls, ()),
    (broken.LittleArmature, test_joints.test_an_armature_is_inertia_and_nothing_else, ()),
    (broken.LittleDamping, test_joints.test_damping_makes_a_speed_die_away_exponentially, ()),
    (broken.WideLimits, test_joints.test_limits_hold_against_a_push_and_a_swing, ()),
    (broken.Tireless, test_joints.test_an_effort_beyond_the_limit_is_the_limit_bitwise, ()),
    (
        broken.HeldLaw,
        test_joints.test_the_pd_law_acts_at_every_physics_step_on_present_positions_and_velocities,
        ((6.0, 0.9),),
    ),
    (broken.Sunken, test_contacts.test_a_body_comes_to_rest_at_its_own_height, (BALL, UPRIGHT, 0.1)),
    (
        broken.Slippery,
        test_contacts.test_a_box_slides_down_a_steeper_slope_with_what_friction_leaves_of_gravity,
        ((1.0, 0.0),),
    ),
    (broken.WrongMass, test_facts.test_an_engine_has_the_robot_of_the_table, (PENDULUM.name,)),
    (broken.Unrecorded, test_capabilities.test_a_recorded_body_is_replayed_without_running_it_again, ()),
    (broken.Forgetful, test_capabilities.test_an_imported_state_goes_on_bitwise_as_the_exported_one, (True,)),
]
ON_ROWS = [
    (broken.Noisy, test_rows.test_the_same_start_gives_the_same_motion_bitwise),
    (broken.Leaky, test_rows.test_a_row_depends_neither_on_the_others_nor_on_how_many_there_are),
    (broken.ResetsTooMuch, test_rows.test_a_reset_row_is_bitwise_a_fresh_start_and_the_others_do_not_notice),
]


pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def sound():
    if reason := missing(broken.SOUND):
        pytest.skip(f"{broken.SOUND}: {reason}")


def test_an_engine_that_is_wrapped_and_sound_passes(tmp_path):
    engine = broken.Broken(tmp_path)
    for _, check, arguments in CASES:
        check(engine, *arguments)
    for _, check in ON_ROWS:
        check(test_rows.Swinging(engine))
    engine.close()


def named(case):
    return f"{case[0].__name__}-{case[1].__name__[5:40]}"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_wrong_engine_is_caught(case, tmp_path):
    defect, check, arguments = case
    engine = defect(tmp_path)
    with pytest.raises(AssertionError):
        check(engine, *arguments)
    engine.close()


@pytest.mark.parametrize("case", ON_ROWS, ids=named)
def test_an_engine_whose_rows_are_wrong_is_caught(case, tmp_path):
    defect, check = case
    engine = defect(tmp_path)
    with pytest.raises(AssertionError):
        check(test_rows.Swinging(engine))
    engine.close()


def test_contacts_dropped_in_silence_are_caught(tmp_path):
    engine = broken.Silent(tmp_path)
    with pytest.raises(AssertionError, match="in silence"):
        test_contacts.require_overflow(engine, "contact_overflow")
    engine.close()
