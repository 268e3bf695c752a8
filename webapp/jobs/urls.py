from django.urls import path

from webapp.jobs import views

urlpatterns = [
    path("jobs/", views.jobs, name="jobs"),
    path("jobs/<uuid:id>/", views.job, name="job"),
    path("jobs/<uuid:id>/priority/", views.prioritise, name="prioritise-job"),
    path("jobs/<uuid:id>/cancel/", views.cancel, name="cancel-job"),
    path("jobs/<uuid:id>/retry/", views.retry, name="retry-job"),
    path("queues/<str:queue>/pause/", views.pause, name="pause-queue"),
    path("queues/<str:queue>/resume/", views.resume, name="resume-queue"),
]
