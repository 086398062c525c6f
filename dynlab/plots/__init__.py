"""Pictures of Datasets: one picture a file, ``plot_x(ds, *, ax=None, **artist) -> Axes``. The table is `PLOTS`.

A plot reads a Dataset and draws; it computes nothing, calls no ``plt.show`` and imports no torch. `layout.picture`
makes it of a function that draws on axes.
"""

# Public name to "module:attribute".
PLOTS: dict[str, str] = {
    "plot_phase_plane": "dynlab.plots.phase_plane:plot_phase_plane",
    "plot_stability_disc": "dynlab.plots.stability_disc:plot_stability_disc",
    "plot_divergence": "dynlab.plots.phase_plane:plot_divergence",
    "plot_ernn_manifold": "dynlab.plots.ernn_manifold:plot_ernn_manifold",
    "plot_spectrum": "dynlab.plots.spectrum:plot_spectrum",
    "plot_spectral_radius": "dynlab.plots.spectrum:plot_spectral_radius",
    "plot_eigenvalues_over_time": "dynlab.plots.spectrum:plot_eigenvalues_over_time",
    "plot_flow_spectrum": "dynlab.plots.spectrum:plot_flow_spectrum",
    "plot_end_to_end": "dynlab.plots.gradient:plot_end_to_end",
    "plot_gradient": "dynlab.plots.gradient:plot_gradient",
    "plot_fixed_points": "dynlab.plots.fixed_points:plot_fixed_points",
    "plot_modes": "dynlab.plots.modes:plot_modes",
    "plot_geometry": "dynlab.plots.geometry:plot_geometry",
    "plot_tangent_map": "dynlab.plots.tangent_map:plot_tangent_map",
    "plot_ernn_convergence": "dynlab.plots.ernn_convergence:plot_ernn_convergence",
    "plot_lyapunov": "dynlab.plots.lyapunov:plot_lyapunov",
    "plot_attractor": "dynlab.plots.lyapunov:plot_attractor",
    "plot_covariant_vectors": "dynlab.plots.covariant_vectors:plot_covariant_vectors",
    "plot_basins": "dynlab.plots.basins:plot_basins",
    "plot_pseudospectrum": "dynlab.plots.pseudospectrum:plot_pseudospectrum",
    "plot_lyapunov_function": "dynlab.plots.lyapunov_function:plot_lyapunov_function",
    "plot_energy": "dynlab.plots.energy:plot_energy",
    "plot_stability": "dynlab.plots.stability:plot_stability",
    "plot_step_region": "dynlab.plots.stability:plot_step_region",
    "plot_critical_steps": "dynlab.plots.critical_steps:plot_critical_steps",
    "plot_diffusion_plane": "dynlab.plots.critical_steps:plot_diffusion_plane",
    "plot_theory_bounds": "dynlab.plots.stability:plot_theory_bounds",
    "plot_eigenvalue_bounds": "dynlab.plots.eigenvalue_bounds:plot_eigenvalue_bounds",
    "plot_over_training": "dynlab.plots.over_training:plot_over_training",
    "plot_bifurcation": "dynlab.plots.bifurcation:plot_bifurcation",
    "plot_parameter_plane": "dynlab.plots.parameter_plane:plot_parameter_plane",
    "plot_compare": "dynlab.plots.compare:plot_compare",
    "plot_box_bounds": "dynlab.plots.box_bounds:plot_box_bounds",
    "plot_ernn_spectrum": "dynlab.plots.ernn_spectrum:plot_ernn_spectrum",
}
