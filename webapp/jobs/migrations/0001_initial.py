from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL
from django.utils import timezone

from webapp.core.migrating import key, noun, replaced, table
from webapp.core.version import version


class Migration(migrations.Migration):
    replaces = replaced(
        "jobs",
        """
        0001_squashed_0018_fill_in_kinds 0002_queue_names 0003_pause 0004_study_jobs 0005_forget_study_jobs
        0006_readings 0007_cached 0008_refusals 0009_unpack_and_count 0010_forget_unpack_and_count
        0011_two_devices 0012_spared 0013_done_before 0014_worker_memory 0015_ends_that_count
        0016_light_queue 0017_kinds_on_the_row 0018_fill_in_kinds 0019_steps_setbacks_and_clocks
        0020_time_limit 0002_fewer_columns
        """,
    )
    initial = True
    dependencies = [("accounts", "0001_initial")]
    operations = [
        table(
            "Worker",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "name": models.CharField(max_length=120, unique=True),
                "queues": models.JSONField(default=list),
                "devices": models.JSONField(default=list),
                "versions": models.JSONField(default=dict),
                "started": models.DateTimeField(default=timezone.now),
                "seen": models.DateTimeField(default=timezone.now),
                "machine": models.CharField(max_length=80, blank=True),
                "memory": models.BigIntegerField(null=True),
                "marks": models.JSONField(default=dict),
                "clock": models.DateTimeField(null=True),
                "others": models.FloatField(null=True),
            },
            ordering=["name"],
        ),
        table(
            "Job",
            {
                **noun(),
                "kind": models.CharField(max_length=40),
                "queue": models.CharField(max_length=10, choices=[("cpu", "CPU"), ("gpu", "GPU"), ("light", "Light")]),
                "title": models.CharField(max_length=200),
                "state": models.CharField(
                    max_length=10,
                    default="queued",
                    choices=[
                        ("queued", "Queued"),
                        ("running", "Running"),
                        ("succeeded", "Succeeded"),
                        ("failed", "Failed"),
                        ("cancelled", "Cancelled"),
                    ],
                ),
                "priority": models.SmallIntegerField(default=0),
                "attempt": models.PositiveIntegerField(default=0),
                "worker": models.CharField(max_length=120, blank=True),
                "lease_until": models.DateTimeField(null=True),
                "is_cancel_asked": models.BooleanField(default=False),
                "reason": models.TextField(blank=True),
                "done_count": models.PositiveIntegerField(default=0),
                "total_count": models.PositiveIntegerField(default=0),
                "started": models.DateTimeField(null=True),
                "finished": models.DateTimeField(null=True),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "team": key("accounts.team", CASCADE, "jobs"),
                "refusals": models.JSONField(default=dict),
                "version": models.CharField(max_length=40, default=version),
                "device_count": models.PositiveSmallIntegerField(default=1),
                "done_before": models.PositiveIntegerField(default=0),
                "at": models.CharField(max_length=200, blank=True),
                "blamed": models.JSONField(default=list),
                "setbacks": models.PositiveIntegerField(default=0),
                "not_before": models.DateTimeField(null=True),
                "kind_label": models.CharField(max_length=40, default=""),
                "parts": models.CharField(max_length=20, default=""),
                "keeps_parts": models.BooleanField(default=False),
                "page": models.CharField(max_length=40, blank=True, default=""),
                "arguments": models.JSONField(default=dict),
                "setback": models.TextField(blank=True, default=""),
                "step": models.JSONField(default=dict),
                "limit_s": models.PositiveIntegerField(default=172800),
            },
            indexes=[
                models.Index(
                    condition=models.Q(("state", "queued")),
                    fields=["queue", "-priority", "created"],
                    name="jobs_waiting",
                ),
                models.Index(condition=models.Q(("state", "running")), fields=["lease_until"], name="jobs_leased"),
                models.Index(fields=["team", "-created"], name="jobs_by_team"),
            ],
            constraints=[
                models.CheckConstraint(
                    condition=models.Q(("state__in", ["queued", "running", "succeeded", "failed", "cancelled"])),
                    name="job_state_is_known",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("lease_until__isnull", False), ("state", "running")),
                        models.Q(models.Q(("state", "running"), _negated=True), ("lease_until", None)),
                        _connector="OR",
                    ),
                    name="job_has_a_lease_exactly_while_running",
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("finished__isnull", False), ("state__in", ("succeeded", "failed", "cancelled"))),
                        models.Q(
                            models.Q(("state__in", ("succeeded", "failed", "cancelled")), _negated=True),
                            ("finished", None),
                        ),
                        _connector="OR",
                    ),
                    name="job_has_an_end_exactly_when_final",
                ),
                models.CheckConstraint(
                    condition=models.Q(("priority__range", (-10, 10))), name="job_priority_is_bounded"
                ),
                models.CheckConstraint(
                    condition=models.Q(("queue__in", ["cpu", "gpu", "light"])), name="job_queue_is_known"
                ),
            ],
        ),
        table(
            "JobEvent",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "seq": models.PositiveIntegerField(),
                "at": models.DateTimeField(default=timezone.now),
                "state": models.CharField(
                    max_length=10,
                    choices=[
                        ("queued", "Queued"),
                        ("running", "Running"),
                        ("succeeded", "Succeeded"),
                        ("failed", "Failed"),
                        ("cancelled", "Cancelled"),
                    ],
                ),
                "sentence": models.TextField(),
                "job": key("jobs.job", CASCADE, "events"),
                "numbers": models.JSONField(default=dict),
            },
            ordering=["seq"],
            constraints=[models.UniqueConstraint(fields=("job", "seq"), name="one_job_event_per_seq")],
        ),
        table(
            "Pause",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "queue": models.CharField(
                    max_length=10, unique=True, choices=[("cpu", "CPU"), ("gpu", "GPU"), ("light", "Light")]
                ),
                "since": models.DateTimeField(default=timezone.now),
                "reason": models.CharField(max_length=200, blank=True),
                "by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
            },
        ),
        table(
            "Reading",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "attempt": models.PositiveIntegerField(),
                "worker": models.CharField(max_length=120),
                "at": models.DateTimeField(default=timezone.now),
                "values": models.JSONField(),
                "job": key("jobs.job", CASCADE, "readings"),
            },
            ordering=["pk"],
        ),
    ]
