"""Students: language models that learn from the answers that a judge thinks best, and what they are worth."""
