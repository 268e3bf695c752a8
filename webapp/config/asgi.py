"""The ASGI entry. Sockets join here with the live page."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from webapp.core.bodies import LimitBodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

application = LimitBodies(get_asgi_application(), longest=settings.CHUNK_BYTES)
