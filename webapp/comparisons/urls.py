from django.urls import path

from webapp.comparisons import views

urlpatterns = [
    path("comparisons/", views.comparisons, name="comparisons"),
    path("comparisons/new/", views.new_comparison, name="new-comparison"),
    path("comparisons/<uuid:id>/bin/", views.bin_comparison, name="bin-comparison"),
    path("comparisons/<uuid:id>/restore/", views.restore_comparison, name="restore-comparison"),
]
