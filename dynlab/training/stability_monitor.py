"""A Lightning callback that watches whether the gradients of a recurrent layer survive while it learns.

It goes with any LightningModule that holds an RNN, GRU or LSTM of torch, a Cell, or a system of dynlab's:

    Trainer(callbacks=[StabilityMonitor(every_n_steps=200)])
"""

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from dynlab.training.module import Training
from dynlab.training.stability_watch import StabilityWatch


class StabilityMonitor(StabilityWatch, Callback):
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

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self._find(pl_module)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if not trainer.is_global_zero or not self._due(trainer.global_step):
            return
        if isinstance(pl_module, Training):  # which runs its system by faster code than its step, that nothing hears
            self._inputs = batch[0][: self.samples].detach()
        else:
            self._hear(pl_module)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if values := self._heard(pl_module):
            pl_module.log_dict(values, logger=False, rank_zero_only=True, batch_size=1)
            for logger in trainer.loggers:  # whatever steps the trainer logs
                logger.log_metrics(values, trainer.global_step - 1)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._be_deaf()
