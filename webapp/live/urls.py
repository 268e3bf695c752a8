from django.urls import path

from webapp.live import api, views

urlpatterns = [
    path("comparisons/<uuid:id>/", views.comparison, name="comparison"),
    path("shared/<str:secret>/", views.shared, name="shared"),
    path("shared/<str:secret>/events/", api.SharedNews.as_view(), name="shared-events"),
    path("shared/<str:secret>/what-if/", api.SharedWhatIf.as_view(), name="shared-what-if"),
]
