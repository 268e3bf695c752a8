from django.urls import path, register_converter

from webapp.entries import views
from webapp.entries.models import kinds


class KindConverter:
    regex = "[a-z]+"

    def to_python(self, value: str) -> str:
        if value not in {kind.address for kind in kinds()}:
            raise ValueError
        return value

    to_url = to_python


register_converter(KindConverter, "kind")

urlpatterns = [
    path("<kind:kind>/<uuid:id>/bin/", views.bin, name="bin"),
    path("<kind:kind>/<uuid:id>/restore/", views.restore, name="restore"),
]
