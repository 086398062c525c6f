"""How fast nearby states separate: Lyapunov exponents of maps and flows, with their errors."""

from dynlab.diagnostics.lyapunov.lyapunov_exponents import lyapunov as lyapunov
