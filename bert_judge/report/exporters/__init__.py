"""Exporters: accuracies and verdicts in the forms that other programs and pages take."""
