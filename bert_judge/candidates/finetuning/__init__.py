"""Fine-tuning of causal language models: encoding of examples, training, and the folder of the resulting model."""
