"""Orbits and where they end."""
