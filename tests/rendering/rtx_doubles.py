"""Doubles of ovrtx, and of what Isaac Sim draws with, as strict about the order of calls as the real ones are.

What they draw says who drew it: the tile of environment i has red i + 1, green the product's number, and depth i + 1 in
its left half; its right half is met by no ray, which RTX says by infinity.
"""

from __future__ import annotations

import enum
import re
import sys
import types

import torch
import warp as wp

from benchmark_app.rendering.rtx.tiled import grid


def drawn(number, count, width, height):
    """Colours `[rows · h, columns · w, 4]` and depths of one tiled picture."""
    columns, rows = grid(count)
    color = torch.zeros(rows * height, columns * width, 4, dtype=torch.uint8)
    depth = torch.full((rows * height, columns * width, 1), torch.inf)
    for index in range(count):
        row, column = divmod(index, columns)
        tile = (slice(row * height, (row + 1) * height), slice(column * width, (column + 1) * width))
        color[tile] = torch.tensor([index + 1, number, 7, 255], dtype=torch.uint8)
        depth[tile[0], column * width : column * width + width // 2] = index + 1.0
    return color, depth


class Ovrtx:
    """The package `ovrtx`: its one renderer, and what happened to it."""

    def __init__(self, monkeypatch):
        self.log, self.text, self.written, self.config = [], "", {}, None
        self.open = self.alive = False
        self.mapped = 0
        module = types.ModuleType("ovrtx")
        for name in ("Device", "DataAccess", "PrimMode", "Semantic", "TextureStreamingMode"):
            members = ["CUDA", "CPU", "ASYNC", "SYNC", "MUST_EXIST", "EXISTING_ONLY", "XFORM_MAT4x4", "SYNCHRONOUS"]
            setattr(module, name, enum.Enum(name, members))
        module.RendererConfig = lambda **settings: settings
        module.Renderer = self._start
        monkeypatch.setitem(sys.modules, "ovrtx", module)

    def _start(self, config):
        assert not self.alive
        self.alive, self.config = True, config
        return self

    def open_usd_from_string(self, text):
        assert text.startswith("#usda 1.0\n")
        assert not self.open, "ovrtx takes one root layer"
        self.open, self.text = True, text
        names = re.findall(r'def RenderProduct "(\w+)"', text)
        self._products = {f"/Render/{name}": number for number, name in enumerate(names, 1)}
        sizes = re.findall(r"resolution = \((\d+), (\d+)\)", text)
        cameras = re.findall(r"rel camera = \[(.*?)\]", text)
        self._sizes = {
            path: (int(w), int(h), len(listed.split(",")))
            for path, (w, h), listed in zip(self._products, sizes, cameras, strict=True)
        }

    def write_attribute(self, *, prim_paths, attribute_name, tensor):
        assert self.open
        assert attribute_name == "omni:resetXformStack"
        assert tensor.all()
        self.log.append(("reset", tuple(prim_paths)))

    def bind_attribute(self, *, prim_paths, attribute_name, semantic, prim_mode):
        assert self.open
        assert (attribute_name, semantic.name, prim_mode.name) == ("omni:xform", "XFORM_MAT4x4", "MUST_EXIST")
        return Binding(self, tuple(prim_paths))

    def step(self, *, render_products, delta_time):
        assert self.open
        assert self.mapped == 0, "what was drawn is unmapped before the next step"
        assert delta_time > 0
        self.log.append(("step", frozenset(render_products)))
        return {path: types.SimpleNamespace(frames=[self._frame(path)]) for path in render_products}

    def _frame(self, path):
        width, height, count = self._sizes[path]
        columns, rows = grid(count)
        color, depth = drawn(self._products[path], count, width // columns, height // rows)
        variables = {"/Render/Vars/LdrColor": color, "/Render/Vars/depth": depth}
        product = self.text.split(f'RenderProduct "{path.rpartition("/")[2]}"')[1]
        wanted = product.split("orderedVars = ")[1].split("]")[0]
        return types.SimpleNamespace(
            render_vars={name: Variable(self, tensor) for name, tensor in variables.items() if name in wanted}
        )

    def destroy(self):
        assert self.alive
        self.alive = False
        self.log.append("destroy")


class Binding:
    """Prims whose transforms are written."""

    def __init__(self, ovrtx, paths):
        self._ovrtx, self.paths, self._bound = ovrtx, paths, True

    def write(self, tensor, *, data_access, cuda_stream):
        assert self._bound
        assert data_access.name == "ASYNC"
        assert cuda_stream > 0, "0 is no synchronisation"
        assert tensor.dtype is torch.float64
        assert tensor.is_contiguous()
        assert tuple(tensor.shape) == (len(self.paths), 4, 4)
        self._ovrtx.written.update(zip(self.paths, tensor.clone(), strict=True))

    def unbind(self):
        assert self._ovrtx.alive, "bindings go before the renderer"
        self._bound = False
        self._ovrtx.log.append("unbind")


class Variable:
    """A render variable that can be mapped."""

    def __init__(self, ovrtx, tensor):
        self._ovrtx, self._tensor, self._open = ovrtx, tensor, False

    def map(self, *, device, sync_stream):
        assert device.name == "CUDA"
        assert sync_stream > 0
        return self

    def __enter__(self):
        self._ovrtx.mapped += 1
        self._open = True
        return self

    def __dlpack__(self, **asked):
        assert self._open
        return self._tensor.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def unmap(self, *, stream):
        assert stream > 0
        assert self._open
        self._open = False
        self._ovrtx.mapped -= 1

    def __exit__(self, *error):
        if self._open:
            self.unmap(stream=1)


class Kit:
    """The part of a running Isaac Sim that draws.

    Args:
        monkeypatch: Puts its modules in place.
        lacks: Extensions it does not have.
    """

    def __init__(self, monkeypatch, lacks=()):
        self.enabled, self.settings, self.log, self.sublayers = [], {}, [], []
        self.products, self.annotators, self.engines = [], [], []
        self.loading, self._lacks = 0, lacks
        manager = types.SimpleNamespace(
            is_extension_enabled=lambda name: name in self.enabled, set_extension_enabled_immediate=self._enable
        )
        app = types.SimpleNamespace(get_extension_manager=lambda: manager, update=self._update)
        registry = types.SimpleNamespace(get_annotator=lambda name, **how: Annotator(self, name, **how))
        for name, content in {
            "carb": {},
            "carb.settings": {"get_settings": lambda: types.SimpleNamespace(set=self.settings.__setitem__)},
            "omni": {},
            "omni.kit": {},
            "omni.kit.app": {"get_app": lambda: app},
            "omni.usd": {
                "get_context": lambda: self,
                "create_hydra_engine": lambda name, context: self.engines.append(name),
            },
            "omni.physxfabric": {"get_physx_fabric_interface": lambda: self},
            "omni.replicator": {},
            "omni.replicator.core": {
                "create": types.SimpleNamespace(render_product_tiled=self._product),
                "AnnotatorRegistry": registry,
            },
            "pxr": {"Sdf": types.SimpleNamespace(Layer=types.SimpleNamespace(CreateAnonymous=lambda tag: Layer()))},
        }.items():
            module = types.ModuleType(name)
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, name, module)
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, module)

    def _enable(self, name, enabled):
        if name not in self._lacks:
            self.enabled.append(name)

    def _update(self):
        assert self.settings["/app/player/playSimulations"] is False, "an update would step PhysX"
        self.log.append("update")
        self.loading = max(0, self.loading - 1)

    def _product(self, *, cameras, tile_resolution):
        assert "omni.replicator.core" in self.enabled
        assert self.sublayers, "the cameras are on the stage before they are drawn with"
        self.products.append(Product(self, len(self.products) + 1, cameras, tile_resolution))
        return self.products[-1]

    # omni.usd and pxr

    def get_attached_hydra_engine_names(self):
        return self.engines

    def get_stage_streaming_status(self):
        return self.loading > 0

    def get_stage(self):
        return self

    def GetRootLayer(self):
        return types.SimpleNamespace(subLayerPaths=self.sublayers)

    # omni.physxfabric

    def force_update(self, elapsed, now):
        assert "omni.physx.fabric" in self.enabled
        self.log.append("fabric")


