"""Readings of the machine from made /proc and /sys trees, and what the rules make of them."""

import os
import time

import pytest

from benchmark_app.profiling.host import cgroup, machine, other_load, rules
from benchmark_app.profiling.host.conditions import growth, read_host
from benchmark_app.profiling.host.energy import CpuEnergy
from benchmark_app.profiling.host.other_load import Mark, OtherLoad, Watch, between, usable_cores


def write(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


V2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = (
    "31 1 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 1 0:29 /outer /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


# ---------------------------------------------------------------- control groups


def test_the_smallest_limit_on_the_way_up_counts_in_version_2(tmp_path):
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/job/step\n",
            "proc/self/mountinfo": V2,
            "sys/fs/cgroup/job/step/cpu.max": "max 100000\n",
            "sys/fs/cgroup/job/step/memory.max": "max\n",
            "sys/fs/cgroup/job/step/memory.events": "low 0\noom 1\noom_kill 3\n",
            "sys/fs/cgroup/job/step/cpu.stat": "usage_usec 5\nnr_throttled 2\nthrottled_usec 1500000\n",
            "sys/fs/cgroup/job/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/job/memory.max": f"{2**31}\n",
        },
    )
    assert cgroup.limits(tmp_path) == {
        "version": 2,
        "cpu_limit_cores": 1.5,
        "memory_limit_gb": 2.0,
        "cpu_throttled_s": 1.5,
        "cpu_throttled_periods": 2,
        "oom_kills": 3,
    }


def test_version_1_and_a_mount_that_shows_only_a_part_of_the_tree(tmp_path):
    write(
        tmp_path,
        {
            "proc/self/cgroup": "8:memory:/outer/job\n7:cpu,cpuacct:/job\n0::/\n",
            "proc/self/mountinfo": V1,
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 9\nnr_throttled 4\nthrottled_time 2000000000\n",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(2**30),
            "sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    assert cgroup.limits(tmp_path) == {
        "version": 1,
        "cpu_limit_cores": 0.5,
        "memory_limit_gb": 1.0,
        "cpu_throttled_s": 2.0,
        "cpu_throttled_periods": 4,
        "oom_kills": 1,
    }


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/job\n"},
        {"proc/self/cgroup": "0::/job\n", "proc/self/mountinfo": "broken\n- -\n"},
        {"proc/self/cgroup": "0::/job\n", "proc/self/mountinfo": V2},  # mounted, and its files are not there
        {"proc/self/cgroup": "nonsense", "proc/self/mountinfo": V2},
    ],
)
def test_a_container_without_its_groups_files_has_no_limit_that_is_known(tmp_path, files):
    found = cgroup.limits(write(tmp_path, files))
    assert {value for name, value in found.items() if name != "version"} == {None}


def test_only_a_worker_with_a_group_of_its_own_has_a_peak_of_its_group(tmp_path):
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a\n",
            "proc/7/cgroup": "0::/a\n",
            "proc/8/cgroup": "0::/b\n",
            "proc/self/mountinfo": V2,
            "sys/fs/cgroup/a/memory.peak": "1\n",
            "sys/fs/cgroup/b/memory.peak": f"{3 * 2**30}\n",
        },
    )
    assert cgroup.apart(7, tmp_path) is None
    assert cgroup.peak_of(cgroup.apart(8, tmp_path)) == 3 * 2**30


def test_a_kill_for_want_of_memory_is_told_of_the_group_or_else_of_the_machine(tmp_path):
    events = "sys/fs/cgroup/a/memory.events"
    files = {
        "proc/7/cgroup": "0::/a\n",
        "proc/self/mountinfo": V2,
        events: "oom_kill 0\n",
        "proc/vmstat": "oom_kill 4\n",
    }
    watch = cgroup.OomWatch(7, write(tmp_path, {**files, "sys/fs/cgroup/a/memory.max": str(2**29)}))
    assert watch.found() == ""
    write(tmp_path, {"proc/vmstat": "oom_kill 5\n"})
    assert watch.found() == "the kernel ended a process at that time because this machine was out of memory"
    write(tmp_path, {events: "oom_kill 1\n"})
    assert watch.found() == ("the kernel ended it because its control group (it allows 0.50 GiB) was out of memory")


# ---------------------------------------------------------------- the machine


