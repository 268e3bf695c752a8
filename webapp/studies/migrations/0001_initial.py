from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, SET_NULL

from webapp.core.migrating import entry, key, noun, only_key, replaced, table


class Migration(migrations.Migration):
    replaces = replaced("studies", "0002_classifiers 0003_papers 0004_designs 0005_ratios 0002_remove_proofs")
    initial = True
    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0001_initial"),
        ("registry", "0001_initial"),
        ("uploads", "0001_initial"),
    ]
    operations = [
        table(
            "Study",
            {
                **entry(),
                "split": models.CharField(max_length=20, blank=True),
                "sampling": models.JSONField(),
                "limit": models.PositiveIntegerField(),
                "lookahead": models.PositiveSmallIntegerField(default=5),
                "document": models.JSONField(null=True),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "dataset": key("registry.dataset", PROTECT, "studies"),
                "job": only_key("jobs.job", PROTECT, "study"),
                "pair": key("registry.pair", PROTECT, "studies"),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "parts": models.JSONField(default=dict),
            },
            verbose_name="study",
            indexes=[models.Index(fields=["team", "-created"], name="studies_by_team")],
            constraints=[
                models.CheckConstraint(condition=models.Q(("limit__gte", 1)), name="study_has_prompts"),
                models.CheckConstraint(
                    condition=models.Q(("lookahead__range", (1, 64))), name="study_lookahead_is_bounded"
                ),
            ],
        ),
        table(
            "Classifier",
            {
                **entry(),
                "metrics": models.JSONField(default=dict),
                "card": models.JSONField(default=dict),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "pair": key("registry.pair", PROTECT, "classifiers"),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "upload": key("uploads.upload", PROTECT),
            },
            db_table="registry_classifier",
            indexes=[models.Index(fields=["team", "-created"], name="classifiers_by_team")],
        ),
        table(
            "Training",
            {
                **noun(),
                "name": models.CharField(max_length=200),
                "limit": models.PositiveIntegerField(null=True),
                "sampling": models.JSONField(),
                "classifier": only_key("studies.classifier", SET_NULL, "training", null=True),
                "dataset": key("registry.dataset", PROTECT),
                "job": only_key("jobs.job", CASCADE, "training"),
                "pair": key("registry.pair", PROTECT),
                "design": models.CharField(max_length=20, default="ours"),
                "start": key("studies.classifier", SET_NULL, null=True),
            },
            db_table="registry_training",
        ),
    ]
