"""The starter pair and its prompts, and the recipe that made them."""
