"""The status of every URL for every kind of user: the whole table, asserted entire, addresses of one answer together.
No cache may keep any of these answers.

An address without an entry fails, so nobody adds one without saying who may use it. The columns are alice (owner), bob
(member), victor (viewer), charlie (owner of another team), nobody signed in, and alice's tokens of scope read, submit
and admin. Bodies are empty: 400 and 422 mean that the door was open. 404 is how another team's things look.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.kit.addresses import address, routes
from tests.kit.everything import one_of_everything

TABLE = """
200 200 200 404 401 200 200 200
  GET    teams-detail members-detail jobs-detail jobs-events jobs-news jobs-telemetry uploads-detail
  GET    models-detail pairs-detail datasets-detail datasets-prompts datasets-token-lengths endpoints-detail
  GET    classifiers-detail classifiers-page classifiers-file studies-detail studies-file studies-document
  GET    studies-figures comparisons-detail comparisons-rounds
  GET    comparisons-file comparisons-report comparisons-worst comparisons-events shares-detail
  GET    runs-detail samples-detail samples-trace
200 200 200 200 401 200 200 200
  GET    schema me teams-list members-list tokens-list jobs-list uploads-list models-list pairs-list datasets-list
  GET    endpoints-list classifiers-list studies-list strategies comparisons-list shares-list runs-list
  GET    runs-csv samples-list queues-list workers-list
409 409 403 404 401 403 409 409
  POST   jobs-retry jobs-cancel uploads-chunk models-restore pairs-restore datasets-restore endpoints-restore
  POST   classifiers-restore studies-restore comparisons-restore
  DELETE uploads-detail
  PUT    uploads-chunk
200 200 200 200 302 302 302 302
  GET    account tokens team new-team jobs models find uploads pairs datasets endpoints classifiers studies
  GET    comparisons runs
302 302 403 404 302 302 302 302
  POST   remove-member prioritise-job count-tokens check-endpoint set-key drop-key rename bin
  POST   describe-comparison revoke-share
200 200 200 404 302 302 302 302
  GET    job model pair dataset endpoint study classifier training comparison
400 400 403 400 401 403 400 400
  POST   uploads-list models-list pairs-list datasets-list endpoints-list classifiers-train classifiers-list
  POST   studies-list comparisons-list
204 204 403 404 401 403 204 204
  DELETE models-detail pairs-detail datasets-detail endpoints-detail endpoints-key classifiers-detail studies-detail
  DELETE comparisons-detail shares-detail
422 422 403 422 302 302 302 302
  POST   new-model new-pair new-dataset new-endpoint new-classifier new-study train-classifier new-comparison
409 409 403 404 302 302 302 302
  POST   cancel-job retry-job discard-upload restore
200 200 403 200 302 302 302 302
  GET    new-model new-pair new-dataset new-endpoint new-classifier new-study train-classifier new-comparison
400 400 403 404 401 403 400 400
  PATCH  jobs-detail models-detail pairs-detail datasets-detail classifiers-detail
  POST   datasets-token-lengths
  PUT    endpoints-key
410 410 410 410 410 410 410 410
  POST   enter join
  GET    join shared shared-file shared-events shared-what-if
403 403 403 403 401 403 403 403
  GET    system-api users-list users-detail
  POST   users-deactivate users-reactivate queues-pause
  DELETE queues-pause
200 200 200 200 200 200 200 200
  GET    docs docs-page enter
403 403 403 403 302 302 302 302
  GET    system users
  POST   deactivate reactivate pause-queue resume-queue
302 302 302 302 302 302 302 302
  GET    home comparisons-difference
  POST   sign-out change-name
422 422 422 422 302 302 302 302
  POST   account tokens new-team
400 400 400 400 401 400 400 400
  POST   tokens-list pairs-check datasets-preview
200 403 403 200 302 302 302 302
  POST   team
  GET    audit
302 302 302 404 302 302 302 302
  POST   switch-team
  GET    comparison-rounds
400 403 403 404 401 403 403 400
  PATCH  teams-detail members-detail
200 403 403 200 401 403 403 200
  GET    invitations-list audit-list
200 403 403 404 401 403 403 200
  GET    invitations-detail audit-detail
200 200 403 404 401 403 200 200
  POST   uploads-complete
  PATCH  comparisons-detail
202 202 403 404 401 403 202 202
  POST   endpoints-check comparisons-clone
409 409 409 404 401 409 409 409
  GET    studies-figure comparisons-what-if
200 200 403 404 302 302 302 302
  GET    shares
  POST   shares
302 302 302 302 200 200 200 200
  GET    sign-in
302 302 302 302 422 422 422 422
  POST   sign-in
302 404 404 404 302 302 302 302
  POST   revoke-token
400 403 403 404 302 302 302 302
  POST   change-role
302 403 403 404 302 302 302 302
  POST   set-hub-token revoke-invitation
404 404 403 404 302 302 302 302
  POST   run-demo
200 200 200 200 401 403 403 403
  PATCH  me
400 400 400 400 401 403 403 403
  POST   teams-list
200 200 200 404 401 403 403 403
  POST   teams-switch
204 204 403 404 401 403 403 204
  DELETE members-detail
201 403 403 201 401 403 403 201
  POST   invitations-list
204 403 403 404 401 403 403 204
  DELETE invitations-detail
200 404 404 404 401 200 200 200
  GET    tokens-detail
204 404 404 404 401 403 403 204
  DELETE tokens-detail
201 201 201 201 401 201 201 201
  POST   tickets-list
201 201 403 404 401 403 201 201
  POST   comparisons-shares
"""

WHO = ("alice", "bob", "victor", "charlie", "nobody", "read", "submit", "admin")


@pytest.fixture
def things(world) -> dict[str, Any]:
    return one_of_everything(world)


def client_of(world, who: str):
    if who in ("read", "submit", "admin"):
        return world.script(who)
    return world.api(getattr(world, who, None))


def ask(world, who: str, method: str, url: str):
    cache.clear()
    client = client_of(world, who)
    client.raise_request_exception = False
    kind = "application/octet-stream" if "/chunks/" in url else "application/json"
    with transaction.atomic():
        answer = client.get(url) if method == "GET" else client.generic(method, url, b"{}", content_type=kind)
        transaction.set_rollback(True)
    assert answer["Cache-Control"] == "private, no-store", url
    return answer


def test_every_address_answers_everyone_as_the_table_says(world, things):
    for scope in ("read", "submit", "admin"):
        world.script(scope)
    wanted, found, codes = {}, {}, []
    for line in map(str.split, TABLE.strip().splitlines()):
        if line[0].isdigit():
            codes = line
        else:
            wanted |= {(line[0], name): codes for name in line[1:]}
    secrets = [str(thing.pk) for thing in things.values()] + ["Alice"]
    for method, pattern in routes():
        url = address(pattern, things)
        answers = {who: ask(world, who, method, url) for who in WHO}
        found[method, str(pattern.name)] = [str(answer.status_code) for answer in answers.values()]
        for stranger in ("charlie", "nobody"):
            shown = getattr(answers[stranger], "content", b"").decode().replace(url, "")
            told = [secret for secret in secrets if secret in shown and secret not in url]
            assert not told, f"{method} {url} tells {stranger} of {told}"
    differing = {at: codes for at, codes in found.items() if codes != wanted.pop(at, None)}
    assert (differing, wanted) == ({}, {}), "Addresses that answer otherwise now, and addresses that are gone."
