"""Pictures of Datasets: one picture a file, ``plot_x(ds, *, ax=None, **artist) -> Axes``.

A plot reads a Dataset and draws; it computes nothing, calls no ``plt.show`` and imports no torch. `layout.picture`
makes it of a function that draws on axes.
"""
