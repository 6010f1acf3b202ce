"""Fine-tuning of causal language models: texts in tokens, the fitting, and the folder of the model that comes out."""
