"""What is asked of a system: one question a file. The table is `DIAGNOSTICS`.

Every diagnostic is a function of a system (and what drives it) that returns a Dataset.
"""

# Public name to "module:attribute".
DIAGNOSTICS: dict[str, str] = {
    "phase_plane": "dynlab.diagnostics.phase_plane:phase_plane",
    "ernn_manifold": "dynlab.diagnostics.ernn.manifold:ernn_manifold",
    "spectrum": "dynlab.diagnostics.spectrum:spectrum",
    "end_to_end": "dynlab.diagnostics.end_to_end:end_to_end",
    "gradient": "dynlab.diagnostics.gradient:gradient",
    "fixed_points": "dynlab.diagnostics.fixed_points:fixed_points",
    "modes": "dynlab.diagnostics.modes:modes",
    "geometry": "dynlab.diagnostics.geometry:geometry",
    "tangent_map": "dynlab.diagnostics.geometry.tangent_map:tangent_map",
    "ernn_convergence": "dynlab.diagnostics.ernn.convergence:ernn_convergence",
    "lyapunov": "dynlab.diagnostics.lyapunov:lyapunov",
    "covariant_vectors": "dynlab.diagnostics.covariant_vectors:covariant_vectors",
    "basins": "dynlab.diagnostics.basins:basins",
    "pseudospectrum": "dynlab.diagnostics.pseudospectrum:pseudospectrum",
    "lyapunov_function": "dynlab.diagnostics.lyapunov_function:lyapunov_function",
    "energy": "dynlab.diagnostics.energy:energy",
    "stability": "dynlab.diagnostics.stability:stability",
    "eigenvalue_bounds": "dynlab.diagnostics.eigenvalue_bounds:eigenvalue_bounds",
    "bifurcation": "dynlab.diagnostics.bifurcation:bifurcation",
    "parameter_plane": "dynlab.diagnostics.bifurcation.parameter_plane:parameter_plane",
    "compare": "dynlab.diagnostics.compare:compare",
    "box_bounds": "dynlab.diagnostics.box_bounds:box_bounds",
    "ernn_spectrum": "dynlab.diagnostics.ernn.spectrum:ernn_spectrum",
}
