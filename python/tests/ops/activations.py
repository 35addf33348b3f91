"""Activations: relu and its relatives, softmax, gates."""
