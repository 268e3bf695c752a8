"""A run is a strategy at one load, and figures have throughput and latency. All comparisons are summed up again."""

from django.db import migrations, models


def forget(apps, schema_editor):
    apps.get_model("comparisons", "Comparison").objects.update(summed=None)


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0006_intervals_that_hold_together"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="slo",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="conditions",
            name="concurrency",
            field=models.PositiveSmallIntegerField(default=1, null=True),
        ),
        migrations.AddField(
            model_name="conditions",
            name="rate",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="figures",
            name="tokens_per_s_device",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="figures",
            name="tokens_per_s_user",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="figures",
            name="tpot_p50",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="figures",
            name="tpot_p95",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="figures",
            name="ttft_p50",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="figures",
            name="ttft_p95",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="concurrency",
            field=models.PositiveSmallIntegerField(default=1, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="rate",
            field=models.FloatField(null=True),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("concurrency__isnull", False), ("concurrency__range", (1, 256)), ("rate", None)),
                    models.Q(("concurrency", None), ("rate__isnull", False), ("rate__range", (0.001, 10000.0))),
                    _connector="OR",
                ),
                name="run_has_one_load",
            ),
        ),
        migrations.RunPython(forget, migrations.RunPython.noop),
    ]
