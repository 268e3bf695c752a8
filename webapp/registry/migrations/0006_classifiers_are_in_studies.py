from django.db import migrations


class Migration(migrations.Migration):
    """Give classifiers and their training away to studies, which has taken over their tables."""

    dependencies = [
        ("registry", "0005_training_limit"),
        ("studies", "0002_classifiers"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name="Training"), migrations.DeleteModel(name="Classifier")]
        ),
    ]
