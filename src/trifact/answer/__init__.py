"""What users come for: answers, probabilities, missing facts, explanations."""
