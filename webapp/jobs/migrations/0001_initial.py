import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import webapp.core.version


class Migration(migrations.Migration):
    replaces = [
        ("jobs", "0001_squashed_0018_fill_in_kinds"),
        ("jobs", "0002_queue_names"),
        ("jobs", "0003_pause"),
        ("jobs", "0004_study_jobs"),
        ("jobs", "0005_forget_study_jobs"),
        ("jobs", "0006_readings"),
        ("jobs", "0007_cached"),
        ("jobs", "0008_refusals"),
        ("jobs", "0009_unpack_and_count"),
        ("jobs", "0010_forget_unpack_and_count"),
        ("jobs", "0011_two_devices"),
        ("jobs", "0012_spared"),
        ("jobs", "0013_done_before"),
        ("jobs", "0014_worker_memory"),
        ("jobs", "0015_ends_that_count"),
        ("jobs", "0016_light_queue"),
        ("jobs", "0017_kinds_on_the_row"),
        ("jobs", "0018_fill_in_kinds"),
        ("jobs", "0019_steps_setbacks_and_clocks"),
        ("jobs", "0020_time_limit"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120, unique=True)),
                ("queues", models.JSONField(default=list)),
                ("devices", models.JSONField(default=list)),
                ("versions", models.JSONField(default=dict)),
                ("started", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen", models.DateTimeField(default=django.utils.timezone.now)),
                ("cached", models.JSONField(default=list)),
                ("machine", models.CharField(blank=True, max_length=80)),
                ("memory", models.BigIntegerField(null=True)),
                ("marks", models.JSONField(default=dict)),
                ("clock", models.DateTimeField(null=True)),
                ("others", models.FloatField(null=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("kind", models.CharField(max_length=40)),
                (
                    "queue",
                    models.CharField(choices=[("cpu", "CPU"), ("gpu", "GPU"), ("light", "Light")], max_length=10),
                ),
                ("title", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("priority", models.SmallIntegerField(default=0)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(null=True)),
                ("is_cancel_asked", models.BooleanField(default=False)),
                ("reason", models.TextField(blank=True)),
                ("done_count", models.PositiveIntegerField(default=0)),
                ("total_count", models.PositiveIntegerField(default=0)),
                ("started", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="jobs", to="accounts.team"
                    ),
                ),
                ("refusals", models.JSONField(default=dict)),
                ("version", models.CharField(default=webapp.core.version.version, max_length=40)),
                ("device_count", models.PositiveSmallIntegerField(default=1)),
                ("done_before", models.PositiveIntegerField(default=0)),
                ("at", models.CharField(blank=True, max_length=200)),
                ("blamed", models.JSONField(default=list)),
                ("setbacks", models.PositiveIntegerField(default=0)),
                ("not_before", models.DateTimeField(null=True)),
                ("kind_label", models.CharField(default="", max_length=40)),
                ("parts", models.CharField(default="", max_length=20)),
                ("is_sized", models.BooleanField(default=False)),
                ("keeps_parts", models.BooleanField(default=False)),
                ("page", models.CharField(blank=True, default="", max_length=40)),
                ("arguments", models.JSONField(default=dict)),
                ("setback", models.TextField(blank=True, default="")),
                ("step", models.JSONField(default=dict)),
                ("limit_s", models.PositiveIntegerField(default=172800)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "queued")),
                        fields=["queue", "-priority", "created"],
                        name="jobs_waiting",
                    ),
                    models.Index(condition=models.Q(("state", "running")), fields=["lease_until"], name="jobs_leased"),
                    models.Index(fields=["team", "-created"], name="jobs_by_team"),
                ],
                "constraints": [
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
            },
        ),
        migrations.CreateModel(
            name="JobEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveIntegerField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        max_length=10,
                    ),
                ),
                ("sentence", models.TextField()),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="jobs.job"
                    ),
                ),
                ("numbers", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["seq"],
                "constraints": [models.UniqueConstraint(fields=("job", "seq"), name="one_job_event_per_seq")],
            },
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "queue",
                    models.CharField(
                        choices=[("cpu", "CPU"), ("gpu", "GPU"), ("light", "Light")], max_length=10, unique=True
                    ),
                ),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
                ("reason", models.CharField(blank=True, max_length=200)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Reading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveIntegerField()),
                ("worker", models.CharField(max_length=120)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("values", models.JSONField()),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="readings", to="jobs.job"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
    ]
