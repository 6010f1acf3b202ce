"""Audit of a judge by people: a sample of answers is drawn, people mark it, and their labels correct the accuracies."""
