"""A Lightning callback that watches whether the gradients of a recurrent layer survive while it learns.

It goes with any LightningModule that holds an RNN, GRU or LSTM of torch, a Cell, or a system of dynlab's:

    Trainer(callbacks=[StabilityMonitor(every_n_steps=200)])
"""

import functools
import math
from contextlib import ExitStack
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.checkpoints.modules import part_system, recurrent_parts, unwrapped
from dynlab.checkpoints.naming import choose
from dynlab.checkpoints.recording import collect, listen
from dynlab.diagnostics.gradient.gradient_norms import gradient
from dynlab.diagnostics.lyapunov.lyapunov_exponents import lyapunov
from dynlab.diagnostics.spectrum import spectrum
from dynlab.errors import UserError
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems.module_copy import copied
from dynlab.training.module import Training

LOG_GRADIENT, SPECTRAL_RADIUS, LARGEST_EXPONENT = (
    "stability/log_gradient",
    "stability/spectral_radius",
    "stability/largest_exponent",
)


class StabilityMonitor(Callback):
    """Logs ln ‖∂h_T/∂h_1‖₂, the spectral radius and the largest running exponent every so many steps.

    The first `samples` sequences of the batch that is being learned are measured, along the inputs that the layer
    really receives. The weights are those after the step, and the arithmetic is float64 on the CPU. Three means over
    the sequences are logged. ``stability/log_gradient`` is in nat. ``stability/spectral_radius`` is the largest of
    `times` Jacobians along each sequence. ``stability/largest_exponent`` is in nat/step. The module, its gradients and
    the global random generators are left as they are. So training is bit for bit the same with and without it.

    Parameters
    ----------
    every_n_steps : int
        Steps of the optimiser; the first step is measured too.
    layer : str, optional
        One of several recurrent layers: its name in the module, then ``:1`` or ``:1r``.
    samples : int
        Sequences of the batch.
    times : int
        Steps of each sequence whose Jacobian's spectral radius is taken.

    Raises
    ------
    UserError
        When the fit starts: for a module without a recurrent layer, or with several and no `layer`.

    Notes
    -----
    What cannot be measured in a step (a diverged trajectory) is logged as NaN, and `failure` says why; the training
    goes on.
    """

    def __init__(self, every_n_steps: int = 200, *, layer: str | None = None, samples: int = 2, times: int = 4) -> None:
        check_at_least(1, every_n_steps=every_n_steps, samples=samples, times=times)
        self.every_n_steps = every_n_steps
        self.layer = layer
        self.samples = samples
        self.times = times
        self.failure: str | None = None
        self._heard: list[list[Tensor]] = []
        self._listening = ExitStack()
        self._last_step: int | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        found = recurrent_parts(unwrapped(pl_module))
        if not found:
            raise UserError(
                f"StabilityMonitor found no RNN, GRU, LSTM or system of dynlab's in {type(pl_module).__name__}: leave "
                "it out."
            )
        self._chosen = choose(found, self.layer)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        step = trainer.global_step  # which batches whose gradients are accumulated share
        if not trainer.is_global_zero or step % self.every_n_steps or step == self._last_step:
            return
        self._last_step = step
        if isinstance(pl_module, Training):  # which runs its system by faster code than its step, that nothing hears
            collect(self._heard, batch[0][: self.samples], False)
        else:
            self._listening.callback(listen(self._part(pl_module), functools.partial(collect, self._heard)))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log what is measured of the batch with the weights after its step, where it was heard."""
        self._listening.close()
        if not self._heard:
            return
        inputs = torch.cat(self._heard[0], dim=1)[: self.samples]
        self._heard.clear()
        with torch.random.fork_rng(devices=[]), one_torch_thread():
            values = self._measured(pl_module, inputs.to(torch.float64))
        pl_module.log_dict(values, logger=False, rank_zero_only=True, batch_size=1)
        for logger in trainer.loggers:  # whatever steps the trainer logs
            logger.log_metrics(values, trainer.global_step - 1)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._listening.close()

    def _measured(self, module: LightningModule, inputs: Tensor) -> dict[str, float]:
        found, self.failure = measure(part_system(copied(self._part(module)), self._chosen), inputs, self.times)
        return found

    def _part(self, module: LightningModule) -> Any:
        return unwrapped(module).get_submodule(self._chosen.prefix)


def measure(system: Any, inputs: Tensor, times: int) -> tuple[dict[str, float], str | None]:
    """Return ln ‖∂h_T/∂h_1‖₂, the largest spectral radius of `times` Jacobians, and the largest exponent.

    They are means over the sequences, shape (sample, time, input). What cannot be measured is NaN, with the reason.
    """
    found = dict.fromkeys((LOG_GRADIENT, SPECTRAL_RADIUS, LARGEST_EXPONENT), math.nan)
    try:
        radii = spectrum(system, inputs, times=times, conditions=False)["spectral_radius"]
        norms = gradient(system, inputs, times=[1])
        running = lyapunov(system, inputs, k=1)["running_exponent"]
    except UserError as error:
        return found, str(error)
    found[SPECTRAL_RADIUS] = float(radii.max(schema.TIME, skipna=False).values.mean())
    found[LOG_GRADIENT] = float(norms["log_norm"].sel({schema.TIME: 1}).values.mean())
    found[LARGEST_EXPONENT] = float(running.values[:, -1, 0].mean())
    return found, schema.flags(norms)["log_norm"] if any(map(math.isnan, found.values())) else None
