"""The Celery app: how workers are woken. The web process only sends; it never runs a task and never reads a result."""

import redis
from celery import Celery
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

app = Celery("drafthouse", broker=settings.BROKER_URL or None, set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    # Longer than a worker's wait for a message; a broker whose machine is gone must not hold anybody up for ever. Who
    # sends a nudge tries once: trying again would take 6 s of a click.
    broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30, "max_retries": 0},
)


def trouble() -> str:
    """Try once, for 1 s, and say why the broker does not answer; empty if it does."""
    if not settings.REDIS_URL:
        return "There is no broker: REDIS_URL is not set."
    never = Retry(NoBackoff(), 0)
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1, retry=never) as asked:
            asked.ping()
    except redis.RedisError as error:
        return f"The broker does not answer ({type(error).__name__})."
    return ""


def answers() -> bool:
    return not trouble()
