"""Proofs about fixed points: a step written out, evaluated in ball arithmetic, and what follows from that."""
