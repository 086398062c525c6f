"""The command line: commands compose dynlab's verbs and compute nothing; related ones share a file. See `COMMANDS`."""

# Commands by what one wants, in the order of `dynlab --help`: name to "module:attribute".
GROUPS: dict[str, dict[str, str]] = {
    "Look": {
        "inspect": "dynlab.cli.lists:inspect",
        "report": "dynlab.cli.report:report",
        "geometry": "dynlab.cli.fixed_points:geometry",
        "phase": "dynlab.cli.portraits:phase",
        "explore": "dynlab.cli.portraits:explore",
        "animate": "dynlab.cli.portraits:animate",
    },
    "Measure": {
        "spectrum": "dynlab.cli.jacobians:spectrum",
        "gradient": "dynlab.cli.jacobians:gradient",
        "fixed-points": "dynlab.cli.fixed_points:fixed_points",
        "modes": "dynlab.cli.fixed_points:modes",
        "lyapunov": "dynlab.cli.orbits:lyapunov",
        "basins": "dynlab.cli.orbits:basins",
        "bifurcation": "dynlab.cli.orbits:bifurcation",
        "stability": "dynlab.cli.jacobians:stability",
        "energy": "dynlab.cli.orbits:energy",
        "pseudospectrum": "dynlab.cli.jacobians:pseudospectrum",
        "compare": "dynlab.cli.orbits:compare",
        "sweep": "dynlab.cli.sweep:sweep",
    },
    "Prove and check": {
        "check": "dynlab.cli.check:check",
        "lyapunov-function": "dynlab.cli.fixed_points:lyapunov_function",
        "box-bounds": "dynlab.cli.jacobians:box_bounds",
    },
    "Train": {
        "train": "dynlab.cli.train:train",
    },
    "The papers": {
        "figure": "dynlab.cli.papers:figure",
        "table": "dynlab.cli.papers:table",
        "ernn-manifold": "dynlab.cli.ernn:ernn_manifold",
        "ernn-convergence": "dynlab.cli.ernn:ernn_convergence",
    },
    "Lists": {
        "list": "dynlab.cli.lists:listing",
    },
}
HIDDEN: dict[str, str] = {"completion": "dynlab.cli.main:completion", "demo": "dynlab.cli.papers:demo"}
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
