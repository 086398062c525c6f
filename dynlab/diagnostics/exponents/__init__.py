"""Lyapunov exponents: frames of tangent vectors carried along maps and flows, and what their growth says."""
