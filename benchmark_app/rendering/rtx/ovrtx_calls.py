"""Every call to ovrtx; written against ovrtx 0.5 and 0.6, as its documentation and Isaac Lab's renderer use it.

In this order: a renderer on one CUDA device; the stage, once; bindings of prims whose transforms will be written;
steps. What a step drew is mapped, and must be unmapped before the next step. A stream of 0 means *no synchronisation*
to ovrtx, so that CUDA's default stream is named by 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

FRAME_S = 1.0 / 60.0  # the time a step lets pass; nothing in the stage moves by itself


class OvrtxScene:
    """A stage in ovrtx.

    Args:
        text: The stage, in USD.
        device: The CUDA device it is drawn on.
    """

    def __init__(self, text: str, device: torch.device) -> None:
        os.environ["OVRTX_SKIP_USD_CHECK"] = "1"  # it must not look at another OpenUSD in this process
        import ovrtx  # type: ignore[import-not-found,import-untyped]

        self._ovrtx, self._device = ovrtx, device
        index = device.index or 0
        self._renderer = ovrtx.Renderer(
            ovrtx.RendererConfig(
                active_cuda_gpus=str(index),
                read_gpu_transforms=True,
                keep_system_alive=True,
                suppress_deprecation_warnings=True,
                texture_streaming_mode=ovrtx.TextureStreamingMode.SYNCHRONOUS,
            )
        )
        self._bindings: list[Any] = []
        self._renderer.open_usd_from_string(text)

    def bind(self, paths: list[str]) -> Any:
        """Have the transforms of some prims be told in the world's frame, whatever is above them.

        Returns:
            What `write` takes.
        """
        ovrtx = self._ovrtx
        self._renderer.write_attribute(
            prim_paths=paths,
            attribute_name="omni:resetXformStack",
            tensor=np.full(len(paths), True, dtype=np.bool_),
        )
        binding = self._renderer.bind_attribute(
            prim_paths=paths,
            attribute_name="omni:xform",
            semantic=ovrtx.Semantic.XFORM_MAT4x4,
            prim_mode=ovrtx.PrimMode.MUST_EXIST,
        )
        self._bindings.append(binding)
        return binding

    def write(self, binding: Any, matrices: torch.Tensor) -> None:
        """Tell transforms, float64 `[prims, 4, 4]` on the device; returns when they have been taken over."""
        binding.write(matrices, data_access=self._ovrtx.DataAccess.ASYNC, cuda_stream=self._stream())

    def step(self, products: list[str]) -> dict[str, dict[str, Any]]:
        """Draw.

        Returns:
            Product to what it gave, by the path of the render variable.
        """
        drawn = self._renderer.step(render_products=set(products), delta_time=FRAME_S)
        return {path: dict(drawn[path].frames[0].render_vars) for path in products}

    @contextmanager
    def tensor(self, variable: Any) -> Iterator[torch.Tensor]:
        """The contents of a render variable on the device, without a copy, as long as the context lasts."""
        with variable.map(device=self._ovrtx.Device.CUDA, sync_stream=self._stream()) as mapping:
            yield from_dlpack(mapping)
            mapping.unmap(stream=self._stream())

    def _stream(self) -> int:
        return torch.cuda.current_stream(self._device).cuda_stream or 1

    def close(self) -> None:
        """Release the bindings, then the renderer."""
        for binding in self._bindings:
            binding.unbind()
        self._bindings.clear()
        self._renderer.destroy()
