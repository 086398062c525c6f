"""A Lightning callback that watches whether the gradients of a recurrent layer survive while it learns.

It goes with any LightningModule that holds an RNN, GRU or LSTM of torch, a Cell, or a system of dynlab's:

    Trainer(callbacks=[StabilityMonitor(every_n_steps=200)])
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from dynlab.arguments import check_at_least
from dynlab.checkpoints.modules import extents, part_system, unwrapped
from dynlab.checkpoints.naming import choose
from dynlab.checkpoints.recording import listen
from dynlab.errors import UserError
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Map
from dynlab.training.module import Training
from dynlab.training.stability_measure import Stability, measure

LOG_GRADIENT, SPECTRAL_RADIUS, LARGEST_EXPONENT = (
    "stability/log_gradient",
    "stability/spectral_radius",
    "stability/largest_exponent",
)


class StabilityMonitor(Callback):
    """Logs ln ‖∂h_T/∂h_1‖₂, the spectral radius and the largest running exponent every so many steps.

    What is measured are the first `samples` sequences of the batch that is being learned, along the inputs that the
    layer really receives in it, with the weights after the step, in float64 on the CPU: means over the sequences, under
    the names ``stability/log_gradient`` (nat), ``stability/spectral_radius`` (of `times` Jacobians along each sequence,
    the largest) and ``stability/largest_exponent`` (nat/step). The module, its gradients and the global random
    generators are left as they are: training is bit for bit the same with and without it.

    Parameters
    ----------
    every_n_steps : int
        Of the optimiser; the first step is measured too.
    layer : str, optional
        Which of several recurrent layers: its name in the module, then ``:1`` or ``:1r``.
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
        self.latest: dict[str, float] = {}
        self._inputs: Tensor | None = None
        self._stop_listening: Callable[[], Any] | None = None
        self._last_step: int | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        found = extents(unwrapped(pl_module))
        if not found:
            raise UserError(
                f"StabilityMonitor found no RNN, GRU, LSTM or system of dynlab's in {type(pl_module).__name__}: leave "
                "it out."
            )
        self._chosen = choose(found, self.layer)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        step = trainer.global_step
        # the batches whose gradients are accumulated have one step of the optimiser
        if step % self.every_n_steps or step == self._last_step or not trainer.is_global_zero:
            return
        self._last_step = step
        self._inputs = None
        part = self._part(pl_module)
        if isinstance(pl_module, Training):  # which runs its system by faster code than its step, that nothing hears
            self._inputs = batch[0][: self.samples].detach()
            return
        self._stop_listening = listen(part, self._keep)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.latest = {}
        self._be_deaf()
        if self._inputs is None:
            return
        with torch.no_grad(), torch.random.fork_rng(devices=[]), one_torch_thread():
            found = self._measured(pl_module, self._inputs.to("cpu", torch.float64))
        self._inputs = None
        values = {
            LOG_GRADIENT: found.log_gradient,
            SPECTRAL_RADIUS: found.spectral_radius,
            LARGEST_EXPONENT: found.largest_exponent,
        }
        self.latest = values
        pl_module.log_dict(values, on_step=True, on_epoch=False, rank_zero_only=True, batch_size=1)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._be_deaf()

    def _be_deaf(self) -> None:
        """Leave the module as it was."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    def _measured(self, pl_module: LightningModule, inputs: Tensor) -> Stability:
        system = part_system(copy.deepcopy(self._part(pl_module)), self._chosen)
        if not isinstance(system, Map):
            self.failure = f"{system.name} is no map"
        elif inputs.shape[1] < 2:
            self.failure = "the sequences have one step only"
        else:
            found = measure(system, system.drive(inputs), self.times)
            self.failure = found.failure
            return found
        return Stability(float("nan"), float("nan"), float("nan"), self.failure)

    def _part(self, pl_module: LightningModule) -> Any:
        return unwrapped(pl_module).get_submodule(self._chosen.prefix)

    def _keep(self, inputs: Tensor, continues: bool) -> None:
        """The first sequences that the layer is given in the batch, and what continues them."""
        part = inputs[: self.samples].detach()
        if self._inputs is None:
            self._inputs = part
        elif continues and part.shape[0] == self._inputs.shape[0]:
            self._inputs = torch.cat([self._inputs, part], dim=1)
