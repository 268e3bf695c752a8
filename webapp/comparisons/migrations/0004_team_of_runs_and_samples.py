"""Give runs and samples their team, and runs the time of their launch, so that lists of them need no join."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    Comparison, Run, Sample = (apps.get_model("comparisons", name) for name in ("Comparison", "Run", "Sample"))
    own = Comparison.objects.filter(pk=OuterRef("comparison"))
    Run.objects.update(team=Subquery(own.values("team")), created=Subquery(own.values("created")))
    Sample.objects.update(team=Subquery(Run.objects.filter(pk=OuterRef("run")).values("team")))


def team(**options):
    key = {"db_index": False, "on_delete": django.db.models.deletion.CASCADE, "related_name": "+", **options}
    return models.ForeignKey("accounts.team", **key)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial"), ("comparisons", "0003_fewer_strategies")]

    operations = [
        migrations.AddField("run", "team", team(null=True)),
        migrations.AddField("sample", "team", team(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField("run", "team", team()),
        migrations.AlterField("sample", "team", team()),
        migrations.AddIndex(
            "run", models.Index(fields=["team", "-created", "number", "id", "comparison"], name="runs_by_team")
        ),
        migrations.AddIndex("sample", models.Index(fields=["team", "-created", "id"], name="samples_by_team")),
    ]
