"""Pages of the queue."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.pages import listing, one, page
from webapp.jobs import line, serializers, services, telemetry
from webapp.jobs.models import LONGEST_REASON, Job, JobState, Worker
from webapp.jobs.work import work_of


@page(Right.READ)
def jobs(request: ActorRequest) -> HttpResponse:
    rows = Job.objects.visible_to(request.actor).select_related("created_by")
    kinds = list(rows.order_by("kind").values_list("kind", flat=True).distinct())
    found = listing(
        request, rows, search=("title",), ordering=("created", "state", "finished", "priority"),
        filters={"state": JobState.values, "kind": kinds},
    )  # fmt: skip
    context = {
        "list": found,
        "workers": Worker.objects.alive().count(),
        "queues": line.states(),
    }
    return render(request, "jobs/jobs.html", context)


@page(Right.READ)
def job(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Job.objects.visible_to(request.actor).select_related("created_by"), id)
    context = {
        **work_of(found),
        "events": found.events.exclude(sentence="")[:200],
        "machine": telemetry.facts(telemetry.read(found)),
    }
    return render(request, "jobs/job.html", context)


@page(Right.SUBMIT, ("POST",))
def prioritise(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Job.objects.visible_to(request.actor), id)
    form = Form(serializers.JobChanges, request)
    changed = form.submit(lambda priority: services.prioritise(job=found, priority=priority, by=request.actor))
    if changed is None:
        messages.error(request, form.refusal)
    else:
        messages.success(request, f"{changed.title} has priority {changed.priority} now.")
    return redirect("job", id)


@page(Right.SUBMIT, ("POST",))
def cancel(request: ActorRequest, id: UUID) -> HttpResponse:
    found = services.cancel(job=one(services.that_may_cancel(request.actor), id), by=request.actor)
    messages.success(request, "Cancelled." if found.is_final else "Its worker is asked to stop.")
    return redirect("job", id) if found.team_id == request.actor.team_id else redirect("system")


@page(Right.SUBMIT, ("POST",))
def retry(request: ActorRequest, id: UUID) -> HttpResponse:
    services.retry(job=one(Job.objects.visible_to(request.actor), id), by=request.actor)
    messages.success(request, "It is in the queue again. Finished samples stay.")
    return redirect("job", id)


@page(Right.ADMIN, ("POST",))
def pause(request: ActorRequest, queue: str) -> HttpResponse:
    reason = request.POST.get("reason", "").strip()[:LONGEST_REASON]
    services.pause(queue=line.queue_called(queue), reason=reason, by=request.actor)
    messages.success(request, f"{queue} is paused. Running jobs continue; no new job starts.")
    return redirect("jobs")


@page(Right.ADMIN, ("POST",))
def resume(request: ActorRequest, queue: str) -> HttpResponse:
    services.resume(queue=line.queue_called(queue), by=request.actor)
    messages.success(request, f"{queue} goes on.")
    return redirect("jobs")
