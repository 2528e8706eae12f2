"""NVML without a GPU, at the level of `pynvml`: everything of the real module, its calls answered by a description.

Put this folder first in PYTHONPATH and it is what `import pynvml` finds; `FAKE_NVML` names the description, JSON that
is read at every call. Tests in one process set `DESCRIPTION` instead. What NVML's reference documents is kept: nothing
answers before `nvmlInit`; a lost device answers every call with NVML_ERROR_GPU_IS_LOST; a device in MIG mode has no
utilization rates, its instances have handles, UUIDs and memory of their own and neither energy nor utilization; a
process's memory may be NVML_VALUE_NOT_AVAILABLE, which pynvml turns into None; utilization of processes is a list of
samples newer than a given time, and NVML_ERROR_NOT_FOUND where there is none.

A device of the description: `uuid`, and optionally `name`, `total_gb`, `used_gb`, `util`, `capability`, `energy_j`,
`reasons` (bits), `processes` ([pid, GiB or null]; pid "worker" is the reading process's first child), `busy` ([pid,
time in us, SM %]), `lost`, `mig` (a list of such devices, or null in empty places), `answers` ({call: value}) and
`errors` ({call: name of an error}).
"""

import importlib.machinery
import json
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))
_PATHS = [path for path in sys.path if os.path.realpath(path) != _HERE]
_REAL = importlib.machinery.PathFinder.find_spec("pynvml", _PATHS)
exec(_REAL.loader.get_code("pynvml"), globals())  # its constants, structures and errors

DESCRIPTION = None
CALLS = []  # what was asked of which device
_begun = False


def _description():
    if DESCRIPTION is not None:
        return DESCRIPTION
    with open(os.environ["FAKE_NVML"]) as file:
        return json.load(file)


def _error(name):
    return NVMLError(globals()[f"NVML_ERROR_{name}"])  # noqa: F821 (of the real module)


class _Handle:
    def __init__(self, place):
        self.place = place


class _Answer:
    def __init__(self, **values):
        self.__dict__.update(values)


def nvmlInit():
    global _begun
    if _description().get("no_driver"):
        raise _error("DRIVER_NOT_LOADED")
    _begun = True


def _devices():
    if not _begun:
        raise _error("UNINITIALIZED")
    return _description()["devices"]


def nvmlDeviceGetCount():
    return len(_devices())


def nvmlSystemGetDriverVersion():
    _devices()
    return _description().get("driver", "570.86.15")


def nvmlDeviceGetHandleByIndex(index):
    if not 0 <= index < len(_devices()):
        raise _error("INVALID_ARGUMENT")
    if _devices()[index].get("lost_before"):
        raise _error("GPU_IS_LOST")
    return _Handle((index,))


def _of(handle, call):
    """The device of a handle, if it answers this call."""
    place, *part = handle.place
    device = whole = _devices()[place]
    CALLS.append((call, device["uuid"]))
    if whole.get("lost"):
        raise _error("GPU_IS_LOST")
    if part:
        device = whole["mig"][part[0]]
    if call in device.get("errors", {}):
        raise _error(device["errors"][call])
    return device, bool(part), "mig" in whole


def _given(name, key=None, default=None, *, of_parts=False, in_mig=True):
    """A call whose answer is a value of the description, or of its `answers`; without either it is not supported."""

    def call(handle, *arguments):
        device, is_part, in_mig_mode = _of(handle, name)
        if (is_part and not of_parts) or (in_mig_mode and not is_part and not in_mig):
            raise _error("NOT_SUPPORTED")
        value = device.get("answers", {}).get(name, device.get(key, default) if key else default)
        if value is None:
            raise _error("NOT_SUPPORTED")
        return value

    return call


nvmlDeviceGetUUID = _given("nvmlDeviceGetUUID", "uuid", of_parts=True)
nvmlDeviceGetName = _given("nvmlDeviceGetName", "name", "NVIDIA Fake", of_parts=True)
nvmlDeviceGetCudaComputeCapability = _given("nvmlDeviceGetCudaComputeCapability", "capability", [9, 0], of_parts=True)
nvmlDeviceGetCurrentClocksEventReasons = _given("nvmlDeviceGetCurrentClocksEventReasons", "reasons")
for _name in (
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetPowerManagementDefaultLimit",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetPersistenceMode",
):
    globals()[_name] = _given(_name)


def nvmlDeviceGetMemoryInfo(handle):
    device, _, _ = _of(handle, "nvmlDeviceGetMemoryInfo")
    total, used = (int(device.get(key, default) * 2**30) for key, default in (("total_gb", 80), ("used_gb", 1)))
    return _Answer(total=total, used=used, free=total - used)


_rates = _given("nvmlDeviceGetUtilizationRates", "util", in_mig=False)
_energy = _given("nvmlDeviceGetTotalEnergyConsumption", "energy_j")


def nvmlDeviceGetUtilizationRates(handle):
    return _Answer(gpu=_rates(handle), memory=0)


def nvmlDeviceGetTotalEnergyConsumption(handle):
    return int(1000 * _energy(handle))


def nvmlDeviceGetMigMode(handle):
    device, is_part, _ = _of(handle, "nvmlDeviceGetMigMode")
    if is_part or device.get("no_mig"):
        raise _error("NOT_SUPPORTED")
    mode = int("mig" in device)
    return [mode, mode]


def nvmlDeviceGetMaxMigDeviceCount(handle):
    device, _, _ = _of(handle, "nvmlDeviceGetMaxMigDeviceCount")
    return len(device.get("mig", ()))


def nvmlDeviceGetMigDeviceHandleByIndex(device, index):
    found, _, _ = _of(device, "nvmlDeviceGetMigDeviceHandleByIndex")
    if found["mig"][index] is None:
        raise _error("NOT_FOUND")
    return _Handle((*device.place, index))


def _pid(pid):
    if pid != "worker":
        return pid
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        children = file.read().split()
    return int(children[0]) if children else -1


def nvmlDeviceGetComputeRunningProcesses(handle):
    device, _, _ = _of(handle, "nvmlDeviceGetComputeRunningProcesses")
    return [
        _Answer(pid=_pid(pid), usedGpuMemory=None if gb is None else int(gb * 2**30))
        for pid, gb in device.get("processes", ())
    ]


def nvmlDeviceGetProcessUtilization(handle, timeStamp):
    device, is_part, in_mig_mode = _of(handle, "nvmlDeviceGetProcessUtilization")
    if is_part or in_mig_mode:
        raise _error("NOT_SUPPORTED")
    found = [
        _Answer(pid=_pid(pid), timeStamp=t, smUtil=util, memUtil=0, encUtil=0, decUtil=0)
        for pid, t, util in device.get("busy", ())
        if t > timeStamp
    ]
    if not found:
        raise _error("NOT_FOUND")
    return found
