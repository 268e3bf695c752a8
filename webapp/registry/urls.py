from django.urls import path, register_converter

from webapp.registry import views


class KindConverter:
    regex = "models|pairs|datasets|classifiers"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class NamedConverter(KindConverter):
    regex = "models|pairs|datasets"  # kinds with a page that shows their name


register_converter(KindConverter, "kind")
register_converter(NamedConverter, "named")

urlpatterns = [
    path("models/", views.models, name="models"),
    path("models/new/", views.new_model, name="new-model"),
    path("models/<uuid:id>/", views.model, name="model"),
    path("pairs/", views.pairs, name="pairs"),
    path("pairs/new/", views.new_pair, name="new-pair"),
    path("pairs/<uuid:id>/", views.pair, name="pair"),
    path("datasets/", views.datasets, name="datasets"),
    path("datasets/new/", views.new_dataset, name="new-dataset"),
    path("datasets/<uuid:id>/", views.dataset, name="dataset"),
    path("datasets/<uuid:id>/token-lengths/", views.count_tokens, name="count-tokens"),
    path("classifiers/", views.classifiers, name="classifiers"),
    path("classifiers/new/", views.new_classifier, name="new-classifier"),
    path("<named:kind>/<uuid:id>/rename/", views.rename, name="rename"),
    path("<kind:kind>/<uuid:id>/bin/", views.bin, name="bin"),
    path("<kind:kind>/<uuid:id>/restore/", views.restore, name="restore"),
]
