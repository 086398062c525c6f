"""The modes at fixed points: how long each lasts, and which input drives it."""

from dynlab.diagnostics.modes.modes import modes as modes
