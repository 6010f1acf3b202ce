"""Encoders: checkpoints, encoding of rows, back ends, inference and the training loop."""
