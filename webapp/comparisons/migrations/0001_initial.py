from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, SET_NULL
from django.utils import timezone

from webapp.core.migrating import entry, key, noun, only_key, replaced, table


class Migration(migrations.Migration):
    replaces = replaced(
        "comparisons",
        """
        0001_squashed_0006_intervals_that_hold_together 0002_noise 0003_figures 0004_packed_traces
        0005_no_interval_of_few_prompts 0006_intervals_that_hold_together 0007_loads 0008_words
        0009_recorded 0010_endpoints 0011_waiting_times 0012_prices 0013_per_device 0014_indexes_of_lists
        0015_total_times 0002_no_interval_of_the_baseline 0003_fewer_strategies
        0004_team_of_runs_and_samples 0005_no_saved_views_and_no_history
        """,
    )
    initial = True
    dependencies = [("accounts", "0001_initial"), ("jobs", "0001_initial"), ("registry", "0001_initial")]
    operations = [
        table(
            "Comparison",
            {
                **entry(),
                "split": models.CharField(max_length=20, blank=True),
                "sampling": models.JSONField(),
                "limit": models.PositiveIntegerField(),
                "repeats": models.PositiveSmallIntegerField(default=1),
                "cloned_from": key("comparisons.comparison", SET_NULL, "clones", null=True),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "dataset": key("registry.dataset", PROTECT, "comparisons"),
                "job": only_key("jobs.job", PROTECT, "comparison"),
                "pair": key("registry.pair", PROTECT, "comparisons", null=True),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "hardware": models.JSONField(default=dict),
                "summed": models.DateTimeField(null=True, editable=False),
                "slo": models.JSONField(default=dict),
                "verdict": models.TextField(blank=True, editable=False),
                "doubt": models.TextField(blank=True, editable=False),
                "notes": models.TextField(blank=True),
                "prices": models.JSONField(default=dict),
            },
            indexes=[
                models.Index(fields=["team", "-created"], name="comparisons_by_team"),
                models.Index(condition=models.Q(("binned__isnull", False)), fields=["team"], name="comparisons_in_bin"),
            ],
            constraints=[
                models.CheckConstraint(condition=models.Q(("limit__gte", 1)), name="comparison_has_prompts"),
                models.CheckConstraint(
                    condition=models.Q(("repeats__range", (1, 100))), name="comparison_repeats_are_bounded"
                ),
            ],
        ),
        table(
            "Run",
            {
                **noun(),
                "number": models.PositiveSmallIntegerField(),
                "strategy": models.CharField(max_length=40),
                "params": models.JSONField(default=dict),
                "label": models.CharField(max_length=200),
                "comparison": key("comparisons.comparison", CASCADE, "runs"),
                "concurrency": models.PositiveSmallIntegerField(null=True, default=1),
                "rate": models.FloatField(null=True),
                "recorded": models.BooleanField(default=False),
                "endpoint": key("registry.endpoint", PROTECT, "runs", null=True),
                "team": key("accounts.team", db_index=False),
            },
            ordering=["number"],
            constraints=[
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
            indexes=[
                models.Index(fields=["comparison", "strategy"], name="runs_by_strategy"),
                models.Index(fields=["team", "-created", "number", "id", "comparison"], name="runs_by_team"),
            ],
        ),
        table(
            "Sample",
            {
                **noun(),
                "repeat": models.PositiveSmallIntegerField(),
                "attempt": models.PositiveSmallIntegerField(),
                "worker": models.CharField(max_length=120),
                "device": models.CharField(max_length=200),
                "finished": models.DateTimeField(null=True),
                "last_seq": models.PositiveIntegerField(null=True),
                "new_tokens": models.PositiveIntegerField(null=True),
                "tokens_per_s": models.FloatField(null=True),
                "numbers": models.JSONField(default=dict),
                "prompt": key("registry.prompt", PROTECT),
                "run": key("comparisons.run", CASCADE, "samples"),
                "noise": models.CharField(max_length=200, blank=True),
                "team": key("accounts.team", db_index=False),
            },
            indexes=[models.Index(fields=["team", "-created", "id"], name="samples_by_team")],
            constraints=[
                models.UniqueConstraint(
                    fields=("run", "prompt", "repeat"), name="one_sample_per_run_prompt_and_repeat"
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("finished", None), ("last_seq", None), ("new_tokens", None), ("tokens_per_s", None)),
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
        ),
        table(
            "TraceChunk",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "first_seq": models.PositiveIntegerField(),
                "last_seq": models.PositiveIntegerField(),
                "events": models.JSONField(default=list),
                "words": models.JSONField(default=dict),
                "written": models.DateTimeField(default=timezone.now),
                "sample": key("comparisons.sample", CASCADE, "chunks"),
                "packed": models.BinaryField(null=True),
            },
            ordering=["first_seq"],
            constraints=[
                models.UniqueConstraint(fields=("sample", "first_seq"), name="one_chunk_per_first_seq"),
                models.CheckConstraint(
                    condition=models.Q(("first_seq__gte", 1), ("last_seq__gte", models.F("first_seq"))),
                    name="chunk_is_ordered",
                ),
            ],
        ),
        table(
            "Conditions",
            {
                **noun(),
                "digest": models.CharField(max_length=64),
                "split": models.CharField(max_length=20, blank=True),
                "limit": models.PositiveIntegerField(),
                "sampling": models.JSONField(),
                "device": models.CharField(max_length=400),
                "dataset": key("registry.dataset"),
                "pair": key("registry.pair", null=True),
                "team": key("accounts.team"),
                "concurrency": models.PositiveSmallIntegerField(null=True, default=1),
                "rate": models.FloatField(null=True),
                "recorded": models.BooleanField(default=False),
            },
            verbose_name="conditions",
            verbose_name_plural="conditions",
            constraints=[models.UniqueConstraint(fields=("team", "digest"), name="conditions_once_per_team")],
        ),
        table(
            "Figures",
            {
                "run": only_key("comparisons.run", CASCADE, "figures", primary_key=True, serialize=False),
                "versions": models.CharField(max_length=200, blank=True),
                "is_mixed": models.BooleanField(),
                "sample_count": models.PositiveIntegerField(),
                "noisy_count": models.PositiveIntegerField(),
                "exactness": models.CharField(
                    max_length=12,
                    blank=True,
                    choices=[
                        ("identical", "Identical"),
                        ("tie", "Tie"),
                        ("divergent", "Divergent"),
                        ("not_compared", "Not Compared"),
                    ],
                ),
                "tokens_per_s": models.FloatField(),
                **{
                    name: models.FloatField(null=True)
                    for name in (
                        "speedup",
                        "speedup_low",
                        "speedup_high",
                        "mean_acceptance_length",
                        "draft_acceptance_rate",
                        "draft_share",
                        "verify_share",
                        "draft_passes",
                    )
                },
                "conditions": key("comparisons.conditions", CASCADE, "figures"),
                **{
                    name: models.FloatField(null=True)
                    for name in (
                        "tokens_per_s_device",
                        "tokens_per_s_user",
                        "tpot_p50",
                        "tpot_p95",
                        "ttft_p50",
                        "ttft_p95",
                        "goodput",
                        "queued_p95",
                        "gap_p95",
                        "e2e_p95",
                    )
                },
            },
        ),
        table(
            "Tag",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "name": models.CharField(max_length=40, db_index=True),
                "comparison": key("comparisons.comparison", CASCADE, "tags"),
            },
            ordering=["name"],
            constraints=[models.UniqueConstraint(fields=("comparison", "name"), name="one_tag_per_name")],
        ),
    ]
