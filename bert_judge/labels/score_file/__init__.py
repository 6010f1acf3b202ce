"""Verdicts beside the rows of a stranger's file, without a configuration."""
