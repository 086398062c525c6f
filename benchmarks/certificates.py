"""Proofs of fixed points: of a trained network's, and of a large one's."""

import torch
from table import Row
from torch import nn

from dynlab import fixed_points, load
from dynlab.systems.torch_layers import torch_layer

UNITS = 128


def _said(ds, _) -> str:
    certified = ds["certified"].values == 1
    told = ds["proved_stable_directions"] + ds["proved_unstable_directions"]
    undecided = int((ds.sizes["state"] - told.values[certified]).sum())
    proved = int(certified.sum())
    return f"{proved} of {ds.sizes['fixed_point']} proved, {undecided} directions undecided"


def rows(network: str | None) -> list[Row]:
    torch.manual_seed(0)
    lstm = torch_layer(nn.LSTM(3, UNITS).double())
    return [
        Row(
            "certify: a trained flip-flop network's fixed points, search included",
            lambda: fixed_points(load("gru-flipflop"), certify=True),
            (),
            _said,
            seconds=3,
        ),
        Row(
            f"certify: an LSTM of {UNITS} units, search included",
            lambda: fixed_points(lstm, certify=True),
            (),
            _said,
            seconds=10,
        ),
    ]
