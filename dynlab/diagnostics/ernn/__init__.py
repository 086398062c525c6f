"""Diagnostics of ERNN alone: its inner iteration, its equilibrium manifold, the spectrum of its inner map."""
