from django.urls import path

from webapp.live import views

urlpatterns = [path("comparisons/<uuid:id>/", views.comparison, name="comparison")]
