"""Exporters: accuracies and verdicts in the formats of other programs and of model hubs."""
