"""Statistics: bootstrap, metrics, intervals and tests."""
