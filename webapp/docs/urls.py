from django.urls import path

from webapp.docs import views

urlpatterns = [
    path("docs/", views.show, name="docs"),
    path("docs/<path:page>/", views.show, name="docs-page"),
]
