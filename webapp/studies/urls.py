from django.urls import path

from webapp.studies import views

urlpatterns = [
    path("studies/", views.studies, name="studies"),
    path("studies/new/", views.new_study, name="new-study"),
    path("studies/<uuid:id>/", views.study, name="study"),
    path("studies/<uuid:id>/bin/", views.bin_study, name="bin-study"),
    path("studies/<uuid:id>/restore/", views.restore_study, name="restore-study"),
    path("classifiers/train/", views.train_classifier, name="train-classifier"),
    path("classifiers/<uuid:id>/", views.classifier, name="classifier"),
    path("trainings/<uuid:id>/", views.training, name="training"),
]
