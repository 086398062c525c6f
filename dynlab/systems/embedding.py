"""Layers before a recurrent network: a table of vectors for tokens, or a linear layer."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from dynlab.arguments import check_at_least
from dynlab.errors import UserError, entry

UNIFORM = 0.1  # weights start in U(−0.1, 0.1), as in the code of nnRNN's and asRNN's language models
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"none": torch.clone, "tanh": torch.tanh, "relu": torch.relu}


class Embedding(nn.Module):
    """A table of vectors, one for each token; tokens come by their numbers, as the only input of a step.

    Parameters
    ----------
    tokens : int
        Number of tokens.
    size : int
        Length of a vector: the width of what a step is given.

    Examples
    --------
    >>> embedding = Embedding(50, 4)
    >>> embedding(torch.tensor([[[3.0], [49.0]]])).shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, tokens: int, size: int) -> None:
        super().__init__()
        check_at_least(1, tokens=tokens, size=size)
        self.weight = nn.Parameter(torch.empty(tokens, size).uniform_(-UNIFORM, UNIFORM))

    @property
    def tokens(self) -> int:
        return self.weight.shape[0]

    def forward(self, numbers: Tensor) -> Tensor:
        """The vectors of `numbers`, shape (..., time, 1) to (..., time, size).

        Raises
        ------
        UserError
            For what is no token's number.
        """
        places = numbers[..., 0].long()
        if ((places != numbers[..., 0]) | (places < 0) | (places >= self.tokens)).any():
            raise UserError(
                f"The network reads tokens by their numbers, 0 to {self.tokens - 1}, and was given something else; its "
                f"own task's data are in that form."
            )
        return functional.embedding(places, self.weight)


class Encoder(nn.Module):
    """A linear layer and an activation, which make a step's input x = φ(W u + b) of what a whole model is given.

    Parameters
    ----------
    linear : nn.Linear
    activation : str
        A name in `ACTIVATIONS`.
    """

    def __init__(self, linear: nn.Linear, activation: str) -> None:
        super().__init__()
        self.linear, self.activation = linear, activation

    def forward(self, inputs: Tensor) -> Tensor:
        """Return φ(W u + b), shape (..., time, m) to (..., time, size)."""
        found = entry(ACTIVATIONS, self.activation, "activation of an encoder")(
            self.linear(inputs.to(self.linear.weight))
        )
        return found.to(inputs) if inputs.is_floating_point() else found

    def jacobian(self, shown: Tensor) -> Tensor:
        """Return ∂x/∂u = diag(φ') W, shape (size, m), where it gives x = `shown` (size,)."""
        slopes = {"none": torch.ones_like(shown), "tanh": 1 - shown**2, "relu": (shown > 0).to(shown)}
        return slopes[self.activation].unsqueeze(-1) * self.linear.weight.to(shown)
