"""Hidden states of a frozen model as features: prompts, one pass over the answers, pooled layers, and the tables that keep them."""
