"""Tensors from nothing, from values and from foreign memory; conversions."""
