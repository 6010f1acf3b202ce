"""Engines that bend texts: augmentation of training rows, attacks on judges, answers of simulated models."""
