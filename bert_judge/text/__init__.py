"""What is known about texts: visible text, normalisation, units, extraction, options, formulas, word metrics, features.

`TEXT_VERSION` is part of the spec of every table whose rows depend on these rules, so raising it makes exactly those tables stale.
Raise it with every change of what a rule returns; the golden test fails until then. A change of code, comments or names alone needs
no new version and relabels nothing.
"""

TEXT_VERSION = 13
