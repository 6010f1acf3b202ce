"""Scoring of any file of answers, without a configuration: the file's rows with verdict columns appended."""
