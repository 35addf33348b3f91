"""Random numbers: each with a statistical check."""
