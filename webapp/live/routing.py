"""The addresses of sockets."""

from django.urls import path

from webapp.live.consumer import ComparisonConsumer, JobConsumer, NoSuchSocket, SharedConsumer

websocket_urlpatterns = [
    path("ws/comparisons/<uuid:pk>/", ComparisonConsumer.as_asgi()),
    path("ws/jobs/<uuid:pk>/", JobConsumer.as_asgi()),
    path("ws/shared/<str:secret>/", SharedConsumer.as_asgi()),
    path("<path:unknown>", NoSuchSocket.as_asgi()),
]
