"""Students: base models fine-tuned on filtered answers."""
