"""What a phase portrait is made of: field, equilibria, their kinds, where orbits end, and the sentence about it."""
