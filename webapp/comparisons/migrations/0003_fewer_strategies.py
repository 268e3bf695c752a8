"""Give runs of strategies that have become settings of others their new names, wherever a comparison holds them."""

from django.db import migrations

from decoding.public import FORMER, Choice, load_of


def rename(apps, schema_editor):
    Run, Sample = (apps.get_model("comparisons", name) for name in ("Run", "Sample"))
    for run in Run.objects.filter(strategy__in=FORMER).select_related("comparison"):
        load = load_of({"concurrency": run.concurrency, "rate": run.rate, "recorded": run.recorded})
        choice, comparison, label = Choice(run.strategy, run.params, load), run.comparison, run.label
        run.strategy, run.params, run.label = choice.strategy, dict(choice.params), choice.label[:200]
        run.save(update_fields=["strategy", "params", "label"])
        for sample in Sample.objects.filter(run=run, numbers__strategy=label).iterator():
            sample.numbers["strategy"] = run.label
            sample.save(update_fields=["numbers"])
        comparison.refresh_from_db()  # another run of it may have changed it
        stated = comparison.hardware.get("by_strategy", {})
        if label in stated:
            stated[run.label] = stated.pop(label)
            comparison.save(update_fields=["hardware"])


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0002_no_interval_of_the_baseline")]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop)]
