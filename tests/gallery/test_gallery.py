"""Every script of the gallery draws its figure and says what was measured; the sentences hold what is known."""

import matplotlib.pyplot as plt
import pytest

from dynlab.errors import lookup
from dynlab.gallery import FIGURES, page

# What each sentence must say: facts of SYSTEMS, and of the sources' errors.
KNOWN = {
    "antisymmetric-1": "the critical step is 0.0746",
    "antisymmetric-1h": "The flow's focus is stable, Euler's map at ε = 0.1 is not, the critical step is 0.0746",
    "collapsed-rule": "off by 0.7% at the tutorial's start, whose W is all but 0. It is off by 4",
    "copying": "LSTM, 68 units: best 0.088, never half the baseline",
    "critical-step": "radius 0.570 to 0.598",
    "ernn-1": "h_k = z*(x_k) − h_{k−1} holds to",
    "ernn-2": "RNN, tanh: e^−70.0 untrained",
    "ernn-5": "have a real part above 0",
    "ernn-6": "predicted",
    "flipflop": "8 stable, saddles: 12 with 1, 6 with 2, 1 with 3",
    "har2": "Of 12 published accuracies under the published recipes",
    "integrators": "rule's energy swings by 0.002 and does not drift",
    "time-varying": "the solution grows to e^10.000000 by t = 20",
    "zoo": "Directions that survive",
}


def test_a_fact_is_known_of_every_figure():
    assert set(KNOWN) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_and_its_sentence_says_what_is_known(name, tmp_path):
    made = lookup(FIGURES, name, "figure")(fast=True)
    assert KNOWN[name] in made.measured
    assert made.claim
    assert made.results
    made.figure.savefig(tmp_path / "figure.png")
    assert f"![{made.title}]({name}.png)" in page({name: made})
    plt.close("all")
