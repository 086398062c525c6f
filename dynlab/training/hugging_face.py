"""The stability monitor for the `Trainer` of Hugging Face's transformers.

It goes with any model that holds an RNN, GRU or LSTM of torch, a Cell, or a system of dynlab's:

    Trainer(model, arguments, train_dataset=…, callbacks=[TrainerStabilityMonitor(every_n_steps=200)])
"""

from typing import Any

from torch import nn

from dynlab.errors import UserError
from dynlab.training.stability_watch import StabilityWatch

try:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ModuleNotFoundError as error:
    raise UserError("TrainerStabilityMonitor needs transformers: pip install 'transformers[torch]'.") from error


class TrainerStabilityMonitor(StabilityWatch, TrainerCallback):
    """Measures what `dynlab.training.StabilityMonitor` measures, with its parameters and errors, in this trainer.

    The values are in ``trainer.state.log_history``, an entry of their own for each step that is measured, and in
    `latest`.
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, *, model: nn.Module, **_: Any
    ) -> None:
        self._find(model)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, *, model: nn.Module, **_: Any
    ) -> None:
        if state.is_world_process_zero and self._due(state.global_step):
            self._be_deaf()  # to a step that failed
            self._hear(model)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, *, model: nn.Module, **_: Any
    ) -> None:
        if values := self._heard(model):
            state.log_history.append({"step": state.global_step, "epoch": state.epoch or 0.0, **values})

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self._be_deaf()
