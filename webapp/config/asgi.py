"""The ASGI entry: pages and API by Django, sockets by Channels."""

import os

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings

from webapp.core.bodies import LimitBodies
from webapp.core.waiting import InTurns

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
settings.DATABASES["default"] |= settings.WEB_CONNECTIONS
django.setup(set_prefix=False)
http = LimitBodies(InTurns(), longest=settings.CHUNK_BYTES)

from webapp.live.routing import websocket_urlpatterns  # noqa: E402  models are there only now
from webapp.metrics.door import Metrics  # noqa: E402

websocket = AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
application = Metrics(ProtocolTypeRouter({"http": http, "websocket": websocket}))
