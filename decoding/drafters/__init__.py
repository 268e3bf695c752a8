"""Drafters: ways to propose tokens. Each is one module here; a strategy's builder in `decoding.registry` names it."""
