"""The documentation in `docs/`, served by the lab at /docs/ and written as a site by `./drafthouse docs`."""
