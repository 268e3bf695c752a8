"""Classifiers and their training over REST."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.core.turns import takes_long
from webapp.entries.api import Entries
from webapp.jobs.serializers import JobOut
from webapp.studies.classifiers import pages, serializers, services
from webapp.studies.models import Classifier


class Classifiers(Entries):
    queryset = Classifier.objects.all()
    serializer_class = serializers.ClassifierOut

    def get_serializer_class(self) -> Any:
        return serializers.ClassifierOut if self.action == "list" else serializers.ClassifierWithCard

    @extend_schema(request=serializers.NewClassifier, responses={201: serializers.ClassifierWithCard})
    @takes_long("POST")
    def create(self, request: Request) -> Response:
        return self.shown(services.add_classifier(by=self.actor, **self.read(serializers.NewClassifier)), 201)

    @extend_schema(
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
        parameters=[OpenApiParameter("name", {"type": "string", "maxLength": 255}, OpenApiParameter.PATH)],
    )
    def file(self, request: Request, pk: UUID, name: str) -> HttpResponse:
        """Download one of its files: the weights or the card."""
        content = services.classifier_file(classifier=self.get_object(), name=name)
        response = HttpResponse(content, content_type="application/octet-stream")
        response["Content-Disposition"] = content_disposition_header(True, name)
        return response

    @extend_schema(responses={(200, "text/html"): OpenApiTypes.STR})
    def page(self, request: Request, pk: UUID) -> HttpResponse:
        """Download the page of a classifier as one HTML file that makes no request."""
        return pages.as_file(self.get_object())

    @extend_schema(request=serializers.NewTraining, responses={202: JobOut})
    def train(self, request: Request) -> Response:
        """Train one on a pair and a prompt set. The answer is the job; the classifier is there when it succeeds."""
        training = services.train_classifier(by=self.actor, **self.read(serializers.NewTraining))
        return Response(JobOut(training.job).data, status=202)
