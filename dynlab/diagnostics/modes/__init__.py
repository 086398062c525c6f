"""What each direction at a fixed point remembers, and which input writes into it."""

from dynlab.diagnostics.modes.modes import modes

__all__ = ["modes"]
