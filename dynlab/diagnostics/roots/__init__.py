"""Finding the fixed points of a map: starts, solvers, merging, verification with fsolve, continua, slow points."""
