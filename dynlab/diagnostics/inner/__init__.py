"""ERNN's inner iteration: its equilibria, its iterates, its rate, and the sentences about them."""
