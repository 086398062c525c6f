"""Proofs in ball arithmetic: what a program encloses, Krawczyk's test, certificates."""