def test_a_machine_that_tells_nothing_is_all_unknown_and_warns_of_nothing(tmp_path):
    found = read_host(root=tmp_path)
    told = {
        (part, name) for part, values in found.items() for name, value in (values or {}).items() if value is not None
    }
    always = {"logical", "usable", "affinity", "load_1m", "load_5m", "load_15m", "system", "kernel"}
    assert {name for _, name in told} <= always | {"container"}
    assert rules.warnings_before(rules.Met(threads=1, start=found, end={}, during={})) == []
    during = dict.fromkeys(growth(found, found)) | {"seconds": 1.0, "others": None}
    assert rules.warnings_after(rules.Met(threads=1, start=found, end=found, during=during)) == []


def test_governor_frequency_heat_and_clock_are_read(tmp_path):
    files = {}
    for core in usable_cores():
        base = f"sys/devices/system/cpu/cpu{core}"
        files |= {
            f"{base}/cpufreq/scaling_governor": "powersave\n",
            f"{base}/cpufreq/scaling_driver": "acpi-cpufreq\n",
            f"{base}/cpufreq/scaling_cur_freq": "1500000\n",
            f"{base}/cpufreq/scaling_max_freq": "2000000\n",
            f"{base}/cpufreq/cpuinfo_max_freq": "4000000\n",
            f"{base}/thermal_throttle/core_throttle_count": "2\n",
            f"{base}/thermal_throttle/package_throttle_count": "5\n",
        }
    files |= {"sys/devices/system/cpu/intel_pstate/no_turbo": "1\n", "sys/devices/system/cpu/smt/active": "1\n"}
    clock = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    supply = {"sys/class/power_supply/AC/type": "Mains\n", "sys/class/power_supply/AC/online": "0\n"}
    start = read_host(root=write(tmp_path, {**files, **supply, clock: "hpet\n"}))
    cpu = start["cpu"]
    assert (cpu["governor"], cpu["frequency_mhz"], cpu["frequency_allowed_mhz"]) == ("powersave", 1500, 2000)
    assert cpu["throttle_count"] == 2 * min(len(usable_cores()), machine.MANY) + 5
    assert (cpu["on_battery"], cpu["boost"], cpu["smt"]) == (True, False, True)
    warnings = rules.warnings_before(rules.Met(threads=1, start=start, end={}, during={}))
    assert [
        word for word in ("governor", "2000 of 4000 MHz", "battery", "hpet") if word not in " ".join(warnings)
    ] == []
    assert len(warnings) == 4


@pytest.mark.parametrize(
    ("files", "container", "virtual"),
    [
        ({".dockerenv": "", "proc/cpuinfo": "flags\t\t: fpu hypervisor\n"}, "docker", "unknown"),
        ({"proc/1/cgroup": "0::/init.scope\n", "proc/cpuinfo": "flags\t\t: fpu sse\n"}, "none", "none"),
        ({"proc/1/cgroup": "1:cpu:/kubepods/pod1\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"}, "kubepods", "kvm"),
        ({"run/.containerenv": "", "sys/hypervisor/type": "xen\n"}, "podman", "xen"),
        ({"proc/cpuinfo": "Processor: an arm\n"}, None, None),
    ],
)
def test_what_the_system_runs_in_is_told_or_unknown(tmp_path, monkeypatch, files, container, virtual):
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine.platform, "release", lambda: "6.1")
    found = machine.read_platform(write(tmp_path, files))
    assert (found["container"], found["virtual_machine"]) == (container, virtual)


def test_swap_and_pressure_count_only_what_the_run_added(tmp_path):
    def at(swapped, waited):
        pressure = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={waited}\nfull avg10=0.00 total={waited}\n"
        files = {"proc/vmstat": f"pswpin {swapped}\npswpout 10\n", "proc/pressure/memory": pressure}
        return read_host(root=write(tmp_path, files))

    start, end = at(1000, 5_000_000), at(1512, 7_000_000)
    during = {**growth(start, end), "seconds": 10.0, "others": None}
    assert during["swapped_pages"] == 512
    assert during["memory_pressure_s"] == 2.0
    assert rules.warnings_after(rules.Met(threads=1, start=start, end=end, during=during)) == [
        "the machine swapped 2.0 MiB during the run: timings are low and noisy",
        "all processes waited 2.0 s for memory during the run: timings are low and noisy",
    ]
    assert growth(end, start)["swapped_pages"] is None  # a counter that fell is another one


