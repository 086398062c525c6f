"""The sources' figures and tables, made again: one script each, which composes diagnostics and plots.

The tables of them are `FIGURES` and `TABLES`.
"""

from dynlab.gallery.made import Made, Table, audit_page, page, tables_page

__all__ = ["FIGURES", "TABLES", "Made", "Table", "audit_page", "page", "tables_page"]

# Public name to "module:make"; `make(fast=False, recompute=False) -> Made`; recompute makes what is kept again, and
# fast is the same figure from less data.
FIGURES = {
    "antisymmetric-1": "dynlab.gallery.antisymmetric:make",
    "antisymmetric-1h": "dynlab.gallery.antisymmetric:make_h",
    "antisymmetric-2": "dynlab.gallery.antisymmetric_2:make",
    "collapsed-rule": "dynlab.gallery.collapsed_rule:make",
    "copying": "dynlab.gallery.copying:make",
    "copying-modes": "dynlab.gallery.copying_modes:make",
    "critical-step": "dynlab.gallery.critical_step:make",
    "equilibria": "dynlab.gallery.equilibria:make",
    "ernn-1": "dynlab.gallery.ernn_1:make",
    "ernn-2": "dynlab.gallery.ernn_2:make",
    "ernn-3": "dynlab.gallery.ernn_3:make",
    "ernn-4": "dynlab.gallery.ernn_4:make",
    "ernn-5": "dynlab.gallery.ernn_5:make",
    "ernn-6": "dynlab.gallery.ernn_6:make",
    "flipflop": "dynlab.gallery.flipflop:make",
    "har2": "dynlab.gallery.har2:make",
    "integrators": "dynlab.gallery.integrators:make",
    "movie": "dynlab.gallery.movie:make",
    "time-varying": "dynlab.gallery.time_varying:make",
    "zoo": "dynlab.gallery.zoo_comparison:make",
}

# Public name to "module:table"; `table(recompute=False) -> Table`, where recompute makes its kept numbers again.
TABLES = {
    "antisymmetric-1": "dynlab.gallery.accuracies:antisymmetric_1",
    "antisymmetric-2": "dynlab.gallery.accuracies:antisymmetric_2",
    "asrnn-mnist": "dynlab.gallery.accuracies:asrnn_mnist",
    "asrnn-ptb": "dynlab.gallery.accuracies:asrnn_ptb",
    "audit": "dynlab.gallery.audit:table",
    "choices": "dynlab.gallery.choices:table",
    "copying": "dynlab.gallery.copying:table",
    "equilibria": "dynlab.gallery.equilibria:table",
    "ernn-1": "dynlab.gallery.data_sets:table_1",
    "ernn-2": "dynlab.gallery.data_sets:table_2",
    "ernn-3": "dynlab.gallery.accuracies:ernn_3",
    "ernn-4": "dynlab.gallery.accuracies:ernn_4",
    "ernn-5": "dynlab.gallery.accuracies:ernn_5",
    "ernn-6": "dynlab.gallery.accuracies:ernn_6",
    "har2": "dynlab.gallery.har2:table",
    "speed": "dynlab.gallery.speed:table",
}
