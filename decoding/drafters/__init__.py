"""Drafters: they propose tokens. The driver makes drafts of what a source asks for; others wrap it."""