# ---------------------------------------------------------------- other processes


def test_what_others_used_is_all_busy_time_less_our_own():
    begin = Mark(t=0.0, cores=(0, 1), busy_s=100.0, stolen_s=0.0, own_s=5.0)
    end = Mark(t=2.0, cores=(0, 1), busy_s=103.0, stolen_s=0.1, own_s=6.8)
    found = between(begin, end)
    assert found.percent == pytest.approx(60.0)
    assert found.stolen_percent == pytest.approx(5.0)
    assert between(begin, Mark(t=2.0, cores=(0,), busy_s=103.0, stolen_s=0.0, own_s=6.8)) is None  # moved since
    assert between(begin, Mark(t=0.01, cores=(0, 1), busy_s=100.0, stolen_s=0.0, own_s=5.0)) is None  # too short


def test_busy_and_stolen_time_are_those_of_the_usable_cores(tmp_path):
    lines = (
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 20 30 999 999 5 6 7 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\ncpu10 7 0 0 0\nintr 5\n"
    )
    write(tmp_path, {"stat": lines})
    hundredth = os.sysconf("SC_CLK_TCK")
    assert other_load.core_times(tmp_path, (0,)) == (161 / hundredth, 7 / hundredth)
    assert other_load.core_times(tmp_path, (10,)) == (7 / hundredth, 0.0)
    assert other_load.core_times(tmp_path, (3,)) is None
    assert other_load.core_times(tmp_path / "none", (0,)) is None


def test_our_own_work_before_the_run_is_not_taken_for_that_of_others():
    watch = Watch()
    watch.begin()
    spent = time.process_time()
    while time.process_time() < spent + 0.4:
        pass
    begin = watch._begin
    _, end = watch.before()
    assert end.own_s - begin.own_s == pytest.approx(0.4, abs=0.1)


def test_a_window_that_began_in_time_costs_no_wait_and_one_that_did_not_costs_a_fifth_of_a_second():
    watch = Watch()
    watch.begin()
    time.sleep(other_load.LEAST_S)
    before = time.monotonic()
    found, _ = watch.before()
    assert time.monotonic() - before < other_load.LEAST_S / 2
    assert found.seconds >= other_load.LEAST_S
    fresh = Watch()
    before = time.monotonic()
    found, _ = fresh.before()
    assert found.seconds >= other_load.LEAST_S
    assert time.monotonic() - before < 10 * other_load.LEAST_S


@pytest.mark.parametrize(
    ("percent", "cores", "speaks"),
    [(29, 2, False), (31, 2, True), (120, 2, True), (29, 1, False), (310, 64, False), (330, 64, True)],
)
def test_others_count_as_a_disturbance_from_a_third_of_a_core_or_a_twentieth_of_all(tmp_path, percent, cores, speaks):
    load = OtherLoad(seconds=1.0, cores=cores, percent=percent, stolen_percent=0.0)
    start = read_host(load, root=tmp_path)
    warnings = rules.warnings_before(rules.Met(threads=1, start=start, end={}, during={}))
    assert len(warnings) == int(speaks)
    if cores == 2 and percent == 120:
        assert warnings == [
            "1.2 of 2 cores were busy with other processes before the run: timings will be low and noisy"
        ]


# ---------------------------------------------------------------- rules about the rest


def met(tmp_path, *, threads=1, during=None, **parts):
    start = read_host(root=tmp_path)
    for name, values in parts.items():
        start[name] = start.get(name, {}) | values if isinstance(values, dict) else values
    return rules.Met(threads=threads, start=start, end=start, during=during or {})


