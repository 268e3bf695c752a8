"""Fill in, on each job, what the list of kinds knew. On the way back, jobs of other kinds must go first; in a migration
of its own, because PostgreSQL alters no table in which rows were deleted in the same transaction."""

from django.db import migrations

KINDS = [
    {"kind": "comparison", "kind_label": "Comparison", "parts": "samples", "is_sized": True, "keeps_parts": True,
     "page": "comparison"},
    {"kind": "training", "kind_label": "Training", "parts": "samples", "page": "training"},
    {"kind": "oracle", "kind_label": "Oracle", "parts": "prompts", "is_sized": True, "page": "study"},
    {"kind": "plan", "kind_label": "Plan", "parts": "samples", "page": "study"},
    {"kind": "check-model", "kind_label": "Check model", "parts": "MiB"},
    {"kind": "fetch-model", "kind_label": "Fetch model", "parts": "MiB"},
    {"kind": "unpack", "kind_label": "Unpack", "parts": "chunks"},
    {"kind": "count-tokens", "kind_label": "Count tokens", "parts": "prompts", "is_sized": True},
]  # fmt: skip


def fill_in(apps, schema_editor):
    for kind in KINDS:
        apps.get_model("jobs", "Job").objects.filter(kind=kind["kind"]).update(**kind)


def forget(apps, schema_editor):
    apps.get_model("jobs", "Job").objects.exclude(kind__in=[kind["kind"] for kind in KINDS]).delete()


class Migration(migrations.Migration):
    dependencies = [("jobs", "0017_kinds_on_the_row")]

    operations = [migrations.RunPython(fill_in, forget)]
