"""Small runs for a single file: a generated configuration, whose stages run one after the other in a folder."""
