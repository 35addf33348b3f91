"""Indices that are data: gather, scatter, masks, one_hot, embedding."""
