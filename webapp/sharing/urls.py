from django.urls import path

from webapp.sharing import views

urlpatterns = [
    path("comparisons/<uuid:id>/shares/", views.shares, name="shares"),
    path("shares/<uuid:id>/revoke/", views.revoke_share, name="revoke-share"),
]
