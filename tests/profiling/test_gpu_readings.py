"""Reading GPUs through NVML, whatever they are and whatever happens to them; NVML is a double."""

import pytest

from benchmark_app.profiling.host import conditions, gpu
from tests.doubles.fake_nvml import pynvml as fake

A = {"uuid": "GPU-aaaa", "util": 40, "used_gb": 3, "energy_j": 1000.0, "reasons": 0}
B = {"uuid": "GPU-bbbb", "util": 7, "used_gb": 5}


@pytest.fixture
def nvml(monkeypatch):
    """Describe the devices there are."""
    monkeypatch.setattr(gpu, "pynvml", fake)
    monkeypatch.setattr(fake, "_begun", False)
    fake.CALLS.clear()

    def describe(*devices, **more):
        monkeypatch.setattr(fake, "DESCRIPTION", {"devices": list(devices), **more})

    return describe


def test_without_a_driver_there_are_no_devices_and_nothing_is_known(nvml):
    nvml(no_driver=True)
    assert gpu.devices() == []
    assert gpu.driver() is None
    assert gpu.GpuSampler().sample([1]) == {}
    assert conditions.read_gpus() == {"gpu_driver": None, "gpus": []}


def test_every_device_tells_its_own_numbers_by_its_uuid(nvml):
    nvml(A, B)
    assert gpu.GpuSampler().sample() == {
        "GPU-aaaa": {"util_pct": 40.0, "mem_gb": 3.0, "energy_j": 1000.0},
        "GPU-bbbb": {"util_pct": 7.0, "mem_gb": 5.0},  # what it does not support is left out
    }


def test_only_devices_that_are_used_are_asked_whatever_torch_calls_them(nvml):
    nvml(A, B)
    sampler = gpu.GpuSampler()
    sampler.watch(["bbbb"])
    fake.CALLS.clear()
    assert list(sampler.sample()) == ["GPU-bbbb"]
    assert {uuid for _, uuid in fake.CALLS} == {"GPU-bbbb"}


def test_the_share_of_our_processes_is_told_beside_the_whole_device(nvml):
    begin = 10**18  # later than any sampler of today
    busy = [[11, begin + 1, 30], [11, begin + 2, 50], [12, begin + 1, 10], [99, begin + 1, 60]]
    nvml({**A, "processes": [[11, 1.5], [12, 0.5], [99, 0.75]], "busy": busy})
    sampler = gpu.GpuSampler()
    seen = sampler.sample({11, 12})["GPU-aaaa"]
    assert seen["process_mem_gb"] == 2.0
    assert seen["process_util_pct"] == 50.0  # 40 and 10
    assert seen["util_pct"] == 40.0
    # All of it was told: nothing has happened since, which NVML calls NOT_FOUND.
    assert sampler.sample({11, 12})["GPU-aaaa"]["process_util_pct"] == 0.0


def test_memory_that_is_not_available_is_no_share_and_never_zero(nvml):
    nvml({**A, "processes": [[11, None]]})
    seen = gpu.GpuSampler().sample({11})["GPU-aaaa"]
    assert "process_mem_gb" not in seen
    assert seen["mem_gb"] == 3.0


def test_in_a_container_whose_numbers_differ_there_are_no_shares(nvml):
    nvml({**A, "processes": [[4711, 1.5]]})
    assert not {"process_mem_gb", "process_util_pct"} & set(gpu.GpuSampler().sample({11})["GPU-aaaa"])


@pytest.mark.parametrize("error", ["NOT_SUPPORTED", "NO_PERMISSION", "UNKNOWN", "FUNCTION_NOT_FOUND", "TIMEOUT"])
@pytest.mark.parametrize(
    ("call", "lost"),
    [
        ("nvmlDeviceGetUtilizationRates", {"util_pct"}),
        ("nvmlDeviceGetMemoryInfo", {"mem_gb"}),
        ("nvmlDeviceGetTotalEnergyConsumption", {"energy_j"}),
        ("nvmlDeviceGetComputeRunningProcesses", {"process_mem_gb", "process_util_pct"}),
        ("nvmlDeviceGetProcessUtilization", {"process_util_pct"}),
        ("nvmlDeviceGetCurrentClocksEventReasons", set()),
    ],
)
def test_a_call_that_fails_costs_its_own_number_and_no_other(nvml, call, error, lost):
    device = {**A, "processes": [[11, 1.5]], "busy": [[11, 10**18, 30]]}
    nvml(device)
    whole = set(gpu.GpuSampler().sample({11})["GPU-aaaa"])
    nvml({**device, "errors": {call: error}})
    assert set(gpu.GpuSampler().sample({11})["GPU-aaaa"]) == whole - lost


