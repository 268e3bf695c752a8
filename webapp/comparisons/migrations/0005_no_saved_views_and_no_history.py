from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0001_initial")]
    operations = [
        migrations.DeleteModel("SavedView"),
        migrations.RemoveField("conditions", "question"),
    ]
