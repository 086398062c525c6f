"""The command line: one command a file, which composes dynlab's verbs and computes nothing. The table is `COMMANDS`."""

# Command to "module:attribute", in the order of `dynlab --help`.
COMMANDS: dict[str, str] = {
    "phase": "dynlab.cli.phase:phase",
    "explore": "dynlab.cli.explore:explore",
    "animate": "dynlab.cli.animate:animate",
    "ernn-manifold": "dynlab.cli.ernn_manifold:ernn_manifold",
    "inspect": "dynlab.cli.inspect:inspect",
    "spectrum": "dynlab.cli.spectrum:spectrum",
    "gradient": "dynlab.cli.gradient:gradient",
    "fixed-points": "dynlab.cli.fixed_points:fixed_points",
    "modes": "dynlab.cli.modes:modes",
    "geometry": "dynlab.cli.geometry:geometry",
    "ernn-convergence": "dynlab.cli.ernn_convergence:ernn_convergence",
    "lyapunov": "dynlab.cli.lyapunov:lyapunov",
    "basins": "dynlab.cli.basins:basins",
    "pseudospectrum": "dynlab.cli.pseudospectrum:pseudospectrum",
    "lyapunov-function": "dynlab.cli.lyapunov_function:lyapunov_function",
    "energy": "dynlab.cli.energy:energy",
    "stability": "dynlab.cli.stability:stability",
    "bifurcation": "dynlab.cli.bifurcation:bifurcation",
    "box-bounds": "dynlab.cli.box_bounds:box_bounds",
    "compare": "dynlab.cli.compare:compare",
    "check": "dynlab.cli.check:check",
    "report": "dynlab.cli.report:report",
    "sweep": "dynlab.cli.sweep:sweep",
    "systems": "dynlab.cli.systems:systems",
    "train": "dynlab.cli.train:train",
    "tasks": "dynlab.cli.tasks:tasks",
    "zoo": "dynlab.cli.zoo:zoo",
    "figure": "dynlab.cli.figure:figure",
    "table": "dynlab.cli.table:table",
    "completion": "dynlab.cli.completion:completion",
    "demo": "dynlab.cli.demo:demo",
}

# What is a command in Python alone, or in a reader's words, to the line that does it.
OTHERWISE: dict[str, str] = {
    "phase-plane": "phase",
    "end-to-end": "gradient --end-to-end",
    "tangent-map": "geometry --tangent",
    "covariant-vectors": "lyapunov --covariant",
    "eigenvalue-bounds": "stability",
    "parameter-plane": "bifurcation --second",
    "ernn-spectrum": "stability",
    "eigenvalues": "spectrum",
    "jacobian": "spectrum",
}