def test_a_device_that_falls_off_the_bus_is_left_out_and_remembered_and_the_other_goes_on(nvml):
    first = dict(A)
    nvml(first, B)
    sampler = gpu.GpuSampler()
    assert list(sampler.sample()) == ["GPU-aaaa", "GPU-bbbb"]
    first["lost"] = True
    assert list(sampler.sample()) == ["GPU-bbbb"]
    assert sampler.lost == {"GPU-aaaa"}
    assert [device["uuid"] for device in gpu.devices()] == ["GPU-bbbb"]
    assert [device["uuid"] for device in conditions.read_gpus()["gpus"]] == ["GPU-bbbb"]


def test_a_device_lost_before_we_came_does_not_hide_the_others(nvml):
    nvml({**A, "lost_before": True}, B)
    assert [device["uuid"] for device in gpu.devices()] == ["GPU-bbbb"]
    assert list(gpu.GpuSampler().sample()) == ["GPU-bbbb"]


def test_instances_of_a_divided_device_are_devices_with_memory_and_without_load_or_energy(nvml):
    parts = [{"uuid": "MIG-1111", "used_gb": 2, "total_gb": 10, "processes": [[11, 1.25]]}, None, {"uuid": "MIG-2222"}]
    nvml({**A, "mig": parts}, B)
    sampler = gpu.GpuSampler()
    assert [device.uuid for device in sampler._devices] == ["GPU-aaaa", "MIG-1111", "MIG-2222", "GPU-bbbb"]
    sampler.watch(["GPU-1111"])  # as torch names what it was given
    assert sampler.sample({11}) == {"MIG-1111": {"mem_gb": 2.0, "process_mem_gb": 1.25}}
    (told,) = conditions.read_gpus(["1111"])["gpus"]
    assert told["mig"] is True
    assert told["util_pct"] is None
    assert [device["uuid"] for device in gpu.devices()] == ["GPU-aaaa", "GPU-bbbb"]


def test_a_state_is_read_in_units_and_words_and_what_is_not_told_is_none(nvml):
    answers = {
        "nvmlDeviceGetClockInfo": 1500,
        "nvmlDeviceGetMaxClockInfo": 1980,
        "nvmlDeviceGetPowerUsage": 250_000,
        "nvmlDeviceGetEnforcedPowerLimit": 300_000,
        "nvmlDeviceGetPowerManagementDefaultLimit": 400_000,
        "nvmlDeviceGetTemperature": 83,
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetTotalEccErrors": 0,
        "nvmlDeviceGetPersistenceMode": 0,
    }
    nvml({**A, "reasons": 0x04 | 0x40, "answers": answers}, driver="580.1")
    told = conditions.read_gpus()
    (device,) = told["gpus"]
    assert told["gpu_driver"] == "580.1"
    assert (device["power_w"], device["power_limit_w"], device["power_limit_default_w"]) == (250, 300, 400)
    assert device["slowed_by"] == ["power_cap", "hardware_thermal"]
    assert (device["ecc"], device["ecc_errors"], device["persistence"], device["mig"]) == (True, 0, False, False)
    nvml({**B, "no_mig": True})
    (device,) = conditions.read_gpus()["gpus"]
    unknown = {"power_w", "power_limit_w", "temperature_c", "slowed_by", "ecc", "ecc_errors", "persistence", "mig"}
    assert {name for name in unknown if device[name] is not None} == set()


def test_reasons_for_a_slower_clock_are_counted_over_the_samples(nvml):
    device = dict(A)
    nvml(device)
    sampler = gpu.GpuSampler()
    for reasons in (0x00, 0x01, 0x20, 0x20):  # the second is idle, which slows nothing down
        device["reasons"] = reasons
        sampler.sample()
    assert sampler.slowed == {"GPU-aaaa": {"thermal": 2}}
    assert sampler.samples == 4


def test_nothing_answers_before_nvml_was_begun(nvml):
    """The double is as strict as the library, so that a forgotten nvmlInit would be found."""
    nvml(A)
    with pytest.raises(fake.NVMLError_Uninitialized):
        fake.nvmlDeviceGetCount()
