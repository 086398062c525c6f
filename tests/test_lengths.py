"""Sequences of different lengths: each has the numbers of an analysis of its own."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.errors import UserError

LENGTHS = (9, 40, 17)
SEQUENCES = [np.random.default_rng(length).standard_normal((length, 2)) for length in LENGTHS]


def with_nan():
    whole = np.full((len(LENGTHS), max(LENGTHS), 2), np.nan)
    for row, sequence in zip(whole, SEQUENCES, strict=True):
        row[: len(sequence)] = sequence
    return whole


def packed():
    tensors = [torch.from_numpy(sequence) for sequence in SEQUENCES]
    return torch.nn.utils.rnn.pack_sequence(tensors, enforce_sorted=False)


def gru():
    torch.manual_seed(0)
    return dl.create("gru", input_size=2, hidden_size=5).double()


OWN = {  # diagnostics, their settings, and their variables that belong to one sequence alone
    "spectrum": ({}, ("eigenvalue", "spectral_radius", "condition", "departure_from_normality")),
    "gradient": ({}, ("log_norm", "log_norm_frobenius", "surviving", "lost_after")),
    "end_to_end": ({"times": 5}, ("log_singular_value", "effective_rank", "log_mean_modulus", "surviving")),
    "lyapunov": ({}, ("finite_time_exponent", "running_exponent", "mean_log_det")),
}


@pytest.mark.parametrize(
    "name, given", [("spectrum", packed), ("gradient", with_nan), *((name, lambda: SEQUENCES) for name in OWN)]
)
def test_each_sequence_has_the_numbers_of_an_analysis_of_its_own(name, given):
    settings, variables = OWN[name]
    system, diagnostic = gru(), getattr(dl, name)
    ds = diagnostic(system, given(), **settings)
    assert ds["length"].values.tolist() == list(LENGTHS)
    for sample, sequence in enumerate(SEQUENCES):
        alone = diagnostic(system, sequence, **settings).isel(sample=0)
        part = ds.isel(sample=sample)
        for variable in variables:
            own = part[variable].sel(time=alone["time"]) if "time" in part[variable].dims else part[variable]
            np.testing.assert_allclose(own, alone[variable], rtol=1e-12, atol=1e-12)
        after = part.sel(time=part["time"] > len(sequence))
        assert all(after[variable].isnull().all() for variable in variables if "time" in after[variable].dims)
    assert "9 to 40 steps" in ds.attrs["verdict"]


@pytest.mark.parametrize(
    "ask, sentence",
    [
        (lambda: dl.covariant_vectors(gru(), SEQUENCES), "rows of equal length"),
        (lambda: dl.gradient(gru(), [*SEQUENCES, np.zeros((3, 4))]), "of one width"),
        (lambda: dl.gradient(gru(), [*SEQUENCES, np.zeros((0, 2))]), "no step"),
        (lambda: dl.gradient(gru(), SEQUENCES, loss=lambda states, _: states[:, -1, 0]), "sequences of one length"),
        (lambda: dl.spectrum(gru(), np.where(np.arange(40)[:, None] == 7, np.nan, SEQUENCES[1])), "NaN"),
    ],
)
def test_what_is_not_taken_is_said_in_a_sentence(ask, sentence):
    with pytest.raises(UserError, match=sentence):
        ask()
