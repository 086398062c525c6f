"""What `dynlab.diagnostics.stability` is made of: the flow of a cell, integrators' regions, diffusion, bounds."""
