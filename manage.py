#!/usr/bin/env python3
"""Django's entry for operators. People start Drafthouse with `./drafthouse up`."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    from webapp.core import start

    with start.refused():
        execute_from_command_line(sys.argv)
