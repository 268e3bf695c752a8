from django.urls import path

from webapp.uploads import views

urlpatterns = [
    path("uploads/", views.uploads, name="uploads"),
    path("uploads/<uuid:id>/discard/", views.discard_upload, name="discard-upload"),
]
