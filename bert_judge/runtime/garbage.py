"""Garbage collection in a program that imports torch and transformers."""

import atexit
import gc

# Python's default threshold of 700 collects half a million modules, classes and functions seven times while they are created.
THRESHOLD = 50_000


def limit_garbage_collection() -> None:
    """Collect garbage rarely, and none when the program ends: scoring two answers took 17 s of processor time, and takes 10."""
    gc.set_threshold(THRESHOLD)
    atexit.register(gc.freeze)
