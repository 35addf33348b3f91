"""Layers as functions: convolutions, pooling, normalisation, dropout."""
