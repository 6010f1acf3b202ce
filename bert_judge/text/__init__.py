"""What is known about texts: visible text, normalisation, units, extraction, options, formulas, word metrics, features."""
