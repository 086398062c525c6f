"""The sources' figures, redrawn: one script a figure, which composes diagnostics and plots. The table is `FIGURES`."""

from dynlab.gallery.made import Made, page

__all__ = ["FIGURES", "Made", "page"]

# Public name to "module:make"; `make(fast=False) -> Made`, where fast is the same figure from less data.
FIGURES = {
    "antisymmetric-1": "dynlab.gallery.antisymmetric:make",
    "antisymmetric-1h": "dynlab.gallery.antisymmetric:make_h",
    "collapsed-rule": "dynlab.gallery.collapsed_rule:make",
    "copying": "dynlab.gallery.copying:make",
    "critical-step": "dynlab.gallery.critical_step:make",
    "ernn-1": "dynlab.gallery.ernn_1:make",
    "ernn-2": "dynlab.gallery.ernn_2:make",
    "ernn-5": "dynlab.gallery.ernn_5:make",
    "ernn-6": "dynlab.gallery.ernn_6:make",
    "flipflop": "dynlab.gallery.flipflop:make",
    "integrators": "dynlab.gallery.integrators:make",
    "time-varying": "dynlab.gallery.time_varying:make",
    "zoo": "dynlab.gallery.zoo_comparison:make",
}
