"""Networks and files that the tests of checkpoints share."""

import pytest
import torch
from torch import nn


class Tagger(nn.Module):
    """A larger model: a bidirectional LSTM, a GRU on its output, and a ReLU cell beside them."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Module()
        self.encoder.rnn = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.decoder = nn.GRU(8, 5, num_layers=2, batch_first=True)
        self.cell = nn.RNNCell(3, 6, nonlinearity="relu")
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(5, 2)

    def forward(self, inputs):
        found, _ = self.encoder.rnn(self.dropout(inputs))
        state = None
        for x in inputs.unbind(1):
            state = self.cell(2 * x, state)
        return self.head(self.decoder(found)[0]) + state.sum()


@pytest.fixture
def tagger():
    torch.manual_seed(1)
    return Tagger().double()


@pytest.fixture
def batch():
    return torch.randn(5, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
