import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("comparisons", "0001_squashed_0006_intervals_that_hold_together"),
        ("comparisons", "0002_noise"),
        ("comparisons", "0003_figures"),
        ("comparisons", "0004_packed_traces"),
        ("comparisons", "0005_no_interval_of_few_prompts"),
        ("comparisons", "0006_intervals_that_hold_together"),
        ("comparisons", "0007_loads"),
        ("comparisons", "0008_words"),
        ("comparisons", "0009_recorded"),
        ("comparisons", "0010_endpoints"),
        ("comparisons", "0011_waiting_times"),
        ("comparisons", "0012_prices"),
        ("comparisons", "0013_per_device"),
        ("comparisons", "0014_indexes_of_lists"),
        ("comparisons", "0015_total_times"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0001_initial"),
        ("registry", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                ("split", models.CharField(blank=True, max_length=20)),
                ("sampling", models.JSONField()),
                ("limit", models.PositiveIntegerField()),
                ("repeats", models.PositiveSmallIntegerField(default=1)),
                (
                    "cloned_from",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="clones",
                        to="comparisons.comparison",
                    ),
                ),
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
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="comparisons", to="registry.dataset"
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="comparison", to="jobs.job"
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comparisons",
                        to="registry.pair",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="%(class)ss", to="accounts.team"
                    ),
                ),
                ("hardware", models.JSONField(default=dict)),
                ("summed", models.DateTimeField(editable=False, null=True)),
                ("slo", models.JSONField(default=dict)),
                ("verdict", models.TextField(blank=True, editable=False)),
                ("doubt", models.TextField(blank=True, editable=False)),
                ("notes", models.TextField(blank=True)),
                ("prices", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "-created"], name="comparisons_by_team"),
                    models.Index(
                        condition=models.Q(("binned__isnull", False)), fields=["team"], name="comparisons_in_bin"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("limit__gte", 1)), name="comparison_has_prompts"),
                    models.CheckConstraint(
                        condition=models.Q(("repeats__range", (1, 100))), name="comparison_repeats_are_bounded"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("number", models.PositiveSmallIntegerField()),
                ("strategy", models.CharField(max_length=40)),
                ("params", models.JSONField(default=dict)),
                ("label", models.CharField(max_length=200)),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="comparisons.comparison"
                    ),
                ),
                ("concurrency", models.PositiveSmallIntegerField(default=1, null=True)),
                ("rate", models.FloatField(null=True)),
                ("recorded", models.BooleanField(default=False)),
                (
                    "endpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="registry.endpoint",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(fields=("comparison", "number"), name="one_run_per_number"),
                    models.UniqueConstraint(fields=("comparison", "label"), name="one_run_per_strategy_and_params"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("concurrency__isnull", False), ("concurrency__range", (1, 256)), ("rate", None)),
                            models.Q(("concurrency", None), ("rate__isnull", False), ("rate__range", (0.001, 10000.0))),
                            _connector="OR",
                        ),
                        name="run_has_one_load",
                    ),
                ],
                "indexes": [models.Index(fields=["comparison", "strategy"], name="runs_by_strategy")],
            },
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("repeat", models.PositiveSmallIntegerField()),
                ("attempt", models.PositiveSmallIntegerField()),
                ("worker", models.CharField(max_length=120)),
                ("device", models.CharField(max_length=200)),
                ("finished", models.DateTimeField(null=True)),
                ("last_seq", models.PositiveIntegerField(null=True)),
                ("new_tokens", models.PositiveIntegerField(null=True)),
                ("tokens_per_s", models.FloatField(null=True)),
                ("numbers", models.JSONField(default=dict)),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.prompt"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="samples", to="comparisons.run"
                    ),
                ),
                ("noise", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "prompt", "repeat"), name="one_sample_per_run_prompt_and_repeat"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished", None), ("last_seq", None), ("new_tokens", None), ("tokens_per_s", None)
                            ),
                            models.Q(
                                ("finished__isnull", False),
                                ("last_seq__isnull", False),
                                ("new_tokens__gte", 0),
                                ("tokens_per_s__gte", 0),
                            ),
                            _connector="OR",
                        ),
                        name="sample_has_numbers_exactly_when_finished",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TraceChunk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_seq", models.PositiveIntegerField()),
                ("last_seq", models.PositiveIntegerField()),
                ("events", models.JSONField(default=list)),
                ("words", models.JSONField(default=dict)),
                ("written", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "sample",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="chunks", to="comparisons.sample"
                    ),
                ),
                ("packed", models.BinaryField(null=True)),
            ],
            options={
                "ordering": ["first_seq"],
                "constraints": [
                    models.UniqueConstraint(fields=("sample", "first_seq"), name="one_chunk_per_first_seq"),
                    models.CheckConstraint(
                        condition=models.Q(("first_seq__gte", 1), ("last_seq__gte", models.F("first_seq"))),
                        name="chunk_is_ordered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Conditions",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("digest", models.CharField(max_length=64)),
                ("question", models.CharField(max_length=64)),
                ("split", models.CharField(blank=True, max_length=20)),
                ("limit", models.PositiveIntegerField()),
                ("sampling", models.JSONField()),
                ("device", models.CharField(max_length=400)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="registry.dataset"
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="registry.pair"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.team"
                    ),
                ),
                ("concurrency", models.PositiveSmallIntegerField(default=1, null=True)),
                ("rate", models.FloatField(null=True)),
                ("recorded", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name": "conditions",
                "verbose_name_plural": "conditions",
                "constraints": [models.UniqueConstraint(fields=("team", "digest"), name="conditions_once_per_team")],
            },
        ),
        migrations.CreateModel(
            name="Figures",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="figures",
                        serialize=False,
                        to="comparisons.run",
                    ),
                ),
                ("versions", models.CharField(blank=True, max_length=200)),
                ("is_mixed", models.BooleanField()),
                ("sample_count", models.PositiveIntegerField()),
                ("noisy_count", models.PositiveIntegerField()),
                (
                    "exactness",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("identical", "Identical"),
                            ("tie", "Tie"),
                            ("divergent", "Divergent"),
                            ("not_compared", "Not Compared"),
                        ],
                        max_length=12,
                    ),
                ),
                ("tokens_per_s", models.FloatField()),
                ("speedup", models.FloatField(null=True)),
                ("speedup_low", models.FloatField(null=True)),
                ("speedup_high", models.FloatField(null=True)),
                ("mean_acceptance_length", models.FloatField(null=True)),
                ("draft_acceptance_rate", models.FloatField(null=True)),
                ("draft_share", models.FloatField(null=True)),
                ("verify_share", models.FloatField(null=True)),
                ("draft_passes", models.FloatField(null=True)),
                (
                    "conditions",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="figures", to="comparisons.conditions"
                    ),
                ),
                ("tokens_per_s_device", models.FloatField(null=True)),
                ("tokens_per_s_user", models.FloatField(null=True)),
                ("tpot_p50", models.FloatField(null=True)),
                ("tpot_p95", models.FloatField(null=True)),
                ("ttft_p50", models.FloatField(null=True)),
                ("ttft_p95", models.FloatField(null=True)),
                ("goodput", models.FloatField(null=True)),
                ("queued_p95", models.FloatField(null=True)),
                ("gap_p95", models.FloatField(null=True)),
                ("e2e_p95", models.FloatField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                ("query", models.CharField(blank=True, max_length=2000)),
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="%(class)ss", to="accounts.team"
                    ),
                ),
            ],
            options={
                "verbose_name": "view",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("binned", None)), fields=("team", "name"), name="one_view_per_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Tag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(db_index=True, max_length=40)),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tags", to="comparisons.comparison"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [models.UniqueConstraint(fields=("comparison", "name"), name="one_tag_per_name")],
            },
        ),
    ]
