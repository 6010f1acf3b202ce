"""Audit of a judge by human annotators: a sample of answers is drawn and labelled, and the labels correct the accuracies."""
