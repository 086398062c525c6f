"""Lyapunov exponents of maps and flows, the rates at which nearby states separate, with their errors."""

from dynlab.diagnostics.lyapunov.lyapunov_exponents import lyapunov as lyapunov
