"""Evaluation of pairwise judges and of models by pairs: agreement, position and length bias, Bradley-Terry strengths."""
