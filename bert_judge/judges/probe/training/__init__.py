"""Training and evaluation of probes, cross-validated by question."""
