"""NVIDIA devices as NVML sees them, keyed by UUID: an index means different devices under CUDA_VISIBLE_DEVICES.

Parts of a device (MIG instances) have UUIDs of their own, and CUDA shows them as devices; so does this module. What a
device, its driver or a container does not tell is left out, or None where it has a place: never a zero. Every call may
fail at any time, because a device can fall off the bus (NVML_ERROR_GPU_IS_LOST).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pynvml

T = TypeVar("T")

# Bits of NVML's clock event reasons that mean a slower device than the same one elsewhere. Idle, and clocks that were
# set, are recorded in words but are nobody's trouble.
THROTTLE = {
    "power_cap": pynvml.nvmlClocksEventReasonSwPowerCap,
    "hardware_slowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "thermal": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
    "hardware_thermal": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "power_brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}
_REASONS = {
    **THROTTLE,
    "idle": pynvml.nvmlClocksEventReasonGpuIdle,
    "clocks_setting": pynvml.nvmlClocksEventReasonApplicationsClocksSetting,
    "sync_boost": pynvml.nvmlClocksEventReasonSyncBoost,
    "display_setting": pynvml.nvmlClocksEventReasonDisplayClockSetting,
}


@dataclass(frozen=True)
class Device:
    """A device CUDA may use: a whole one, or an instance of one that is divided (MIG).

    Attributes:
        uuid: As NVML writes it, `GPU-…` or `MIG-…`.
        handle: NVML's handle of it.
        whole: Handle of the device it is an instance of, or its own.
    """

    uuid: str
    handle: Any
    whole: Any

    @property
    def is_part(self) -> bool:
        """Whether it is an instance of a divided device."""
        return self.handle is not self.whole


def plain_uuid(uuid: str) -> str:
    """A UUID without what says whose it is: NVML writes `GPU-<uuid>` and `MIG-<uuid>`, torch is less exact."""
    return uuid.lower().removeprefix("mig-").removeprefix("gpu-")


def ask(call: Callable[..., T], *arguments: Any) -> T | None:
    """What NVML answers; None where it does not: not supported, not permitted, lost, unknown to the driver."""
    try:
        return call(*arguments)
    except pynvml.NVMLError:
        return None


def _whole_devices() -> list[Device]:
    """Every device that answers, by bus; none where there is no NVIDIA driver."""
    if ask(_started) is None:
        return []
    found = []
    for index in range(ask(pynvml.nvmlDeviceGetCount) or 0):
        handle = ask(pynvml.nvmlDeviceGetHandleByIndex, index)
        uuid = None if handle is None else ask(pynvml.nvmlDeviceGetUUID, handle)
        if uuid is not None:
            found.append(Device(_text(uuid), handle, handle))
    return found


def _started() -> bool:
    pynvml.nvmlInit()
    return True


def _parts(device: Device) -> list[Device]:
    """The instances of a divided device; none where it is whole."""
    mode = ask(pynvml.nvmlDeviceGetMigMode, device.handle)
    if mode is None or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
        return []
    found = []
    for index in range(ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, device.handle) or 0):
        handle = ask(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, device.handle, index)  # places may be empty
        uuid = None if handle is None else ask(pynvml.nvmlDeviceGetUUID, handle)
        if uuid is not None:
            found.append(Device(_text(uuid), handle, device.handle))
    return found


def all_devices() -> list[Device]:
    """Every whole device, and after each the instances it is divided into."""
    return [each for whole in _whole_devices() for each in (whole, *_parts(whole))]


def devices() -> list[dict[str, Any]]:
    """Describe every whole device: `uuid`, `name`, `mem_gb` [GiB], `compute_cap` such as "9.0".

    One that does not answer all of it is left out: CUDA could not use it either.
    """
    found = []
    for device in _whole_devices():
        name = ask(pynvml.nvmlDeviceGetName, device.handle)
        memory = ask(pynvml.nvmlDeviceGetMemoryInfo, device.handle)
        capability = ask(pynvml.nvmlDeviceGetCudaComputeCapability, device.handle)
        if name is None or memory is None or capability is None:
            continue
        found.append(
            {
                "uuid": device.uuid,
                "name": _text(name),
                "mem_gb": round(memory.total / 2**30, 2),
                "compute_cap": "{}.{}".format(*capability),
            }
        )
    return found


@dataclass
class GpuSampler:
    """Reads load, memory and energy of devices; one that stops answering is left out of that sample.

    All devices are read until it is told which ones are used: every question costs the driver some time.
    """

    _devices: list[Device] = field(default_factory=all_devices)
    lost: set[str] = field(default_factory=set)
    """UUIDs of devices that answered once and then were lost."""
    slowed: dict[str, dict[str, int]] = field(default_factory=dict)
    """UUID → reason for a slower clock → samples in which it held."""
    samples: int = 0
    """Samples taken since `watch`, or since the beginning."""
    _since_us: dict[str, int] = field(default_factory=dict)
    _begun_us: int = field(default_factory=lambda: int(time.time() * 1e6))

    def watch(self, uuids: Iterable[str]) -> None:
        """Read these devices only, from now on."""
        wanted = {plain_uuid(uuid) for uuid in uuids}
        self._devices = [device for device in self._devices if plain_uuid(device.uuid) in wanted]
        self.slowed, self.samples = {}, 0

    def sample(self, pids: Collection[int] = ()) -> dict[str, dict[str, float]]:
        """Read every device once.

        Args:
            pids: The processes whose share is told, as this process knows them.

        Returns:
            UUID → what the device tells of: `util_pct` and `mem_gb`, the whole device's [%, GiB]; `process_util_pct`
            and `process_mem_gb`, the share of these processes; `energy_j`, counted since its driver was loaded [J].
            Drivers number processes as the host does: in a container that has numbers of its own there are no shares.
        """
        values = {}
        self.samples += 1
        for device in self._devices:
            found = self._read(device, pids)
            if found:
                values[device.uuid] = found
        return values

    def _read(self, device: Device, pids: Collection[int]) -> dict[str, float]:
        found: dict[str, float] = {}
        try:
            found["mem_gb"] = pynvml.nvmlDeviceGetMemoryInfo(device.handle).used / 2**30
        except pynvml.NVMLError_GpuIsLost:
            self.lost.add(device.uuid)
            return {}
        except pynvml.NVMLError:
            pass
        if (rates := ask(pynvml.nvmlDeviceGetUtilizationRates, device.handle)) is not None:
            found["util_pct"] = float(rates.gpu)
        if not device.is_part:
            if (energy := ask(pynvml.nvmlDeviceGetTotalEnergyConsumption, device.handle)) is not None:
                found["energy_j"] = energy / 1000
            reasons = ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons, device.handle) or 0
            for name, bit in THROTTLE.items():
                if reasons & bit:
                    counts = self.slowed.setdefault(device.uuid, {})
                    counts[name] = counts.get(name, 0) + 1
        return found | self._shares(device, pids)

    def _shares(self, device: Device, pids: Collection[int]) -> dict[str, float]:
        ours = [each for each in running(device) if each.pid in pids]
        if not ours:
            return {}
        found: dict[str, float] = {}
        held = [each.usedGpuMemory for each in ours if each.usedGpuMemory is not None]
        if len(held) == len(ours):
            found["process_mem_gb"] = sum(held) / 2**30
        since = self._since_us.get(device.uuid, self._begun_us)
        try:
            told = pynvml.nvmlDeviceGetProcessUtilization(device.handle, since)
        except pynvml.NVMLError_NotFound:  # no process has done anything since
            found["process_util_pct"] = 0.0
        except pynvml.NVMLError:
            pass
        else:
            self._since_us[device.uuid] = max((each.timeStamp for each in told), default=since)
            by_process: dict[int, list[int]] = {}
            for each in told:
                if each.pid in pids and each.timeStamp > since:
                    by_process.setdefault(each.pid, []).append(each.smUtil)
            busy = sum(sum(values) / len(values) for values in by_process.values())
            found["process_util_pct"] = min(100.0, float(busy))
        return found


def running(device: Device) -> list[Any]:
    """The processes that compute on a device, as NVML lists them: `pid`, `usedGpuMemory` [bytes or None]."""
    return ask(pynvml.nvmlDeviceGetComputeRunningProcesses, device.handle) or []


def describe(device: Device, own: Collection[int] = ()) -> dict[str, Any]:
    """The state of a device at one instant, `own` processes not counted; what it does not tell is None."""
    handle, whole = device.handle, device.whole

    def scaled(value: float | None, by: float) -> float | None:
        return None if value is None else value / by

    reasons = ask(pynvml.nvmlDeviceGetCurrentClocksEventReasons, whole)
    ecc, mig = ask(pynvml.nvmlDeviceGetEccMode, whole), ask(pynvml.nvmlDeviceGetMigMode, whole)
    name, rates = ask(pynvml.nvmlDeviceGetName, handle), ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    memory = ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    persistence = ask(pynvml.nvmlDeviceGetPersistenceMode, whole)
    uncorrected = (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)
    return {
        "uuid": device.uuid,
        "name": None if name is None else _text(name),
        "util_pct": None if rates is None else rates.gpu,
        "mem_used_gb": None if memory is None else round(memory.used / 2**30, 3),
        "processes": sum(each.pid not in own for each in running(device)),
        "clock_sm_mhz": ask(pynvml.nvmlDeviceGetClockInfo, whole, pynvml.NVML_CLOCK_SM),
        "clock_sm_max_mhz": ask(pynvml.nvmlDeviceGetMaxClockInfo, whole, pynvml.NVML_CLOCK_SM),
        "clock_mem_mhz": ask(pynvml.nvmlDeviceGetClockInfo, whole, pynvml.NVML_CLOCK_MEM),
        "power_w": scaled(ask(pynvml.nvmlDeviceGetPowerUsage, whole), 1000),
        "power_limit_w": scaled(ask(pynvml.nvmlDeviceGetEnforcedPowerLimit, whole), 1000),
        "power_limit_default_w": scaled(ask(pynvml.nvmlDeviceGetPowerManagementDefaultLimit, whole), 1000),
        "temperature_c": ask(pynvml.nvmlDeviceGetTemperature, whole, pynvml.NVML_TEMPERATURE_GPU),
        "slowed_by": None if reasons is None else [word for word, bit in _REASONS.items() if reasons & bit],
        "ecc": None if ecc is None else ecc[0] == pynvml.NVML_FEATURE_ENABLED,
        "ecc_errors": ask(pynvml.nvmlDeviceGetTotalEccErrors, whole, *uncorrected),
        "mig": None if mig is None else mig[0] == pynvml.NVML_DEVICE_MIG_ENABLE,
        "persistence": None if persistence is None else persistence == pynvml.NVML_FEATURE_ENABLED,
    }


def driver() -> str | None:
    """Version of the driver; None where there is none."""
    version = None if ask(_started) is None else ask(pynvml.nvmlSystemGetDriverVersion)
    return None if version is None else _text(version)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
