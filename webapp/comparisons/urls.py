from django.urls import path

from webapp.comparisons import behind, difference, page, views
from webapp.comparisons.across import pages as across

urlpatterns = [
    path("comparisons/", views.comparisons, name="comparisons"),
    path("comparisons/new/", views.new_comparison, name="new-comparison"),
    path("comparisons/difference/", difference.difference, name="comparisons-difference"),
    path("comparisons/<uuid:id>/", page.comparison, name="comparison"),
    path("comparisons/<uuid:id>/rounds/", behind.rounds_behind, name="comparison-rounds"),
    path("comparisons/demo/", views.run_demo, name="run-demo"),
    path("comparisons/<uuid:id>/describe/", views.describe_comparison, name="describe-comparison"),
    path("runs/", across.runs, name="runs"),
]
