"""What shape the states take: dimension, principal directions, unstable manifolds, the tangent map."""

from dynlab.diagnostics.geometry.geometry import geometry

__all__ = ["geometry"]
