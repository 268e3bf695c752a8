from django.urls import path

from webapp.docs import views

urlpatterns = [
    path("docs/", views.first, name="docs"),
    path("docs/index.json", views.index, name="docs-index"),
    path("docs/<path:page>/", views.one, name="docs-page"),
]
