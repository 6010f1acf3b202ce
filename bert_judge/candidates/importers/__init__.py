"""Importers: files that somebody else wrote, as rows of this program."""
