"""The documentation in `docs/`, served by the lab at /docs/."""
