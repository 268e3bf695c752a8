"""The Celery app: how workers are woken. The web process only sends; it never runs a task and never reads a result."""

from celery import Celery
from django.conf import settings

app = Celery("drafthouse", broker=settings.BROKER_URL or None, set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    # Longer than a worker's wait for a message; a broker whose machine is gone must not hold anybody up for ever.
    broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30},
)
