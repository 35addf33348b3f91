"""Products of matrices, decompositions, einsum, attention."""
