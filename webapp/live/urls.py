from django.urls import path

from webapp.live import api

urlpatterns = [path("shared/<str:secret>/events/", api.SharedNews.as_view(), name="shared-events")]
