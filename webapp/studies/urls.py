from django.urls import path

from webapp.studies import views
from webapp.studies.classifiers import pages

urlpatterns = [
    path("studies/", views.studies, name="studies"),
    path("studies/new/", views.new_study, name="new-study"),
    path("studies/<uuid:id>/", views.study, name="study"),
    path("classifiers/", pages.classifiers, name="classifiers"),
    path("classifiers/new/", pages.new_classifier, name="new-classifier"),
    path("classifiers/train/", pages.train_classifier, name="train-classifier"),
    path("classifiers/<uuid:id>/", pages.classifier, name="classifier"),
    path("trainings/<uuid:id>/", pages.training, name="training"),
]
