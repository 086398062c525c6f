"""Branches of fixed points and equilibria as a parameter changes, and where they change stability or meet."""
