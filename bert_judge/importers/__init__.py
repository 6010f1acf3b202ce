"""Importers: answers in files of other programs, as rows of this program."""
