"""What verdicts on pairs of answers are worth, and what they say of the models: agreement, biases, Bradley-Terry ranks."""