GPU = {
    "uuid": "GPU-a", "name": "Card", "util_pct": 0, "mem_used_gb": 0.5, "processes": 0, "power_limit_w": 400.0,
    "power_limit_default_w": 400.0, "slowed_by": ["idle"], "ecc_errors": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"threads": 4, "cpu": {"usable": 2}}, "takes 4 threads and may use 2 cores"),
        ({"cgroup": {"cpu_limit_cores": 0.5}}, "allows 0.5 cores"),
        ({"cgroup": {"memory_limit_gb": 0.25}}, "allows 0.25 GiB"),
        ({"memory": {"available_gb": 0.4}}, "0.40 GiB of memory are free"),
        ({"gpus": [{**GPU, "util_pct": 60}]}, "the GPU Card was 60 % busy before the run"),
        ({"gpus": [{**GPU, "processes": 1}]}, "shared with 1 other process, 0.5 GiB are in use"),
        ({"gpus": [{**GPU, "processes": 2, "mem_used_gb": None}]}, "shared with 2 other processes"),
        ({"gpus": [{**GPU, "power_limit_w": 250.0}]}, "limited to 250 of 400 W"),
        ({"gpus": [{**GPU, "slowed_by": ["hardware_thermal"]}]}, "already runs slower (hardware_thermal)"),
        ({"gpus": [{**GPU, "ecc_errors": 1}]}, "1 uncorrected memory error"),
        ({"cpu": {"governor": "powersave", "driver": "intel_pstate"}}, None),
        ({"gpus": [GPU]}, None),
        ({"gpus": [dict.fromkeys(GPU) | {"uuid": "GPU-a", "processes": 0}]}, None),
    ],
)
def test_before_a_run(tmp_path, parts, said):
    found = met(tmp_path, **parts)
    warnings = rules.warnings_before(found) + rules.gpu_warnings_before(found)
    assert len(warnings) == (said is not None), warnings
    assert (said or "") in "".join(warnings)


@pytest.mark.parametrize(
    ("during", "said"),
    [
        ({"cpu_throttle_events": 3}, "slowed down 3 times because it was too hot"),
        ({"seconds": 10.0, "cgroup_throttled_s": 1.5}, "held processes back for 1.5 s of the run's 10.0 s"),
        ({"seconds": 10.0, "cgroup_throttled_s": 0.01}, None),
        ({"others": {"percent": 0, "stolen_percent": 40.0, "cores": 2}}, "the hypervisor took 20 %"),
        ({"others": {"percent": 90.0, "stolen_percent": 0.0, "cores": 2}}, "0.9 of 2 cores were busy"),
        ({"threads_asked": 1, "threads": 8}, "computed with 8 threads although 1 were asked for"),
        ({"gpus_lost": ["GPU-a"]}, "the GPU GPU-a stopped answering"),
        ({"gpu_samples": 10, "gpus_slowed": {"GPU-a": {"thermal": 5}}}, "Card ran slower than it can (thermal in 50 %"),
        ({"gpu_samples": 10, "gpus_slowed": {"GPU-a": {"power_cap": 9}}}, None),  # what a power limit is for
    ],
)
def test_during_a_run(tmp_path, during, said):
    warnings = rules.warnings_after(met(tmp_path, during=during, gpus=[GPU]))
    assert len(warnings) == (said is not None), warnings
    assert (said or "") in "".join(warnings)


# ---------------------------------------------------------------- energy


def rapl(root, package, value, *, name="package-0", largest=1000):
    return write(
        root,
        {
            f"{package}/name": f"{name}\n",
            f"{package}/energy_uj": f"{value}\n",
            f"{package}/max_energy_range_uj": f"{largest}\n",
        },
    )


def test_the_energy_of_all_packages_is_counted_once_and_over_the_wrap(tmp_path):
    rapl(tmp_path, "intel-rapl:0", 900)
    rapl(tmp_path, "intel-rapl:1", 100, name="package-1")
    rapl(tmp_path, "intel-rapl:0:0", 100, name="core")  # in the package
    rapl(tmp_path, "intel-rapl-mmio:0", 900)  # the same package again
    rapl(tmp_path, "intel-rapl:2", 5, name="psys")
    energy = CpuEnergy(tmp_path)
    assert energy.read() == 0.0
    rapl(tmp_path, "intel-rapl:0", 50)  # from 900 over 1000 to 0 and on to 50
    rapl(tmp_path, "intel-rapl:1", 300, name="package-1")
    assert energy.read() == pytest.approx((151 + 200) / 1e6)
    rapl(tmp_path, "intel-rapl:0", 60)
    assert energy.read() == pytest.approx((151 + 200 + 10) / 1e6)


def test_energy_that_cannot_be_read_is_unknown(tmp_path):
    assert CpuEnergy(tmp_path / "none").read() is None
    rapl(tmp_path, "intel-rapl:0", 900)
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()  # as for anyone but root
    assert CpuEnergy(tmp_path).read() is None