class Layer:
    """An anonymous layer, to be found by its identifier."""

    def __init__(self):
        self.identifier, self.text = f"anon:{id(self)}", ""

    def ImportFromString(self, text):
        self.text = text
        layers[self.identifier] = self
        return text.startswith("#usda 1.0")


layers: dict[str, Layer] = {}


class Product:
    """A tiled render product."""

    def __init__(self, kit, number, cameras, size):
        self.path, self.number, self.cameras, self.size = f"/Render/{number}", number, cameras, size
        self._kit = kit

    def destroy(self):
        mine = [annotator for annotator in self._kit.annotators if annotator.product is self]
        assert not any(annotator.attached for annotator in mine), "annotators go first"
        self._kit.log.append("destroy")


class Annotator:
    """What gives a product's pictures; empty until something was drawn."""

    def __init__(self, kit, name, *, device, do_array_copy):
        assert do_array_copy is False
        self._kit, self._name, self.attached, self.product = kit, name, False, None
        kit.annotators.append(self)

    def attach(self, paths):
        (path,) = paths
        (self.product,) = (product for product in self._kit.products if product.path == path)
        self.attached = True

    def get_data(self):
        assert self.attached
        if "update" not in self._kit.log:
            return wp.empty(0, dtype=wp.uint8, device="cpu")
        color, depth = drawn(self.product.number, len(self.product.cameras), *self.product.size)
        return wp.from_torch(color if self._name == "rgb" else depth.squeeze(-1).contiguous())

    def detach(self, paths):
        assert paths == [self.product.path]
        self.attached = False
