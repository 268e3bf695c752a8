from django.urls import path, register_converter
from django.urls.converters import StringConverter

from webapp.registry import views
from webapp.registry.endpoints import pages as endpoints


class NamedConverter(StringConverter):
    regex = "|".join(views.RENAMED)


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
    path("endpoints/", endpoints.endpoints, name="endpoints"),
    path("endpoints/new/", endpoints.new_endpoint, name="new-endpoint"),
    path("endpoints/<uuid:id>/", endpoints.endpoint, name="endpoint"),
    path("endpoints/<uuid:id>/check/", endpoints.check_endpoint, name="check-endpoint"),
    path("endpoints/<uuid:id>/key/", endpoints.set_key, name="set-key"),
    path("endpoints/<uuid:id>/key/delete/", endpoints.drop_key, name="drop-key"),
    path("<named:kind>/<uuid:id>/rename/", views.rename, name="rename"),
]
