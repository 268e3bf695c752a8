"""The ASGI entry: pages and API by Django, sockets by Channels."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")  # before anything reads the settings

import django
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings

from webapp.core.bodies import LimitBodies
from webapp.core.proxies import BehindProxies
from webapp.core.waiting import InTurns

settings.DATABASES["default"] |= settings.WEB_CONNECTIONS
django.setup(set_prefix=False)
from webapp.accounts.authentication import team_of  # noqa: E402  needs the models, which `setup` loads

http = LimitBodies(InTurns(team_of), longest=settings.CHUNK_BYTES)

from webapp.config import urls  # noqa: E402, F401  loaded now, else the first requests would wait for it
from webapp.config.door import Door  # noqa: E402
from webapp.live.routing import websocket_urlpatterns  # noqa: E402

websocket = AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
application = BehindProxies(
    Door(ProtocolTypeRouter({"http": http, "websocket": websocket})),
    trusted=settings.PROXIES,
    https=settings.HTTPS,
)
