"""A comparison keeps its verdict, and notes and tags of people. All are summed up again, for their verdicts."""

import django.db.models.deletion
from django.db import migrations, models


def forget(apps, schema_editor):
    apps.get_model("comparisons", "Comparison").objects.update(summed=None)


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0007_loads"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="verdict",
            field=models.TextField(blank=True, default="", editable=False),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="comparison",
            name="doubt",
            field=models.TextField(blank=True, default="", editable=False),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="comparison",
            name="notes",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
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
        migrations.RunPython(forget, migrations.RunPython.noop),
    ]
