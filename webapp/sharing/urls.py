from django.urls import path

from webapp.sharing import api, views

urlpatterns = [
    path("comparisons/<uuid:id>/shares/", views.shares, name="shares"),
    path("shared/<str:secret>/", views.shared, name="shared"),
    path("shared/<str:secret>/file/", views.shared_file, name="shared-file"),
    path("shared/<str:secret>/what-if/", api.SharedWhatIf.as_view(), name="shared-what-if"),
    path("shares/<uuid:id>/revoke/", views.revoke_share, name="revoke-share"),
]
