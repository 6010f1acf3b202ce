"""A part of the workflow for one file: a configuration made of a few words, and its stages one after the other, in a folder."""
