"""Texts whose ends stand in their beginnings: prompt sets on which copying pays, and a lesson in copying."""
