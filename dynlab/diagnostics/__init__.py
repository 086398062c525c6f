"""Diagnostics: the questions asked of a system, one a file.

Every diagnostic is a function of a system (and what drives it) that returns a Dataset.
"""
