"""Weights and container images that teams bring: list, add, follow, remove."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from competitions.api.views.base import ApiView, checked
from competitions.environments import services
from competitions.environments.models import EnvironmentFile
from competitions.resources.models import Upload


class EnvironmentFileIn(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=60)
    upload = serializers.UUIDField(help_text="Key of a finished upload that was announced with `is_environment`.")


class EnvironmentFileOut(serializers.ModelSerializer[EnvironmentFile]):
    """`reference` is what a submission names it by; `code` and `detail` say why it was refused or removed."""

    reference = serializers.CharField()
    uploaded_by = serializers.CharField(source="uploaded_by.username")

    class Meta:
        model = EnvironmentFile
        fields = [
            "key",
            "kind",
            "name",
            "version",
            "reference",
            "state",
            "code",
            "detail",
            "file_name",
            "size_bytes",
            "sha256",
            "image_id",
            "facts",
            "uploaded_by",
            "created_at",
            "last_used_at",
        ]


class EnvironmentFiles(ApiView):
    """Your team's weights, or its images; or the next version of one, from a finished upload."""

    serializer_class = EnvironmentFileOut

    @extend_schema(responses=EnvironmentFileOut(many=True))
    def get(self, request: Request, slug: str, kind: str) -> Response:
        """Your team's weights, or its images, with the state of their checks."""
        files = services.team_files(
            user=self.person(), competition=self.competition(slug), kind=EnvironmentFile.Kind(kind)
        )
        return Response(EnvironmentFileOut(files, many=True).data)

    @extend_schema(request=EnvironmentFileIn, responses={201: EnvironmentFileOut})
    def post(self, request: Request, slug: str, kind: str) -> Response:
        """Add weights or an image, or the next version of one, from a finished upload."""
        user, competition = self.person(), self.competition(slug)
        values = checked(EnvironmentFileIn(data=request.data))
        upload = get_object_or_404(Upload, key=values["upload"], user=user)
        environment_file = services.environment_file_add(
            user=user,
            competition=competition,
            kind=EnvironmentFile.Kind(kind),
            name=values["name"],
            upload=upload,
            now=timezone.now(),
        )
        return Response(EnvironmentFileOut(environment_file).data, status=201)


class EnvironmentFileDetail(ApiView):
    """One version of your team's weights or images: the state of its check (GET), or remove it (DELETE)."""

    serializer_class = EnvironmentFileOut

    def file(self, key: UUID) -> EnvironmentFile:
        environment_file: EnvironmentFile = get_object_or_404(
            services.own_environment_files(self.person()).select_related("uploaded_by"), key=key
        )
        return environment_file

    @extend_schema(responses=EnvironmentFileOut)
    def get(self, request: Request, key: UUID) -> Response:
        """One version of your team's weights or images, with the state of its check."""
        return Response(EnvironmentFileOut(self.file(key)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, key: UUID) -> Response:
        """Remove one version of your team's weights or images."""
        services.own_environment_file_remove(file=self.file(key), by=self.person())
        return Response(status=204)
