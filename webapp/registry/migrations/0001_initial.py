from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, SET_NULL

from webapp.core.migrating import entry, key, noun, replaced, table


class Migration(migrations.Migration):
    replaces = replaced(
        "registry",
        """
        0001_squashed_0005_training_limit 0002_training 0003_cards 0004_token_lengths 0005_training_limit
        0006_classifiers_are_in_studies 0007_target_alone 0008_other_tokenizer 0009_chats 0010_endpoints
        0011_endpoint_dtype_and_served_model 0012_whole_sets 0002_tgi_speaks_openai
        """,
    )
    initial = True
    dependencies = [("accounts", "0001_initial"), ("jobs", "0001_initial"), ("uploads", "0001_initial")]
    operations = [
        table(
            "Dataset",
            {
                **entry(),
                "file_name": models.CharField(max_length=255),
                "form": models.CharField(max_length=40, blank=True),
                "template": models.TextField(blank=True),
                "mapping": models.JSONField(default=dict),
                "prompt_count": models.PositiveIntegerField(),
                "splits": models.JSONField(default=dict),
                "categories": models.JSONField(default=dict),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "upload": key("uploads.upload", PROTECT),
                "is_whole": models.BooleanField(default=True, editable=False),
            },
            verbose_name="prompt set",
            indexes=[models.Index(fields=["team", "-created"], name="datasets_by_team")],
        ),
        table(
            "LanguageModel",
            {
                **entry(),
                "source": models.CharField(
                    max_length=10, choices=[("upload", "Upload"), ("hub", "Hub"), ("path", "Path")]
                ),
                "location": models.CharField(max_length=300, blank=True),
                "revision": models.CharField(max_length=100, blank=True),
                "state": models.CharField(
                    max_length=10,
                    default="checking",
                    choices=[("checking", "Checking"), ("ready", "Ready"), ("refused", "Refused")],
                ),
                "reason": models.TextField(blank=True),
                "facts": models.JSONField(default=dict),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "job": key("jobs.job", SET_NULL, null=True),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "upload": key("uploads.upload", PROTECT, null=True),
            },
            verbose_name="model",
            indexes=[models.Index(fields=["team", "-created"], name="models_by_team")],
            constraints=[
                models.CheckConstraint(
                    condition=models.Q(("state__in", ["checking", "ready", "refused"])), name="model_state_is_known"
                ),
                models.CheckConstraint(
                    condition=models.Q(
                        models.Q(("location", ""), ("source", "upload"), ("upload__isnull", False)),
                        models.Q(
                            ("source__in", ["hub", "path"]), ("upload", None), models.Q(("location", ""), _negated=True)
                        ),
                        _connector="OR",
                    ),
                    name="model_has_exactly_one_source",
                ),
            ],
        ),
        table(
            "Pair",
            {
                **entry(),
                "findings": models.JSONField(default=list),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "draft": key("registry.languagemodel", PROTECT, "pairs_as_draft", null=True),
                "target": key("registry.languagemodel", PROTECT, "pairs_as_target"),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "other_tokenizer": models.CharField(max_length=4, default="auto"),
            },
            indexes=[models.Index(fields=["team", "-created"], name="pairs_by_team")],
            constraints=[
                models.CheckConstraint(
                    condition=models.Q(("other_tokenizer__in", ("auto", "tli", "slem"))),
                    name="pair_other_tokenizer_is_known",
                )
            ],
        ),
        table(
            "Prompt",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "number": models.PositiveIntegerField(),
                "name": models.CharField(max_length=200),
                "text": models.TextField(),
                "category": models.CharField(max_length=200, blank=True),
                "split": models.CharField(max_length=20, blank=True),
                "reference": models.TextField(blank=True),
                "dataset": key("registry.dataset", CASCADE, "prompts"),
                "at": models.FloatField(null=True),
                "chat": models.JSONField(null=True),
                "max_tokens": models.PositiveIntegerField(null=True),
            },
            ordering=["number"],
            constraints=[models.UniqueConstraint(fields=("dataset", "number"), name="one_prompt_per_number")],
        ),
        table(
            "TokenLengths",
            {
                **noun(),
                "document": models.JSONField(null=True),
                "dataset": key("registry.dataset", CASCADE, "token_lengths"),
                "job": key("jobs.job", SET_NULL, null=True),
                "pair": key("registry.pair"),
            },
            constraints=[models.UniqueConstraint(fields=("dataset", "pair"), name="one_count_per_set_and_pair")],
        ),
        table(
            "Endpoint",
            {
                **entry(),
                "url": models.CharField(max_length=300),
                "dialect": models.CharField(max_length=40),
                "model": models.CharField(max_length=200, blank=True),
                "deadline_s": models.FloatField(default=600.0),
                "sealed_key": models.TextField(blank=True, editable=False),
                "key_set": models.DateTimeField(null=True, editable=False),
                "state": models.CharField(
                    max_length=10,
                    default="checking",
                    choices=[("checking", "Checking"), ("ready", "Ready"), ("refused", "Refused")],
                ),
                "reason": models.TextField(blank=True),
                "findings": models.JSONField(default=list),
                "checked": models.DateTimeField(null=True, editable=False),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "job": key("jobs.job", SET_NULL, null=True),
                "target": key("registry.languagemodel", PROTECT, "endpoints", null=True),
                "team": key("accounts.team", CASCADE, "%(class)ss"),
                "dtype": models.CharField(max_length=20, blank=True, default=""),
                "serves": models.CharField(max_length=500, blank=True, default="", editable=False),
            },
            verbose_name="server",
            indexes=[models.Index(fields=["team", "-created"], name="endpoints_by_team")],
            constraints=[
                models.CheckConstraint(
                    condition=models.Q(("state__in", ["checking", "ready", "refused"])), name="endpoint_state_is_known"
                ),
                models.UniqueConstraint(
                    condition=models.Q(("binned", None)), fields=("team", "name"), name="one_endpoint_per_name"
                ),
            ],
        ),
    ]
