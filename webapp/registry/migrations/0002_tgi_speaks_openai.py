from typing import Any

from django.db import migrations


def to_openai(apps: Any, schema_editor: Any) -> None:
    """Text Generation Inference has no dialect of its own any more, and answers OpenAI's completions."""
    apps.get_model("registry", "Endpoint").objects.filter(dialect="tgi").update(dialect="openai")


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_initial")]
    operations = [migrations.RunPython(to_openai, migrations.RunPython.noop)]
