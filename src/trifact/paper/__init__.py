"""The paper, measured again: recipes, what they came to, and its numbers beside ours."""
