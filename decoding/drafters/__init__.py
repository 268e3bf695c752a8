"""Drafters: ways to propose tokens. Each is one module here; `build` of a strategy makes one."""
