from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL

from webapp.core.migrating import key, noun, table


class Migration(migrations.Migration):
    initial = True
    dependencies = [("accounts", "0001_initial"), ("comparisons", "0001_initial"), ("accounts", "__first__")]
    operations = [
        table(
            "Share",
            {
                **noun(),
                "digest": models.CharField(max_length=64, unique=True),
                "hides_texts": models.BooleanField(default=False),
                "expires": models.DateTimeField(null=True),
                "revoked_at": models.DateTimeField(null=True),
                "comparison": key("comparisons.comparison", CASCADE, "shares"),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "team": key("accounts.team", CASCADE, "shares"),
            },
            ordering=["-created"],
        ),
    ]
