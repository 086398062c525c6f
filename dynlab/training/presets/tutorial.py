"""The tutorial "Recurrent Neural Networks – Code": a sigmoid RNN in NumPy that continues windows of a sine wave."""

from dynlab.training.presets.preset import Preset
from dynlab.training.settings import Settings

WINDOWS, ASKED = 50, 8
# Its step is 0.1/54 along the gradient of a sum over windows and points, of which the loss here is the mean.
LR = 0.1 / 54 * WINDOWS * ASKED
CHOSEN = (
    "W and V start with Q of a QR decomposition, where the source takes R for W, of norm 0.06, and the polar factor "
    "for V. The read-out has a bias and torch's start. It descends along the gradient, which the source's rule is not"
)

TUTORIAL: dict[str, Preset] = {
    "tutorial-sine": Preset(
        "vanilla",
        "sine",
        Settings(epochs=10_000, batch_size=WINDOWS, optimizer="gd", lr=LR, loss="huber", cutoff=1.0),
        {"state_size": 32, "activation": "sigmoid", "bias": False, "start": "qr"},
        {"retrain": True},
        "the NumPy RNN tutorial",
        "pictures only",
        CHOSEN,
    )
}
