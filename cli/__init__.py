"""The command line: one command a file, which composes dynlab's verbs and computes nothing. The table is `COMMANDS`."""

# Commands by what one wants, in the order of `dynlab --help`: name to "module:attribute".
LOOK: dict[str, str] = {
    "inspect": "dynlab.cli.inspect:inspect",
    "report": "dynlab.cli.report:report",
    "geometry": "dynlab.cli.geometry:geometry",
    "phase": "dynlab.cli.phase:phase",
    "explore": "dynlab.cli.explore:explore",
    "animate": "dynlab.cli.animate:animate",
}
MEASURE: dict[str, str] = {
    "spectrum": "dynlab.cli.spectrum:spectrum",
    "gradient": "dynlab.cli.gradient:gradient",
    "fixed-points": "dynlab.cli.fixed_points:fixed_points",
    "modes": "dynlab.cli.modes:modes",
    "lyapunov": "dynlab.cli.lyapunov:lyapunov",
    "basins": "dynlab.cli.basins:basins",
    "bifurcation": "dynlab.cli.bifurcation:bifurcation",
    "stability": "dynlab.cli.stability:stability",
    "energy": "dynlab.cli.energy:energy",
    "pseudospectrum": "dynlab.cli.pseudospectrum:pseudospectrum",
    "compare": "dynlab.cli.compare:compare",
    "sweep": "dynlab.cli.sweep:sweep",
}
PROVE_AND_CHECK: dict[str, str] = {
    "check": "dynlab.cli.check:check",
    "lyapunov-function": "dynlab.cli.lyapunov_function:lyapunov_function",
    "box-bounds": "dynlab.cli.box_bounds:box_bounds",
}
TRAIN: dict[str, str] = {
    "train": "dynlab.cli.train:train",
}
PAPERS: dict[str, str] = {
    "figure": "dynlab.cli.figure:figure",
    "table": "dynlab.cli.table:table",
    "ernn-manifold": "dynlab.cli.ernn_manifold:ernn_manifold",
    "ernn-convergence": "dynlab.cli.ernn_convergence:ernn_convergence",
}
LISTS: dict[str, str] = {
    "list": "dynlab.cli.listing:listing",
}
GROUPS = {
    "Look": LOOK,
    "Measure": MEASURE,
    "Prove and check": PROVE_AND_CHECK,
    "Train": TRAIN,
    "The papers": PAPERS,
    "Lists": LISTS,
}
HIDDEN: dict[str, str] = {"completion": "dynlab.cli.completion:completion", "demo": "dynlab.cli.demo:demo"}
COMMANDS: dict[str, str] = {name: place for group in (*GROUPS.values(), HIDDEN) for name, place in group.items()}

# Names of Python or a reader's words, and the command line that does the same.
OTHERWISE: dict[str, str] = {
    "phase-plane": "phase",
    "end-to-end": "gradient --end-to-end",
    "tangent-map": "geometry --tangent",
    "covariant-vectors": "lyapunov --covariant",
    "eigenvalue-bounds": "check",
    "parameter-plane": "bifurcation --second",
    "ernn-spectrum": "stability",
    "eigenvalues": "spectrum",
    "jacobian": "spectrum",
    "systems": "list systems",
    "tasks": "list tasks",
    "zoo": "list zoo",
    "presets": "list presets",
}
