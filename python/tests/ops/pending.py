"""Public ops that have no entry in the registry yet. It only shrinks: whoever adds an op adds its entry."""

PENDING = """
""".split()
