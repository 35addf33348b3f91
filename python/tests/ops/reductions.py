"""Reductions over axes: sums, extremes, norms, statistics."""
