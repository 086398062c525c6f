"""The common part of every `StabilityMonitor`: it hears what a recurrent layer is given, and measures it."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.checkpoints.modules import part_system, recurrent_parts, unwrapped
from dynlab.checkpoints.naming import choose
from dynlab.checkpoints.recording import listen
from dynlab.diagnostics.gradient.gradient_norms import gradient
from dynlab.diagnostics.lyapunov.lyapunov_exponents import lyapunov
from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Map, System
from dynlab.systems.module_copy import copied

LOG_GRADIENT, SPECTRAL_RADIUS, LARGEST_EXPONENT = (
    "stability/log_gradient",
    "stability/spectral_radius",
    "stability/largest_exponent",
)


class StabilityWatch:
    """The part of a callback that knows no trainer; its parameters are those of `StabilityMonitor`."""

    def __init__(self, every_n_steps: int = 200, *, layer: str | None = None, samples: int = 2, times: int = 4) -> None:
        check_at_least(1, every_n_steps=every_n_steps, samples=samples, times=times)
        self.every_n_steps = every_n_steps
        self.layer = layer
        self.samples = samples
        self.times = times
        self.failure: str | None = None
        self.latest: dict[str, float] = {}
        self._inputs: Tensor | None = None
        self._stop_listening: Callable[[], Any] | None = None
        self._last_step: int | None = None

    def _find(self, module: nn.Module) -> None:
        """Choose the layer of a module that is to be trained."""
        found = recurrent_parts(unwrapped(module))
        if not found:
            raise UserError(
                f"StabilityMonitor found no RNN, GRU, LSTM or system of dynlab's in {type(module).__name__}: leave it "
                "out."
            )
        self._chosen = choose(found, self.layer)

    def _due(self, step: int) -> bool:
        """Tell whether the batch of that step is measured: those whose gradients are accumulated have one step."""
        if step % self.every_n_steps or step == self._last_step:
            return False
        self._last_step = step
        self._inputs = None
        return True

    def _hear(self, module: nn.Module) -> None:
        self._stop_listening = listen(self._part(module), self._keep)

    def _heard(self, module: nn.Module) -> dict[str, float]:
        """Return what is measured of the batch with the weights after its step; empty where it was not heard."""
        self.latest = {}
        self._be_deaf()
        if self._inputs is None:
            return self.latest
        with torch.random.fork_rng(devices=[]), one_torch_thread():
            self.latest = self._measured(module, self._inputs.to("cpu", torch.float64))
        self._inputs = None
        return self.latest

    def _be_deaf(self) -> None:
        """Leave the module as it was."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    def _measured(self, module: nn.Module, inputs: Tensor) -> dict[str, float]:
        found, self.failure = measure(part_system(copied(self._part(module)), self._chosen), inputs, self.times)
        return found

    def _part(self, module: nn.Module) -> Any:
        return unwrapped(module).get_submodule(self._chosen.prefix)

    def _keep(self, inputs: Tensor, continues: bool) -> None:
        """The first sequences that the layer is given in the batch, and what continues them."""
        part = inputs[: self.samples].detach()
        if self._inputs is None:
            self._inputs = part
        elif continues and part.shape[0] == self._inputs.shape[0]:
            self._inputs = torch.cat([self._inputs, part], dim=1)


def measure(system: System, inputs: Tensor, times: int) -> tuple[dict[str, float], str | None]:
    """Return ln ‖∂h_T/∂h_1‖₂, the largest spectral radius of `times` Jacobians, and the largest exponent.

    They are means over the sequences, shape (sample, time, input). What cannot be measured is NaN, with the reason.
    """
    found = dict.fromkeys((LOG_GRADIENT, SPECTRAL_RADIUS, LARGEST_EXPONENT), math.nan)
    try:
        if not isinstance(system, Map):
            raise UserError(f"{system.name} is no map")
        radii = spectrum(system, inputs, times=times, conditions=False)["spectral_radius"]
        norms = gradient(system, inputs, times=[1])
        running = lyapunov(system, inputs, k=1)["running_exponent"]
    except UserError as error:
        return found, str(error)
    found[SPECTRAL_RADIUS] = float(radii.max(schema.TIME, skipna=False).values.mean())
    found[LOG_GRADIENT] = float(norms["log_norm"].sel({schema.TIME: 1}).values.mean())
    found[LARGEST_EXPONENT] = float(running.values[:, -1, 0].mean())
    return found, schema.flags(norms)["log_norm"] if any(map(math.isnan, found.values())) else None
