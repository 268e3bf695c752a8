"""Chat prompts: messages, and the target's own template that makes a text of them."""
