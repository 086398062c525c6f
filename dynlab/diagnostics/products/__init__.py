"""Long products of Jacobians in log scale: all singular values, the moduli of the eigenvalues, gradients of a loss."""
