"""Bounds that a network is held to: what is measured for each, and how a measurement is judged."""
