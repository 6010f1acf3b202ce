"""The web page: judge by hand, compare two answers, read a run's answers, mark the audit sheet. Texts of models are text on it."""
