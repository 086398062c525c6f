"""Which of many sequences an analysis looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynlab.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Choice(NamedTuple):
    """Some of the sequences, in their own order.

    Attributes
    ----------
    samples : int
        How many at most.
    seed : int
        Of the draw, where there are more.
    skip : int, optional
        In place of a draw the `samples` sequences after the first `skip`.
    """

    samples: int
    seed: int = 0
    skip: int | None = None

    def of(self, available: int) -> NDArray[np.int64]:
        """Their numbers, from 0, where so many are there.

        Raises
        ------
        UserError
            Where all of them are skipped.
        """
        import numpy as np

        if self.skip is not None:
            if self.skip >= available:
                raise UserError(f"There are {available:,} sequences, and {self.skip:,} are skipped: skip fewer.")
            return np.arange(self.skip, min(available, self.skip + self.samples))
        if available <= self.samples:
            return np.arange(available)
        return np.sort(np.random.default_rng(self.seed).choice(available, self.samples, replace=False))
