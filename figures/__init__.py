"""The sources' figures, tables and claims, each a script over kept Datasets; what the sources say is in the TOML files.

The tables of them are `FIGURES` and `TABLES`.
"""

# Public name to "module:figure"; `figure(fast=False, recompute=False) -> Made`; recompute makes what is kept again, and
# fast is the same figure from less data.
FIGURES = {
    "antisymmetric-1": "dynlab.figures.antisymmetric_1:figure",
    "antisymmetric-1h": "dynlab.figures.antisymmetric_1:detail",
    "antisymmetric-2": "dynlab.figures.antisymmetric_2:figure",
    "collapsed-rule": "dynlab.figures.collapsed_rule:figure",
    "copying": "dynlab.figures.copying:figure",
    "copying-modes": "dynlab.figures.copying_modes:figure",
    "critical-step": "dynlab.figures.critical_step:figure",
    "equilibria": "dynlab.figures.equilibria:figure",
    "ernn-1": "dynlab.figures.ernn_1:figure",
    "ernn-2": "dynlab.figures.ernn_2:figure",
    "ernn-3": "dynlab.figures.ernn_3:figure",
    "ernn-4": "dynlab.figures.ernn_4:figure",
    "ernn-5": "dynlab.figures.ernn_5:figure",
    "ernn-6": "dynlab.figures.ernn_6:figure",
    "flipflop": "dynlab.figures.flipflop:figure",
    "har2": "dynlab.figures.har2:figure",
    "integrators": "dynlab.figures.integrators:figure",
    "movie": "dynlab.figures.movie:figure",
    "time-varying": "dynlab.figures.time_varying:figure",
    "zoo": "dynlab.figures.zoo_comparison:figure",
}

# Public name to "module:table"; `table(recompute=False) -> Table`, where recompute makes its kept numbers again.
TABLES = {
    "antisymmetric-1": "dynlab.figures.accuracies:antisymmetric_1",
    "antisymmetric-2": "dynlab.figures.accuracies:antisymmetric_2",
    "asrnn-mnist": "dynlab.figures.accuracies:asrnn_mnist",
    "asrnn-ptb": "dynlab.figures.accuracies:asrnn_ptb",
    "audit": "dynlab.figures.claims:table",
    "copying": "dynlab.figures.copying:table",
    "equilibria": "dynlab.figures.equilibria:table",
    "ernn-1": "dynlab.figures.data_sets:table_1",
    "ernn-2": "dynlab.figures.data_sets:table_2",
    "ernn-3": "dynlab.figures.accuracies:ernn_3",
    "ernn-4": "dynlab.figures.accuracies:ernn_4",
    "ernn-5": "dynlab.figures.accuracies:ernn_5",
    "ernn-6": "dynlab.figures.accuracies:ernn_6",
    "har2": "dynlab.figures.har2:table",
    "speed": "dynlab.figures.speed:table",
}
