"""The status of every URL for every kind of user: the whole table, asserted entire.

An address without a row fails, so nobody adds one without saying who may use it. The columns are alice (owner), bob
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
GET    home                   302 302 302 302 302 302 302 302
GET    healthz                200 200 200 200 200 200 200 200
GET    system                 403 403 403 403 302 302 302 302
GET    api-docs               200 200 200 200 302 302 302 302
GET    docs                   200 200 200 200 200 200 200 200
GET    docs-index             200 200 200 200 200 200 200 200
GET    docs-page              200 200 200 200 200 200 200 200
GET    readyz                 200 200 200 200 200 200 200 200
GET    sign-in                302 302 302 302 200 200 200 200
POST   sign-in                302 302 302 302 422 422 422 422
POST   sign-out               302 302 302 302 302 302 302 302
GET    enter                  200 200 200 200 200 200 200 200
POST   enter                  410 410 410 410 410 410 410 410
GET    join                   410 410 410 410 410 410 410 410
POST   join                   410 410 410 410 410 410 410 410
GET    account                200 200 200 200 302 302 302 302
POST   account                422 422 422 422 302 302 302 302
POST   change-name            302 302 302 302 302 302 302 302
GET    users                  403 403 403 403 302 302 302 302
POST   deactivate             403 403 403 403 302 302 302 302
POST   reactivate             403 403 403 403 302 302 302 302
GET    tokens                 200 200 200 200 302 302 302 302
POST   tokens                 422 422 422 422 302 302 302 302
POST   revoke-token           302 404 404 404 302 302 302 302
GET    team                   200 200 200 200 302 302 302 302
POST   team                   200 403 403 200 302 302 302 302
GET    new-team               200 200 200 200 302 302 302 302
POST   new-team               422 422 422 422 302 302 302 302
GET    audit                  200 403 403 200 302 302 302 302
POST   switch-team            302 302 302 404 302 302 302 302
POST   set-hub-token          302 403 403 404 302 302 302 302
POST   change-role            400 403 403 404 302 302 302 302
POST   remove-member          302 302 403 404 302 302 302 302
POST   revoke-invitation      302 403 403 404 302 302 302 302
GET    jobs                   200 200 200 200 302 302 302 302
GET    job                    200 200 200 404 302 302 302 302
POST   prioritise-job         302 302 403 404 302 302 302 302
POST   cancel-job             409 409 403 404 302 302 302 302
POST   retry-job              409 409 403 404 302 302 302 302
POST   pause-queue            403 403 403 403 302 302 302 302
POST   resume-queue           403 403 403 403 302 302 302 302
GET    models                 200 200 200 200 302 302 302 302
GET    new-model              200 200 403 200 302 302 302 302
POST   new-model              422 422 403 422 302 302 302 302
GET    find                   200 200 200 200 302 302 302 302
GET    uploads                200 200 200 200 302 302 302 302
POST   discard-upload         409 409 403 404 302 302 302 302
GET    model                  200 200 200 404 302 302 302 302
GET    pairs                  200 200 200 200 302 302 302 302
GET    new-pair               200 200 403 200 302 302 302 302
POST   new-pair               422 422 403 422 302 302 302 302
GET    pair                   200 200 200 404 302 302 302 302
GET    datasets               200 200 200 200 302 302 302 302
GET    new-dataset            200 200 403 200 302 302 302 302
POST   new-dataset            422 422 403 422 302 302 302 302
GET    dataset                200 200 200 404 302 302 302 302
POST   count-tokens           302 302 403 404 302 302 302 302
GET    endpoints              200 200 200 200 302 302 302 302
GET    new-endpoint           200 200 403 200 302 302 302 302
POST   new-endpoint           422 422 403 422 302 302 302 302
GET    endpoint               200 200 200 404 302 302 302 302
POST   check-endpoint         302 302 403 404 302 302 302 302
POST   set-key                302 302 403 404 302 302 302 302
POST   drop-key               302 302 403 404 302 302 302 302
GET    classifiers            200 200 200 200 302 302 302 302
GET    new-classifier         200 200 403 200 302 302 302 302
POST   new-classifier         422 422 403 422 302 302 302 302
POST   rename                 302 302 403 404 302 302 302 302
POST   bin                    302 302 403 404 302 302 302 302
POST   restore                409 409 403 404 302 302 302 302
GET    studies                200 200 200 200 302 302 302 302
GET    new-study              200 200 403 200 302 302 302 302
POST   new-study              422 422 403 422 302 302 302 302
GET    study                  200 200 200 404 302 302 302 302
POST   bin-study              302 302 403 404 302 302 302 302
POST   restore-study          409 409 403 404 302 302 302 302
POST   prove-study            409 409 403 404 302 302 302 302
GET    train-classifier       200 200 403 200 302 302 302 302
POST   train-classifier       422 422 403 422 302 302 302 302
GET    classifier             200 200 200 404 302 302 302 302
GET    training               200 200 200 404 302 302 302 302
GET    comparisons            200 200 200 200 302 302 302 302
GET    comparisons-difference 302 302 302 302 302 302 302 302
GET    new-comparison         200 200 403 200 302 302 302 302
POST   new-comparison         422 422 403 422 302 302 302 302
POST   run-demo               404 404 403 404 302 302 302 302
GET    comparison             200 200 200 404 302 302 302 302
GET    comparison-rounds      302 302 302 404 302 302 302 302
POST   describe-comparison    302 302 403 404 302 302 302 302
POST   bin-comparison         302 302 403 404 302 302 302 302
POST   restore-comparison     409 409 403 404 302 302 302 302
GET    runs                   200 200 200 200 302 302 302 302
POST   save-view              422 422 403 422 302 302 302 302
POST   bin-view               302 302 403 404 302 302 302 302
POST   restore-view           409 409 403 404 302 302 302 302
GET    pair-history           200 200 200 404 302 302 302 302
GET    schema                 200 200 200 200 401 200 200 200
GET    system-api             403 403 403 403 401 403 403 403
GET    me                     200 200 200 200 401 200 200 200
PATCH  me                     200 200 200 200 401 403 403 403
GET    users-list             403 403 403 403 401 403 403 403
GET    users-detail           403 403 403 403 401 403 403 403
POST   users-deactivate       403 403 403 403 401 403 403 403
POST   users-reactivate       403 403 403 403 401 403 403 403
GET    teams-list             200 200 200 200 401 200 200 200
POST   teams-list             400 400 400 400 401 403 403 403
GET    teams-detail           200 200 200 404 401 200 200 200
PATCH  teams-detail           400 403 403 404 401 403 403 400
POST   teams-switch           200 200 200 404 401 403 403 403
GET    members-list           200 200 200 200 401 200 200 200
GET    members-detail         200 200 200 404 401 200 200 200
PATCH  members-detail         400 403 403 404 401 403 403 400
DELETE members-detail         204 204 403 404 401 403 403 204
GET    invitations-list       200 403 403 200 401 403 403 200
POST   invitations-list       201 403 403 201 401 403 403 201
GET    invitations-detail     200 403 403 404 401 403 403 200
DELETE invitations-detail     204 403 403 404 401 403 403 204
GET    tokens-list            200 200 200 200 401 200 200 200
POST   tokens-list            400 400 400 400 401 400 400 400
GET    tokens-detail          200 404 404 404 401 200 200 200
DELETE tokens-detail          204 404 404 404 401 403 403 204
GET    audit-list             200 403 403 200 401 403 403 200
GET    audit-detail           200 403 403 404 401 403 403 200
GET    jobs-list              200 200 200 200 401 200 200 200
GET    jobs-detail            200 200 200 404 401 200 200 200
PATCH  jobs-detail            400 400 403 404 401 403 400 400
POST   jobs-retry             409 409 403 404 401 403 409 409
POST   jobs-cancel            409 409 403 404 401 403 409 409
GET    jobs-cancel            200 200 200 404 401 200 200 200
GET    jobs-events            200 200 200 404 401 200 200 200
GET    jobs-news              200 200 200 404 401 200 200 200
GET    jobs-telemetry         200 200 200 404 401 200 200 200
GET    uploads-list           200 200 200 200 401 200 200 200
POST   uploads-list           400 400 403 400 401 403 400 400
GET    uploads-detail         200 200 200 404 401 200 200 200
DELETE uploads-detail         409 409 403 404 401 403 409 409
POST   uploads-complete       200 200 403 404 401 403 200 200
POST   uploads-chunk          409 409 403 404 401 403 409 409
PUT    uploads-chunk          409 409 403 404 401 403 409 409
GET    models-list            200 200 200 200 401 200 200 200
POST   models-list            400 400 403 400 401 403 400 400
GET    models-detail          200 200 200 404 401 200 200 200
PATCH  models-detail          400 400 403 404 401 403 400 400
DELETE models-detail          204 204 403 404 401 403 204 204
POST   models-restore         409 409 403 404 401 403 409 409
GET    pairs-list             200 200 200 200 401 200 200 200
POST   pairs-list             400 400 403 400 401 403 400 400
GET    pairs-detail           200 200 200 404 401 200 200 200
PATCH  pairs-detail           400 400 403 404 401 403 400 400
DELETE pairs-detail           204 204 403 404 401 403 204 204
POST   pairs-restore          409 409 403 404 401 403 409 409
POST   pairs-check            400 400 400 400 401 400 400 400
GET    datasets-list          200 200 200 200 401 200 200 200
POST   datasets-list          400 400 403 400 401 403 400 400
GET    datasets-detail        200 200 200 404 401 200 200 200
PATCH  datasets-detail        400 400 403 404 401 403 400 400
DELETE datasets-detail        204 204 403 404 401 403 204 204
POST   datasets-restore       409 409 403 404 401 403 409 409
POST   datasets-preview       400 400 400 400 401 400 400 400
GET    datasets-prompts       200 200 200 404 401 200 200 200
GET    datasets-token-lengths 200 200 200 404 401 200 200 200
POST   datasets-token-lengths 400 400 403 404 401 403 400 400
GET    endpoints-list         200 200 200 200 401 200 200 200
POST   endpoints-list         400 400 403 400 401 403 400 400
GET    endpoints-detail       200 200 200 404 401 200 200 200
DELETE endpoints-detail       204 204 403 404 401 403 204 204
POST   endpoints-restore      409 409 403 404 401 403 409 409
POST   endpoints-check        202 202 403 404 401 403 202 202
PUT    endpoints-key          400 400 403 404 401 403 400 400
DELETE endpoints-key          204 204 403 404 401 403 204 204
POST   classifiers-train      400 400 403 400 401 403 400 400
GET    classifiers-list       200 200 200 200 401 200 200 200
POST   classifiers-list       400 400 403 400 401 403 400 400
GET    classifiers-detail     200 200 200 404 401 200 200 200
PATCH  classifiers-detail     400 400 403 404 401 403 400 400
DELETE classifiers-detail     204 204 403 404 401 403 204 204
POST   classifiers-restore    409 409 403 404 401 403 409 409
GET    classifiers-page       200 200 200 404 401 200 200 200
GET    classifiers-file       200 200 200 404 401 200 200 200
GET    studies-list           200 200 200 200 401 200 200 200
POST   studies-list           400 400 403 400 401 403 400 400
GET    studies-detail         200 200 200 404 401 200 200 200
DELETE studies-detail         204 204 403 404 401 403 204 204
POST   studies-cancel         409 409 403 404 401 403 409 409
POST   studies-retry          409 409 403 404 401 403 409 409
POST   studies-restore        409 409 403 404 401 403 409 409
POST   studies-prove          409 409 403 404 401 403 409 409
GET    studies-file           200 200 200 404 401 200 200 200
GET    studies-document       200 200 200 404 401 200 200 200
GET    studies-figures        200 200 200 404 401 200 200 200
GET    studies-figure         409 409 409 404 401 409 409 409
GET    strategies             200 200 200 200 401 200 200 200
GET    comparisons-list       200 200 200 200 401 200 200 200
POST   comparisons-list       400 400 403 400 401 403 400 400
GET    comparisons-detail     200 200 200 404 401 200 200 200
PATCH  comparisons-detail     200 200 403 404 401 403 200 200
DELETE comparisons-detail     204 204 403 404 401 403 204 204
POST   comparisons-cancel     409 409 403 404 401 403 409 409
POST   comparisons-retry      409 409 403 404 401 403 409 409
POST   comparisons-clone      202 202 403 404 401 403 202 202
POST   comparisons-restore    409 409 403 404 401 403 409 409
GET    comparisons-rounds     200 200 200 404 401 200 200 200
GET    comparisons-spec-bench 200 200 200 404 401 200 200 200
GET    comparisons-file       200 200 200 404 401 200 200 200
GET    comparisons-report     200 200 200 404 401 200 200 200
GET    comparisons-csv        200 200 200 404 401 200 200 200
GET    comparisons-worst      200 200 200 404 401 200 200 200
GET    comparisons-events     200 200 200 404 401 200 200 200
GET    comparisons-what-if    409 409 409 404 401 409 409 409
POST   tickets-list           201 201 201 201 401 201 201 201
GET    shared                 410 410 410 410 410 410 410 410
GET    shared-file            410 410 410 410 410 410 410 410
GET    shared-events          410 410 410 410 410 410 410 410
GET    shared-what-if         410 410 410 410 410 410 410 410
GET    shares                 200 200 403 404 302 302 302 302
POST   shares                 200 200 403 404 302 302 302 302
POST   revoke-share           302 302 403 404 302 302 302 302
POST   comparisons-shares     201 201 403 404 401 403 201 201
GET    shares-list            200 200 200 200 401 200 200 200
GET    shares-detail          200 200 200 404 401 200 200 200
DELETE shares-detail          204 204 403 404 401 403 204 204
GET    runs-list              200 200 200 200 401 200 200 200
GET    runs-detail            200 200 200 404 401 200 200 200
GET    runs-line              200 200 200 200 401 200 200 200
GET    runs-csv               200 200 200 200 401 200 200 200
GET    pairs-history          200 200 200 404 401 200 200 200
GET    conditions-list        200 200 200 200 401 200 200 200
GET    conditions-detail      200 200 200 404 401 200 200 200
GET    views-list             200 200 200 200 401 200 200 200
POST   views-list             400 400 403 400 401 403 400 400
GET    views-detail           200 200 200 404 401 200 200 200
PATCH  views-detail           400 400 403 404 401 403 400 400
DELETE views-detail           204 204 403 404 401 403 204 204
POST   views-restore          409 409 403 404 401 403 409 409
GET    samples-list           200 200 200 200 401 200 200 200
GET    samples-detail         200 200 200 404 401 200 200 200
GET    samples-trace          200 200 200 404 401 200 200 200
GET    queues-list            200 200 200 200 401 200 200 200
POST   queues-pause           403 403 403 403 401 403 403 403
DELETE queues-pause           403 403 403 403 401 403 403 403
GET    workers-list           200 200 200 200 401 200 200 200
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
    return answer


def test_every_address_answers_everyone_as_the_table_says(world, things):
    for scope in ("read", "submit", "admin"):
        world.script(scope)
    wanted = {tuple(line.split()[:2]): line.split()[2:] for line in TABLE.strip().splitlines()}
    found = {}
    secrets = [str(thing.pk) for thing in things.values()] + ["Alice"]
    for method, pattern in routes():
        url = address(pattern, things)
        answers = {who: ask(world, who, method, url) for who in WHO}
        found[method, str(pattern.name)] = [str(answer.status_code) for answer in answers.values()]
        for stranger in ("charlie", "nobody"):
            shown = getattr(answers[stranger], "content", b"").decode().replace(url, "")
            told = [secret for secret in secrets if secret in shown and secret not in url]
            assert not told, f"{method} {url} tells {stranger} of {told}"
    rows = "\n".join(f"{method:6} {name:22} {' '.join(codes)}" for (method, name), codes in found.items())
    assert found == wanted, f"The table as it is now:\n{rows}"
