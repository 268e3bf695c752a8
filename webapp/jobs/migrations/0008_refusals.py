from django.db import migrations, models

import webapp.core.version


class Migration(migrations.Migration):
    dependencies = [("jobs", "0007_cached")]

    operations = [
        migrations.AddField("job", "refusals", models.JSONField(default=dict)),
        migrations.AddField("job", "version", models.CharField(default=webapp.core.version.version, max_length=40)),
    ]
