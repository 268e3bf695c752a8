from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0004_team_of_runs_and_samples")]
    operations = [
        migrations.DeleteModel("SavedView"),
        migrations.RemoveField("conditions", "question"),
    ]
